//! The turn and step loop, permissions and the subagent seam.
//!
//! [`Agent`] is the handle of one actor: a task that owns a session's turns. [`Agent::prompt`] starts a
//! turn: requests to a [model](weft_model::Model), its tool calls, more requests, until the model has no
//! more to say. Everything that happens is an event of the [session](weft_session::Session); whoever
//! wants to see it observes that. [`AgentContext`] is what the agent lends to its tools, and
//! [`Subagents`] is where they start other agents.
//!
//! It knows no editor protocol, no workflows and no HTTP.

mod actor;
mod agent;
mod answer;
mod backoff;
mod calls;
mod choice;
mod command;
mod context;
pub mod history;
mod limits;
mod permission;
mod requests;
mod slot;
mod step;
mod subagent;
mod title;
mod turn;

pub use agent::{Agent, AgentOptions, PromptRefused, Turn};
pub use backoff::Jitter;
pub use choice::ModelChoice;
pub use command::Command;
pub use context::AgentContext;
pub use limits::{Limits, SubagentLimits};
pub use permission::{PermissionMode, Permissions};
pub use subagent::{
    InProcess, STRUCTURED_OUTPUT, SubagentCapabilities, SubagentError, SubagentErrorCode, SubagentProvider,
    SubagentRequest, SubagentResult, SubagentRun, SubagentStop, Subagents,
};
