//! The progress channel by itself, for a model checker to explore.

use std::fmt;

use crate::progress::channel::Channel;

/// A progress channel over numbers. Its lock and condition variable are the model checker's.
pub struct ModelChannel(Channel<u32>);

impl ModelChannel {
    /// A channel that is not open yet; `deliver` is called for each report that was accepted.
    pub fn new(backlog: usize, deliver: impl Fn(&u32) + Send + Sync + 'static) -> Self {
        Self(Channel::new(backlog, deliver))
    }

    /// Opens it.
    pub fn open(&self) {
        self.0.open();
    }

    /// Reports; `None` if an observer reports from within while the backlog is full.
    pub fn report(&self, report: u32) -> Option<bool> {
        self.0.report(report).ok()
    }

    /// Closes it; returns when nothing is being delivered any more.
    pub fn close(&self) {
        self.0.close();
    }
}

impl fmt::Debug for ModelChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelChannel").finish_non_exhaustive()
    }
}
