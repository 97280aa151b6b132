//! A subagent's questions, asked through the agent that started it.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use weft_tools::{Approval, ApprovalRequest, Approver, Asker};
use weft_types::{CallId, SessionId};

/// Passes a subagent's questions on to whom its parent asks, with the name of who asks.
pub(super) struct Relay {
    /// Whom the parent asks.
    pub(super) to: Arc<dyn Approver>,
    /// The subagent's session.
    pub(super) session: SessionId,
    /// What it is to the user.
    pub(super) name: String,
    /// The parent's call that it works for.
    pub(super) call: Option<CallId>,
}

impl Relay {
    /// The asker as the parent's side knows it: one further down is named with those between.
    fn asker(&self, inner: Option<Asker>) -> Asker {
        let within = self.call.clone();
        match inner {
            None => Asker {
                session: self.session.clone(),
                name: self.name.clone(),
                within,
            },
            Some(inner) => Asker {
                name: format!("{}, started by {}", inner.name, self.name),
                within,
                ..inner
            },
        }
    }
}

impl Approver for Relay {
    fn ask(&self, mut request: ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        request.asker = Some(self.asker(request.asker.take()));
        self.to.ask(request, cancel)
    }
}
