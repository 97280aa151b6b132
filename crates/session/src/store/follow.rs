//! Following a log that another process writes.

use std::fmt;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use weft_types::{Event, SessionHeader, SessionId};

use super::scan::LogScan;
use super::{FileStore, StoreError};

/// How far apart looks at a log are at the end of which nothing was found.
const PAUSE: Duration = Duration::from_millis(200);

/// Gives the events of a log as they are appended, by whichever process.
///
/// Every event is given once, in order, whole, and after all those before it, be the log replaced meanwhile or not.
pub struct Follower {
    store: FileStore,
    header: SessionHeader,
    tail: Arc<Mutex<Tail>>,
    /// When to look again; at once while there is more than was read.
    next_look: Option<Instant>,
}

/// How far the log was read.
struct Tail {
    store: FileStore,
    scan: LogScan,
    /// The number of the next event that was not given out.
    next: u64,
    /// How many events the log had when it was last seen.
    seen: u64,
    /// What was read for a call that did not wait for it.
    unclaimed: Vec<Arc<Event>>,
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower")
            .field("session", &self.header.id)
            .finish_non_exhaustive()
    }
}

impl FileStore {
    /// Follows a session from event number `from` on, whether it runs or not.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn follow(&self, id: &SessionId, from: u64) -> Result<Follower, StoreError> {
        let scan = LogScan::open(self, id)?;
        Ok(Follower {
            store: self.clone(),
            header: scan.header().clone(),
            tail: Arc::new(Mutex::new(Tail {
                store: self.clone(),
                scan,
                next: from,
                seen: 0,
                unclaimed: Vec::new(),
            })),
            next_look: None,
        })
    }
}

impl Follower {
    /// What stands before the events.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// Whether somebody has the session open to write to it. If nobody has, there may still be events to give.
    ///
    /// It blocks on the disk for a moment.
    pub fn running(&self) -> bool {
        self.store.is_running(&self.header.id)
    }

    /// The next events, at least one: at once if there are, else as soon as there are. It looks at the log at most five
    /// times a second once everything in it was given. Dropping the future loses nothing.
    ///
    /// Needs a Tokio runtime, on whose blocking threads it reads.
    ///
    /// # Errors
    /// The log is damaged, deleted, or cannot be read. What was before that was given. Calling again may go on, if the
    /// cause went away.
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>, StoreError> {
        loop {
            if let Some(events) = self.unclaimed() {
                return Ok(events);
            }
            if let Some(next_look) = self.next_look {
                sleep_until(next_look).await;
            }
            // Whoever drops the future and calls again at once is no reason to hurry, and neither is a failure.
            self.next_look = Some(Instant::now() + PAUSE);
            let at_end = self.look().await;
            if let Ok(false) = at_end {
                self.next_look = None;
            }
            if let Some(events) = self.unclaimed() {
                return Ok(events);
            }
            at_end?;
        }
    }

    /// What was read and not given out yet; none while somebody is still reading.
    fn unclaimed(&self) -> Option<Vec<Arc<Event>>> {
        let events = match self.tail.try_lock() {
            Ok(mut tail) => std::mem::take(&mut tail.unclaimed),
            Err(TryLockError::Poisoned(tail)) => std::mem::take(&mut tail.into_inner().unclaimed),
            Err(TryLockError::WouldBlock) => Vec::new(),
        };
        (!events.is_empty()).then_some(events)
    }

    async fn look(&self) -> Result<bool, StoreError> {
        let tail = Arc::clone(&self.tail);
        // The worst that a panic leaves behind is an event that was read and not counted: it is met again.
        let look = move || tail.lock().unwrap_or_else(PoisonError::into_inner).look();
        let looked = tokio::task::spawn_blocking(look).await;
        looked.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is ending.
            Err(_) => Err(StoreError::io("follow", self.store.root())(
                ErrorKind::Interrupted.into(),
            )),
        })
    }
}

impl Tail {
    /// Reads a page of what is new. Tells whether that was all.
    fn look(&mut self) -> Result<bool, StoreError> {
        let (max_events, max_bytes) = (self.store.options().page_events, self.store.options().page_bytes as u64);
        let begin = self.scan.marks().end().offset;
        while self.unclaimed.len() < max_events && self.scan.marks().end().offset - begin < max_bytes {
            let Some(event) = self.scan.next()? else {
                return self.end();
            };
            if event.seq >= self.next {
                self.next = event.seq + 1;
                self.unclaimed.push(event);
            }
        }
        Ok(false)
    }

    fn end(&mut self) -> Result<bool, StoreError> {
        let session = self.scan.header().id.clone();
        let is_current = self.scan.is_current().map_err(|error| match error {
            StoreError::Io { source, .. } if source.kind() == ErrorKind::NotFound => StoreError::NotFound {
                session: session.clone(),
                reason: "it was deleted while it was followed",
            },
            error => error,
        })?;
        if !is_current {
            // The log was replaced. What was given of the old one is passed over in the new one.
            self.scan = LogScan::open(&self.store, &session)?;
            return Ok(false);
        }
        if let Some(damage) = self.scan.damage().cloned() {
            return Err(StoreError::Damaged { session, damage });
        }
        let count = self.scan.marks().count();
        if count < self.seen {
            let reason = "its log was replaced by a shorter one while it was followed";
            return Err(StoreError::NotFound { session, reason });
        }
        self.seen = count;
        Ok(true)
    }
}
