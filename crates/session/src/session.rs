//! The log itself.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use weft_observe::{Observers, Subscription};
use weft_types::{Event, EventBody, SessionHeader, SessionId};

use crate::lines::write_line;
use crate::rules::Rules;
use crate::tail::Tail;
use crate::{Clock, EventLog, EventReader, Invariant, LogError, Violation};

/// How many events are read at a time where all of them are wanted.
const PAGE: usize = 256;

/// One session: a header and an append-only list of events.
///
/// It is shared as `Arc<Session>` and may be appended to from any thread. Appends and deltas are
/// handled one at a time, each wholly, publication included; their order is that of `seq`, whatever
/// the clock says.
pub struct Session {
    header: SessionHeader,
    clock: Arc<dyn Clock>,
    /// Serialises appends and deltas. Taken before `tail`, never after.
    writer: Mutex<Writer>,
    /// What is kept in memory, behind a lock of its own so that observers may look at it.
    tail: Mutex<Tail>,
    reader: Arc<dyn EventReader>,
    /// The thread that is calling observers, so that it is refused rather than deadlocked.
    publisher: Mutex<Option<ThreadId>>,
    observers: Observers<(), SessionUpdate>,
}

struct Writer {
    log: Box<dyn EventLog>,
    rules: Rules,
}

/// What an observer of a session sees.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionUpdate {
    /// An event was appended.
    Event(Arc<Event>),
    /// A piece of a streaming answer arrived. It is never stored: the `assistant/message` that
    /// follows holds the whole.
    Delta(Delta),
}

/// A piece of an answer that is still streaming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// The turn.
    pub turn: u32,
    /// The step.
    pub step: u32,
    /// What it is a piece of.
    pub kind: DeltaKind,
    /// The piece.
    pub text: String,
}

/// What a [`Delta`] is a piece of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaKind {
    /// Text for the user.
    Text,
    /// Reasoning that the provider discloses.
    Reasoning,
}

