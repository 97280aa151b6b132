//! The answer to every question: nobody can be asked.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use weft_tools::{Approval, ApprovalRequest, Approver};
use weft_types::CallId;

use super::output::Output;

/// Denies, says so, and remembers it. What the user asked for on the command line itself is allowed.
#[derive(Default)]
pub(super) struct Denier {
    /// The tool that the session's own agent calls for the user, if it does nothing else.
    called: Option<&'static str>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    denied: Vec<Denied>,
    output: Weak<Output>,
}

/// A call that was denied since it would have needed a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denied {
    pub(super) call_id: CallId,
    pub(super) tool: String,
    pub(super) title: String,
}

impl Denier {
    /// One for a session whose own agent makes one call of this tool, if it is for that.
    pub(super) fn allowing(called: Option<&'static str>) -> Self {
        Self {
            called,
            ..Self::default()
        }
    }

    /// Has it tell what it denies.
    pub(super) fn tell(&self, output: &Arc<Output>) {
        self.lock().output = Arc::downgrade(output);
    }

    /// What was denied so far.
    pub(super) fn denied(&self) -> Vec<Denied> {
        self.lock().denied.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approver for Denier {
    fn ask(&self, request: ApprovalRequest, _cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        if request.asker.is_none() && self.called == Some(request.tool.as_str()) {
            return Box::pin(std::future::ready(Approval::AllowedOnce));
        }
        let output = self.lock().output.upgrade();
        let arguments = request.arguments.to_string();
        let title = match &output {
            Some(output) => output.title(&request.tool, &arguments),
            None => request.tool.clone(),
        };
        let denied = Denied {
            call_id: request.call_id,
            tool: request.tool,
            title,
        };
        if let Some(output) = output {
            output.denied(&denied);
        }
        self.lock().denied.push(denied);
        Box::pin(std::future::ready(Approval::Unavailable))
    }
}
