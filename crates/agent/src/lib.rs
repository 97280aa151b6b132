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
mod budget;
mod calls;
mod choice;
mod command;
mod compaction;
mod companion;
mod context;
pub mod history;
mod library;
mod limits;
mod meter;
mod permission;
mod repeats;
mod requests;
mod schema_answer;
mod size;
mod slot;
mod spending;
mod start;
mod status;
mod step;
mod subagent;
mod title;
mod trust;
mod turn;

pub use agent::{Agent, AgentOptions, PromptRefused, Turn};
pub use backoff::Jitter;
pub use choice::{Chosen, ModelChoice};
pub use command::Command;
pub use companion::Companion;
pub use context::AgentContext;
pub use history::ContextSize;
pub use library::{Library, LibraryHandle, Note};
pub use limits::{ContextLimits, Limits, SubagentLimits};
pub use meter::AgentUsage;
pub use permission::{KeepError, PermissionMode, Permissions, ProjectRules, RuleError, RuleFolders, Rules};
pub use schema_answer::{SchemaAnswer, SchemaEnd, SchemaRefused};
pub use spending::Spending;
pub use subagent::{
    Activity, ActivityFeed, AgentTool, Child, ChildObservation, HEARTBEAT, InProcess, OpenCall, Pulse,
    STRUCTURED_OUTPUT, StoredAnswer, SubagentCapabilities, SubagentError, SubagentErrorCode, SubagentProvider,
    SubagentRequest, SubagentResult, SubagentRun, SubagentStop, Subagents, children_in, meta_of_run, run_in,
    short_number, short_time,
};
pub use trust::{ProjectTrust, ProjectWish};
