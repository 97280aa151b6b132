//! Where the times of events come from.

use std::time::{SystemTime, UNIX_EPOCH};

use weft_types::UnixMillis;

/// Tells the time of an append.
///
/// A clock may jump either way: no order of a log depends on it. Any `Fn() -> UnixMillis` is one.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> UnixMillis;
}

impl<F: Fn() -> UnixMillis + Send + Sync> Clock for F {
    fn now(&self) -> UnixMillis {
        self()
    }
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixMillis {
        #[expect(clippy::disallowed_methods, reason = "this is the one clock that reads it")]
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMillis(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }
}
