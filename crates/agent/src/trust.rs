//! `/trust`: asks the user whether the project's own settings count.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use weft_tools::{Approval, Question};
use weft_types::TurnEnd;

use crate::requests::{aborted, failed};
use crate::slot::TurnCancel;
use crate::turn::{LoopError, Turns};

/// What the project that an agent works in sets for itself, and what the user says of it. Whoever makes the agent knows
/// where both are kept.
pub trait ProjectTrust: Send + Sync {
    /// Looks at what the project sets now.
    ///
    /// # Errors
    /// Why that cannot be told.
    fn wish(&self) -> BoxFuture<'static, Result<ProjectWish, String>>;
}

/// What a project wants of the user.
pub enum ProjectWish {
    /// Nothing, for this reason.
    Nothing(String),
    /// That its settings count.
    Trust {
        /// The settings, a line each.
        settings: String,
        /// Writes down that the user said yes to exactly these, and gives what the user is told then.
        grant: Box<dyn FnOnce() -> BoxFuture<'static, Result<String, String>> + Send>,
    },
}

/// How long a client may take to withdraw the question when the turn is stopped.
const WITHDRAWAL: Duration = Duration::from_secs(2);

impl fmt::Debug for ProjectWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing(reason) => f.debug_tuple("Nothing").field(reason).finish(),
            Self::Trust { settings, .. } => f
                .debug_struct("Trust")
                .field("settings", settings)
                .finish_non_exhaustive(),
        }
    }
}

const NOTHING: &str = "Nothing of this project's own settings is trusted now.";

impl Turns {
    /// Shows what the project wants and asks. Nothing counts before the answer is yes, and nothing runs in this session
    /// after it.
    pub(crate) async fn trust(&mut self, cancel: &TurnCancel) -> Result<TurnEnd, LoopError> {
        let Some(project) = self.options.trust.clone() else {
            self.notice("There is no project here whose settings could be trusted.".to_owned())?;
            return Ok(TurnEnd::Completed);
        };
        let wish = tokio::select! {
            biased;
            () = cancel.token().cancelled() => return Ok(aborted(cancel)),
            wish = project.wish() => wish,
        };
        let (settings, grant) = match wish {
            Ok(ProjectWish::Trust { settings, grant }) => (settings, grant),
            Ok(ProjectWish::Nothing(reason)) => {
                self.notice(reason)?;
                return Ok(TurnEnd::Completed);
            }
            Err(error) => return Ok(failed(&error)),
        };
        let told = match self.confirm(settings, cancel).await {
            // Once the user has said yes, it is written down whatever happens meanwhile.
            Approval::AllowedOnce => match grant().await {
                Ok(told) => told,
                Err(error) => return Ok(failed(&error)),
            },
            Approval::Rejected | Approval::Standing(_) => NOTHING.to_owned(),
            Approval::Cancelled if cancel.cause().is_some() => return Ok(aborted(cancel)),
            Approval::Cancelled => format!("The question was dismissed. {NOTHING}"),
            Approval::Unavailable => {
                format!(
                    "Nobody can be asked here. {NOTHING}\nhint: run weft trust in a terminal, in the project's folder"
                )
            }
        };
        self.notice(told)?;
        Ok(TurnEnd::Completed)
    }

    async fn confirm(&self, settings: String, cancel: &TurnCancel) -> Approval {
        let Some(approver) = self.options.approver.clone() else {
            return Approval::Unavailable;
        };
        let question = Question {
            command: "trust".to_owned(),
            title: "Let this project's own settings run programs and allow calls with your rights?".to_owned(),
            text: settings,
            yes: "Trust exactly these settings".to_owned(),
            no: "Do not trust".to_owned(),
        };
        tokio::select! {
            biased;
            answer = approver.confirm(question, cancel.token().clone()) => answer,
            // It is given the time to withdraw the question, but not more.
            () = async {
                cancel.token().cancelled().await;
                tokio::time::sleep(WITHDRAWAL).await;
            } => Approval::Cancelled,
        }
    }
}
