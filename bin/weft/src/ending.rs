//! How a process that ran an agent ends: on a signal, and with nothing left behind.

use std::time::Duration;

use weft_session::FileStore;

/// How long processes that were left behind may take to die at the end.
pub(crate) const ORPHANS_GRACE: Duration = Duration::from_secs(2);

/// How long the disk may take at the end to make safe what the sessions wrote.
const SETTLE_GRACE: Duration = Duration::from_secs(2);

/// Waits until what the sessions wrote last is safe, but for no disk that hangs.
pub(crate) async fn settle(store: FileStore) {
    // Whoever lets go of a store last waits for that.
    let settled = tokio::task::spawn_blocking(|| drop(store));
    if tokio::time::timeout(SETTLE_GRACE, settled).await.is_err() {
        tracing::warn!("the disk hangs: what the sessions wrote last would not survive the death of the machine");
    }
}

/// The signals that end the agent in good order.
#[cfg(unix)]
pub(crate) struct Signals {
    hangup: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The number of the next signal that arrives.
    pub(crate) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.hangup.recv() => 1,
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
        }
    }
}
