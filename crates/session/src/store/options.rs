//! How a store works.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use super::{FileLayer, RealFiles, StoreError};
use crate::{Clock, InvariantFactory, SystemClock};

/// How a [`FileStore`](super::FileStore) works.
#[derive(Clone)]
pub struct StoreOptions {
    /// What it does to files.
    pub files: Arc<dyn FileLayer>,
    /// The clock of every session.
    pub clock: Arc<dyn Clock>,
    /// The invariants of every session, beside those that all have.
    pub invariants: InvariantFactory,
    /// The name of this program, for others that find a session in use.
    pub program: String,
    /// How long an event may wait to be synced while nobody waits for it. 0 to 10 seconds, by default 200 ms.
    pub sync_interval: Duration,
    /// How long a line of a log may be, in bytes. 64 KiB to 1 GiB, by default 64 MiB. A longer event is refused.
    pub max_line_bytes: usize,
    /// How many events a page holds at most, whatever is asked for. 1 to 65 536, by default 1024.
    pub page_events: usize,
    /// How many bytes of log a page covers at most, unless its first event alone is larger. 4 KiB to 1 GiB, by default 4 MiB.
    pub page_bytes: usize,
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("program", &self.program)
            .field("sync_interval", &self.sync_interval)
            .field("max_line_bytes", &self.max_line_bytes)
            .field("page_events", &self.page_events)
            .field("page_bytes", &self.page_bytes)
            .finish_non_exhaustive()
    }
}

impl StoreOptions {
    /// The defaults, for a program of that name: real files, the system's clock, no further invariants.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            files: Arc::new(RealFiles),
            clock: Arc::new(SystemClock),
            invariants: Arc::new(Vec::new),
            program: program.into(),
            sync_interval: Duration::from_millis(200),
            max_line_bytes: 64 * MIB,
            page_events: 1024,
            page_bytes: 4 * MIB,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), StoreError> {
        if self.sync_interval > Duration::from_secs(10) {
            return Err(StoreError::Option {
                option: "sync_interval",
                found: format!("{:?}", self.sync_interval),
                expected: "0s to 10s".to_owned(),
            });
        }
        in_range("max_line_bytes", self.max_line_bytes, 64 * KIB..=GIB)?;
        in_range("page_events", self.page_events, 1..=65_536)?;
        in_range("page_bytes", self.page_bytes, 4 * KIB..=GIB)
    }
}

fn in_range(option: &'static str, found: usize, range: RangeInclusive<usize>) -> Result<(), StoreError> {
    if range.contains(&found) {
        return Ok(());
    }
    Err(StoreError::Option {
        option,
        found: found.to_string(),
        expected: format!("{} to {}", range.start(), range.end()),
    })
}
