//! What observers of a registry are shown. Never stored, never shown to a model.

use std::sync::Arc;

use weft_types::{AgentId, CallId};

use crate::{ProgressView, ToolExecution, ToolResult};

/// A tool's body reported progress.
#[derive(Clone, Debug)]
pub struct ProgressObservation {
    /// The calling agent, if an agent called.
    pub agent: Option<AgentId>,
    /// The call.
    pub call_id: CallId,
    /// The outermost call of a nested chain; the call itself otherwise.
    pub root_call_id: CallId,
    /// Whether the call was made by another call, so that it has no card.
    pub nested: bool,
    /// The tool's name.
    pub tool: String,
    /// What it reported.
    pub view: Arc<ProgressView>,
}

/// The execute phase of a call opened: policies have let it pass and its body may start.
#[derive(Clone, Debug)]
pub struct StartedObservation {
    /// The calling agent, if an agent called.
    pub agent: Option<AgentId>,
    /// The call.
    pub call_id: CallId,
    /// The outermost call of a nested chain; the call itself otherwise.
    pub root_call_id: CallId,
    /// Whether the call was made by another call, so that it has no card.
    pub nested: bool,
    /// The tool's name.
    pub tool: String,
}

/// A call has its final result.
#[derive(Clone, Debug)]
pub struct ResultObservation {
    /// The execution; its reporter is closed.
    pub execution: ToolExecution,
    /// The result.
    pub result: Arc<ToolResult>,
}
