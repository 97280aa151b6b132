//! Asking somebody whether a call may run.

use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weft_types::{AgentId, CallId};

/// Whoever answers for the user.
pub trait Approver: Send + Sync {
    /// Asks. Several questions may be pending at once.
    ///
    /// When `cancel` fires the question has lost its point: withdraw it and answer
    /// [`Approval::Cancelled`]. An answer that comes later than the registry's grace is not waited for.
    fn ask(&self, request: ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, Approval>;
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
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// This call may run.
    AllowedOnce,
    /// It may not.
    Rejected,
    /// The question was withdrawn, or dismissed without an answer.
    Cancelled,
    /// Nobody can be asked.
    Unavailable,
}
