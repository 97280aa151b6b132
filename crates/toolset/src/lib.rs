//! Built-in coding tools.
//!
//! [`Read`], [`Edit`] and [`Write`] work on files: within the session's folder, and on nothing but regular
//! files. What an agent has seen of a file is remembered, so that no change of somebody else's is lost. [`Glob`] and
//! [`Grep`] look for files and lines. [`Todo`] keeps the agent's plan. [`Fetch`] gets pages of the
//! public web, and nothing from this machine's side of it.
//!
//! [`Bash`] runs shell commands, each in a process group of its own that ends with its call. What a
//! command leaves behind all the same belongs to [`Orphans`], which the program adopts at its start and
//! ends as its last act.
//!
//! Process groups and shells are those of Unix: the crate builds nowhere else. What only Linux has sits in
//! [`Orphans`] and [`sandbox`].
//!
//! [`Environment`] is what every program that is started for somebody else is handed on of the agent's own environment.
//!
//! The crate knows the registry's [`Tool`](weft_tools::Tool) seam and processes; it knows nothing of
//! editors, agents or workflows.

mod bash;
mod edit;
mod environment;
mod fetch;
mod files;
mod glob;
mod grep;
mod orphans;
mod read;
pub mod sandbox;
mod scratch;
mod search;
mod setting;
mod todo;
mod write;

pub use bash::{Bash, BashConfig, BashKill, BashOutput};
pub use edit::Edit;
pub use environment::{AGENT_MARK, Environment, InvalidVariable, looks_secret};
pub use fetch::{Fetch, FetchConfig};
pub use files::{FilesConfig, NoPicture, picture_type};
pub use glob::Glob;
pub use grep::Grep;
pub use orphans::{Orphans, Survivors};
pub use read::Read;
pub use search::SearchConfig;
pub use setting::InvalidSetting;
pub use todo::Todo;
pub use write::Write;
