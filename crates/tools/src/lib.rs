//! Tool registry, execution phases, progress channel and presentation views.
//!
//! Open [`Tool`] first: it is what a tool is. A [`ToolRegistry`] holds tools and policies in layers and
//! takes a [`ToolCallRequest`] through all phases to a [`ToolResult`]; [`run_calls`] does so for all calls
//! of one model step, several at a time where they allow it. While a tool's body runs it may report
//! progress through its [`ToolExecution`]; whoever observes [`ToolRegistry::progress`] gets each report
//! once, in order, and none after the result.
//!
//! This crate knows nothing of how sessions are stored, of editors or of workflows. It shows nothing: a
//! tool says how it wants to be seen ([`CallView`], [`ResultView`], [`ProgressView`]), a bridge draws it.
//!
//! # Phases of one execution
//!
//! | # | Phase | May |
//! |---|---|---|
//! | 0 | create | – (the tool's definition is looked up, the arguments are parsed) |
//! | 1 | early abort | end the call, if its signal has fired |
//! | 2 | [`ToolRegistry::before_execute`] policies | allow, deny, have the user asked |
//! | 3 | [`ToolRegistry::guard`]s, and whether the call would still do what was decided upon | deny |
//! | 4 | [`ToolRegistry::around_execute`] wrappers | replace the signal, replace the outcome; **the reporter is open** |
//! | 5 | body | validate arguments, run, validate the value |
//! | 6 | [`ToolRegistry::after_execute`] policies | replace content or value, add context, block |
//! | 7 | [`Tool::finalize_content`] | replace content |
//! | 8 | materialise | refuse what no log could hold |
//! | 9 | [`ToolRegistry::results`] observers | look |

mod access;
mod approval;
mod arguments;
mod body;
mod client_files;
mod contain;
mod error;
mod execution;
mod extensions;
mod limits;
mod markdown;
mod observation;
mod ongoing;
mod pipeline;
mod policy;
mod progress;
mod registry;
mod result;
mod roster;
mod schedule;
mod schema;
mod sync;
#[cfg(test)]
mod testing;
mod tool;
mod view;

#[cfg(feature = "shuttle")]
pub mod model_check;

pub use access::{Access, AccessCommand, AccessPath, AccessScript};
pub use approval::{Approval, ApprovalRequest, Approver, Asker, Question, StandingAnswer};
pub use client_files::{ClientFileError, ClientFiles, ClientFilesHandle};
pub use error::{ErrorCode, ToolError};
pub use execution::{ExecutionToken, ToolExecution};
pub use extensions::{
    AdditionalDirectories, Extensions, Memory, ProtectedPaths, ReadableDirectories, WorkingDirectory,
};
pub use limits::{InvalidLimit, ProgressLimits, ToolLimits};
pub use markdown::escape_markdown;
pub use observation::{ProgressObservation, ResultObservation, StartedObservation};
pub use ongoing::{Ongoing, Overview};
pub use policy::{Decision, Executed, Next, ProposedCall, Replacement, Verdict};
pub use progress::{InvalidView, ProgressView};
pub use registry::{RegisterError, Registration, RestrictError, ToolRegistry};
pub use result::{ToolCallRequest, ToolResult};
pub use schedule::{CallJournal, CallLimits, JournalError, ScheduleError, run_calls};
pub use tool::Tool;
pub use view::{
    CallView, ExitStatus, FileDiff, Location, PlanEntry, PlanPriority, PlanStatus, ResultForView, ResultView, ToolKind,
};
