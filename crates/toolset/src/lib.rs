//! Built-in coding tools.
//!
//! [`Bash`] runs shell commands, each in a process group of its own that ends with its call. What a
//! command leaves behind all the same belongs to [`Orphans`], which the program adopts at its start and
//! ends as its last act.
//!
//! Process groups and shells are those of Unix: the crate builds nowhere else. What only Linux has sits in
//! [`Orphans`].
//!
//! The crate knows the registry's [`Tool`](weft_tools::Tool) seam and processes; it knows nothing of
//! editors, agents or workflows.

mod bash;
mod orphans;

pub use bash::{Bash, BashConfig, InvalidSetting};
pub use orphans::{Orphans, Survivors};
