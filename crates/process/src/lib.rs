//! Programs that are started for somebody else and end with their owner.
//!
//! A [`ProcessGroup`] is a program and everything it starts, unless that leaves the group on purpose. It is killed when
//! its owner drops it, and also when the owner is killed itself and can drop nothing: a guard beside it, a small shell
//! that waits for the end of its input, does it then. A [`PipedProcess`] is such a program whose pipes somebody speaks
//! through: it has time to leave, and how it ended and what it printed last can be told, without the secrets that a
//! [`Mask`] knows.
//!
//! The crate knows nothing of what the programs are for. Process groups are those of Unix.

mod group;
mod mask;
mod piped;
mod tail;

pub use group::ProcessGroup;
pub use mask::Mask;
pub use piped::{Exit, Launch, PipedProcess, StartError, Vitals};
