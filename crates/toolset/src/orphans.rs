//! Processes that outlive what started them.
//!
//! A command can leave its process group (`setsid`) and so escape the end of its call. On Linux the
//! program makes itself the one that such processes fall to, so that it can end them when it ends; other
//! systems hand them to their first process, and there they run on. [`Orphans::contained`] tells which.

#[cfg_attr(target_os = "linux", path = "orphans/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "orphans/other.rs")]
mod system;

use std::io;
use std::time::Duration;

/// The processes that fall to this one while it holds this.
///
/// One for the whole program: adopt at its start, end after everything else has ended. What the program
/// starts itself must lead a process group or stay in the program's, and must not change its session:
/// that tells it from an orphan, which is waited for here while the program's own are not.
#[derive(Debug)]
#[must_use = "orphans are ended by `end` only"]
pub struct Orphans {
    system: system::Orphans,
}

/// Some processes did not end in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} processes are left after {waited:?}: {pids:?}", pids.len())]
pub struct Survivors {
    pids: Vec<i32>,
    waited: Duration,
}

impl Orphans {
    /// Makes orphaned descendants fall to this process, and waits for those that end meanwhile.
    ///
    /// Must be called within a runtime, which runs the waiting until [`end`](Self::end) or a drop.
    pub fn adopt() -> io::Result<Self> {
        Ok(Self {
            system: system::Orphans::adopt()?,
        })
    }

    /// Whether this system lets the program end its orphans.
    pub fn contained() -> bool {
        system::CONTAINED
    }

    /// Kills every child that this process has left, and what falls to it by that, until there is none.
    ///
    /// It takes exits from whoever else waits for a child: nobody may any more. At most for the time
    /// given; then the error names who is left.
    pub async fn end(self, limit: Duration) -> Result<(), Survivors> {
        self.system.end(limit).await
    }
}
