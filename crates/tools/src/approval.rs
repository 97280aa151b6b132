//! Asking somebody whether a call may run.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weft_types::{AgentId, CallId, SessionId};

use crate::Access;

/// The longest summary of a question, in characters.
const MAX_SUMMARY: usize = 120;

/// Whoever answers for the user.
pub trait Approver: Send + Sync {
    /// Asks. Several questions may be pending at once.
    ///
    /// When `cancel` fires the question has lost its point: withdraw it and answer
    /// [`Approval::Cancelled`]. An answer that comes later than the registry's grace is not waited for.
    fn ask(&self, request: ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, Approval>;

    /// Asks something that no call stands behind: answered with [`Approval::AllowedOnce`] for yes, and
    /// [`Approval::Rejected`] for no. A cancel is as for [`ask`](Self::ask).
    ///
    /// Who does not ask such questions can ask nobody.
    fn confirm(&self, _question: Question, _cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        std::future::ready(Approval::Unavailable).boxed()
    }
}

/// A question that a command of the user's raises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The command, without its slash.
    pub command: String,
    /// What is asked, one line.
    pub title: String,
    /// What the answer is about, to be shown as it is.
    pub text: String,
    /// What yes is called.
    pub yes: String,
    /// What no is called.
    pub no: String,
}

/// The call in question.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRequest {
    /// The calling agent.
    pub agent: AgentId,
    /// The call.
    pub call_id: CallId,
    /// The outermost call of a nested chain; the call itself otherwise.
    pub root_call_id: CallId,
    /// The tool.
    pub tool: String,
    /// Its arguments; they fit the tool's parameters.
    pub arguments: Value,
    /// The tool's own word on what the call would do. What does something else when it starts is denied.
    pub access: Access,
    /// Answers to offer beside allowing and rejecting this one call.
    pub standing: Vec<StandingAnswer>,
    /// Who asks, if it is not the asked one's own agent.
    pub asker: Option<Asker>,
}

impl ApprovalRequest {
    /// What is asked for in one line of at most 120 characters: the tool, and what it would do it to.
    pub fn summary(&self) -> String {
        let object = match &self.access {
            Access::Execute(command) => command.text.clone(),
            Access::Read(places) | Access::Edit(places) => {
                let shown: Vec<&str> = places.iter().map(|place| place.shown.as_str()).collect();
                shown.join(", ")
            }
            Access::Fetch { url } => url.clone(),
            Access::Script(script) => script.name.clone(),
            Access::Harmless | Access::Other => String::new(),
        };
        let line = format!(
            "{} {}",
            self.tool,
            object.split_whitespace().collect::<Vec<_>>().join(" ")
        );
        let line = line.trim_end();
        match line.char_indices().nth(MAX_SUMMARY) {
            Some(_) => line.chars().take(MAX_SUMMARY - 1).chain(['…']).collect(),
            None => line.to_owned(),
        }
    }
}

/// An answer that stands for more than one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingAnswer {
    /// What it stands for, for the user: a sentence without a full stop.
    pub label: String,
    /// Whether it allows; it rejects otherwise.
    pub allows: bool,
}

/// A subagent that asks, whose own calls the asked one need not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Its session.
    pub session: SessionId,
    /// What it is to the user, such as "member `review` of workflow `demo`".
    pub name: String,
    /// The call of the asked one's own agent within which it works, if that is known.
    pub within: Option<CallId>,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// This call may run.
    AllowedOnce,
    /// It may not.
    Rejected,
    /// The one of [`ApprovalRequest::standing`] with this index. One that was not offered rejects.
    Standing(usize),
    /// The question was withdrawn, or dismissed without an answer.
    Cancelled,
    /// Nobody can be asked.
    Unavailable,
}
