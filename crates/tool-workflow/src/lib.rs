//! The `workflow` tool: runs a script through a workflow engine, shows it live and records it.
//!
//! [`WorkflowTool`] is the tool. For each call it installs a capture before it starts the run, turns what the
//! capture hands over into progress reports of the call, and, for calls of the model's own, writes the run's
//! record into the calling agent's session. [`RecordInvariant`] says what such records may look like.
//!
//! An agent that lends its tools the [`FileStore`](weft_session::FileStore) of its session gets a journal for each run,
//! and with it runs that can be resumed.
//!
//! It knows no editor protocol and no script language.

mod arguments;
mod config;
mod description;
mod doings;
mod invariant;
mod journal;
mod live;
mod members;
mod outcome;
mod owned;
mod plan;
mod progress;
mod recorder;
mod results;
mod resume;
mod run;
mod stall;
mod tool;

pub use config::WorkflowToolConfig;
pub use description::script_reference;
pub use invariant::RecordInvariant;
pub use tool::WorkflowTool;
