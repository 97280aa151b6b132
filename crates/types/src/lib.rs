//! Ids, session events and message vocabulary that every part of weft shares.
//!
//! Open [`EventBody`] first: it is the durable truth of a session. [`SessionHeader`] stands before
//! the events; [`Message`] is what a model is given, derived from them. [`WorkflowRuns`] folds the records
//! among the events into the runs that a reader is shown; [`WorkflowObservation`] is what the same runs tell
//! while they run. This crate is plain data: no I/O, no clocks, no other crate of the workspace.

#[cfg(all(test, feature = "bindings"))]
mod bindings;
mod content;
mod event;
mod header;
mod ids;
mod optional;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
mod workflow;
mod workflow_runs;

pub use content::{AssistantBlock, ContentBlock, Message, StopReason, ToolSpec, Usage, text_of};
pub use event::{
    AbortCause, CompactionReason, Event, EventBody, EventParseError, HeaderReason, OtherEvent, OtherEventError,
    RuleEffect, ToolErrorRecord, TurnEnd, UnixMillis,
};
pub use header::{Origin, SessionHeader};
pub use ids::{AgentId, CallId, RunId, SessionId};
pub(crate) use optional::optional;
pub use workflow::{
    MemberOutcome, MetaError, ObservationKind, PhaseMeta, RunInfo, RunStop, WorkflowMeta, WorkflowObservation,
};
pub use workflow_runs::{ListedSession, MemberView, NotContiguous, PhaseGroup, RunStatus, RunView, WorkflowRuns};
