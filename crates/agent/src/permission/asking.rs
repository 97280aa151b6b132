//! Asking the user with answers that stand for more than one call, and keeping the rules that they give.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use weft_session::Session;
use weft_tools::{Approval, ApprovalRequest, Approver, Question};
use weft_types::{EventBody, RuleEffect};

use super::Permissions;
use super::offers::{Offer, Scope, offers};

/// The approver of a user's agent, for its own questions and for those of its subagents.
pub(super) struct Asking {
    keeper: Keeper,
    /// The session's folder without links, which is how calls tell their places.
    cwd: PathBuf,
    asked: Arc<dyn Approver>,
}

/// What becomes of an answer that stands.
#[derive(Clone)]
struct Keeper {
    permissions: Arc<Permissions>,
    /// Weak, since the tools that hold this may outlive the agent, and a session is locked while it is held.
    session: Weak<Session>,
}

impl Asking {
    pub(super) fn new(permissions: Arc<Permissions>, session: &Arc<Session>, asked: Arc<dyn Approver>) -> Self {
        let cwd = Path::new(&session.header().cwd);
        Self {
            cwd: cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned()),
            keeper: Keeper {
                permissions,
                session: Arc::downgrade(session),
            },
            asked,
        }
    }
}

impl Approver for Asking {
    fn ask(&self, mut request: ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        let keeper = self.keeper.clone();
        let with_project = keeper.permissions.project.is_some();
        let offers = offers(&request.tool, &request.access, &self.cwd, with_project);
        request.standing = offers.iter().map(Offer::answer).collect();
        let asked = self.asked.ask(request, cancel);
        async move {
            let answer = asked.await;
            let Approval::Standing(index) = answer else {
                return answer;
            };
            let Some(offer) = offers.into_iter().nth(index) else {
                return Approval::Rejected;
            };
            let allows = offer.effect == RuleEffect::Allow;
            keeper.keep(offer).await;
            if allows {
                Approval::AllowedOnce
            } else {
                Approval::Rejected
            }
        }
        .boxed()
    }

    fn confirm(&self, question: Question, cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        self.asked.confirm(question, cancel)
    }
}

impl Keeper {
    /// Puts the rules in force and writes them down. What cannot be kept for the project holds for the session, and the
    /// user is told.
    async fn keep(&self, offer: Offer) {
        for rule in &offer.rules {
            if let Err(error) = self.permissions.add_rule(offer.effect, rule) {
                tracing::error!(%error, "an answer made a rule that cannot be used");
            }
        }
        let project = self
            .permissions
            .project
            .clone()
            .filter(|_| offer.scope == Scope::Project);
        if let Some(project) = project {
            let (effect, rules) = (offer.effect, offer.rules.clone());
            let kept = tokio::task::spawn_blocking(move || project.keep(effect, &rules)).await;
            let failed = match kept {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error.to_string(),
                Err(error) => error.to_string(),
            };
            let message =
                format!("your answer could not be kept for this project, and holds for this session only: {failed}");
            tracing::warn!(%failed, "rules for a project are not kept");
            self.append(EventBody::SessionNotice { message });
        }
        for rule in offer.rules {
            let effect = offer.effect;
            self.append(EventBody::SessionRule { rule, effect });
        }
    }

    /// A log that takes nothing more stops the turn at its next event; the answer holds until then.
    fn append(&self, body: EventBody) {
        let Some(session) = self.session.upgrade() else { return };
        if let Err(error) = session.append(body) {
            tracing::warn!(session = %session.id(), %error, "an answer is not written down");
        }
    }
}