/// Why an event was not appended. The log is as it was.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// It breaks an invariant.
    #[error("failed to append event {seq} to session {session}: {violation}")]
    Violation {
        /// The session.
        session: SessionId,
        /// The number it would have had.
        seq: u64,
        /// What it breaks.
        violation: Violation,
    },
    /// The log did not take it.
    #[error("failed to append event {seq} to session {session}: {cause}")]
    Log {
        /// The session.
        session: SessionId,
        /// The number it would have had.
        seq: u64,
        /// Why.
        cause: LogError,
    },
    /// It came from inside an observer of this session.
    #[error("failed to append to session {session}: an observer of a session may not append to it")]
    Reentrant {
        /// The session.
        session: SessionId,
    },
    /// An earlier append panicked inside a log or an invariant, so nobody knows what they hold.
    #[error("failed to append to session {session}: an earlier append panicked half-way")]
    Broken {
        /// The session.
        session: SessionId,
    },
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.header.id)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// An empty session. `invariants` are tested beside those that every session has.
    pub fn create(
        header: SessionHeader,
        log: Box<dyn EventLog>,
        clock: Arc<dyn Clock>,
        invariants: Vec<Box<dyn Invariant>>,
    ) -> Arc<Self> {
        Self::assemble(header, Tail::default(), log, clock, Rules::new(invariants))
    }

    pub(crate) fn assemble(
        header: SessionHeader,
        tail: Tail,
        log: Box<dyn EventLog>,
        clock: Arc<dyn Clock>,
        rules: Rules,
    ) -> Arc<Self> {
        Arc::new(Self {
            header,
            clock,
            reader: log.reader(),
            writer: Mutex::new(Writer { log, rules }),
            tail: Mutex::new(tail),
            publisher: Mutex::new(None),
            observers: Observers::new("session"),
        })
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.header.id
    }

    /// What stands before the events.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// Appends an event: checks it, hands it to the log, commits and publishes it, then returns.
    ///
    /// Another thread's append waits for its turn.
    ///
    /// # Errors
    /// A refused event changes nothing: the next one has its number.
    pub fn append(&self, body: EventBody) -> Result<Arc<Event>, AppendError> {
        let mut writer = self.enter().map_err(|error| self.refusal(&error))?;
        let event = Arc::new(Event {
            seq: self.len(),
            time: self.clock.now(),
            body,
        });
        let (session, seq) = (|| self.header.id.clone(), event.seq);
        writer.rules.check(&event).map_err(|violation| AppendError::Violation {
            session: session(),
            seq,
            violation,
        })?;
        writer.log.append(&event).map_err(|cause| AppendError::Log {
            session: session(),
            seq,
            cause,
        })?;
        writer.rules.commit(&event);
        self.tail().push(&event);
        self.publish(&writer, &SessionUpdate::Event(Arc::clone(&event)));
        Ok(event)
    }

    /// Publishes a piece of a streaming answer, in order with the events. It is not stored.
    ///
    /// From inside an observer of this session it is dropped with a warning.
    pub fn delta(&self, delta: Delta) {
        match self.enter() {
            Ok(writer) => self.publish(&writer, &SessionUpdate::Delta(delta)),
            Err(error) => tracing::warn!(session = %self.id(), ?error, "a delta was dropped"),
        }
    }

    /// How many events there are.
    pub fn len(&self) -> u64 {
        self.tail().len
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A page of the log: the events from number `from` on, in order; at most `limit`, fewer if they are large, none only
    /// at the end. It reads the store, so it may block on the disk for a moment.
    ///
    /// # Errors
    /// The log cannot be read any more.
    pub fn page(&self, from: u64, limit: usize) -> Result<Vec<Arc<Event>>, LogError> {
        self.reader.read(from, limit)
    }

    /// All events, in order of `seq`, in memory at once: for logs known to be small.
    ///
    /// # Errors
    /// The log cannot be read any more.
    pub fn events(&self) -> Result<Vec<Arc<Event>>, LogError> {
        let mut events = Vec::new();
        loop {
            let page = self.page(events.len() as u64, PAGE)?;
            if page.is_empty() {
                return Ok(events);
            }
            events.extend(page);
        }
    }

    /// The events of the last turn, open or ended, and what follows it. Never read from the store.
    pub fn last_turn(&self) -> Vec<Arc<Event>> {
        self.tail().turn.clone()
    }

    /// Has `observer` called with every later update, on the thread that appends, until the
    /// subscription is dropped. It may read the session, not append to it.
    pub fn observe(&self, observer: impl Fn(&SessionUpdate) + Send + Sync + 'static) -> Subscription {
        self.observers.subscribe(None, observer)
    }

    /// Resolves when every event appended so far would survive the death of the machine; at once if the log survives
    /// nothing anyway.
    ///
    /// # Errors
    /// The log's own, or it is asked for from inside an observer.
    pub async fn durable(&self) -> Result<(), LogError> {
        let flushed = match self.enter() {
            Ok(mut writer) => writer.log.flush(),
            Err(error) => {
                let attempt = format!("wait until session {} is durable", self.id());
                return Err(LogError::new(attempt, self.refusal(&error)));
            }
        };
        flushed.await
    }

    /// Writes the session as JSON Lines: the header, then an event per line.
    ///
    /// # Errors
    /// Those of `out` and of the log.
    pub fn export(&self, mut out: impl Write) -> io::Result<()> {
        write_line(&mut out, &self.header)?;
        let mut next = 0;
        loop {
            let page = self.page(next, PAGE).map_err(io::Error::other)?;
            if page.is_empty() {
                return out.flush();
            }
            next += page.len() as u64;
            page.iter().try_for_each(|event| write_line(&mut out, &**event))?;
        }
    }

    fn enter(&self) -> Result<MutexGuard<'_, Writer>, EnterError> {
        // Only this thread can have put its own id there, so the answer cannot change meanwhile.
        if *lock(&self.publisher) == Some(std::thread::current().id()) {
            return Err(EnterError::Reentrant);
        }
        self.writer.lock().map_err(|_poisoned| EnterError::Broken)
    }

    fn refusal(&self, error: &EnterError) -> AppendError {
        let session = self.header.id.clone();
        match error {
            EnterError::Reentrant => AppendError::Reentrant { session },
            EnterError::Broken => AppendError::Broken { session },
        }
    }

    fn publish(&self, _in_order: &MutexGuard<'_, Writer>, update: &SessionUpdate) {
        *lock(&self.publisher) = Some(std::thread::current().id());
        // Observers are contained, so that this line is always followed by the next.
        self.observers.emit(None, update);
        *lock(&self.publisher) = None;
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        lock(&self.tail)
    }
}

#[derive(Debug)]
enum EnterError {
    Reentrant,
    Broken,
}

/// For locks around values that are only ever replaced or pushed to whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
