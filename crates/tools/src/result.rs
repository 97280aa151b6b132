//! What goes into an execution and what comes out.

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weft_types::{AgentId, CallId, ContentBlock};

use crate::{ExecutionToken, Extensions, ToolError};

/// A call to be executed.
#[derive(Clone, Debug)]
pub struct ToolCallRequest {
    /// The model's id of the call.
    pub call_id: CallId,
    /// The outermost call of a nested chain; absent for a call that is none.
    pub root_call_id: Option<CallId>,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them; empty means `{}`.
    pub raw_arguments: String,
    /// The calling agent, if an agent calls.
    pub agent: Option<AgentId>,
    /// The enclosing execution of a nested call. [`ToolExecution::nested`](crate::ToolExecution::nested)
    /// builds such a request with ids that agree.
    pub parent: Option<ExecutionToken>,
    /// Cancels the call.
    pub signal: CancellationToken,
    /// What the caller lends to the tool.
    pub extensions: Extensions,
}

impl ToolCallRequest {
    /// A top-level call without an agent and with a signal of its own.
    pub fn new(call_id: CallId, name: impl Into<String>, raw_arguments: impl Into<String>) -> Self {
        Self {
            call_id,
            root_call_id: None,
            name: name.into(),
            raw_arguments: raw_arguments.into(),
            agent: None,
            parent: None,
            signal: CancellationToken::new(),
            extensions: Extensions::new(),
        }
    }
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The canonical value, or why the call failed. Never stored as it is.
    pub outcome: Result<Value, ToolError>,
    /// What the model gets.
    pub content: Vec<ContentBlock>,
    /// What the result's presenter needs besides the content; none for nested calls, and for failures only what
    /// their error brings along.
    pub meta: Option<Value>,
    /// Further context for the model, to stand after the result.
    pub contexts: Vec<ContentBlock>,
    /// Whether the turn ends after this result; never so for failures.
    pub concludes_turn: bool,
}

impl ToolResult {
    /// Whether the call failed.
    pub fn is_error(&self) -> bool {
        self.outcome.is_err()
    }
}
