//! What keeps the events of a session, and reads them back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use weft_types::Event;

/// Takes a session's events in `seq` order, each before it is published.
pub trait EventLog: Send {
    /// Takes the next event. Once this returns well, a reader of the log finds it, and it survives the death of
    /// the process, if the log survives that at all.
    ///
    /// # Errors
    /// The event then counts as never appended, and the next candidate has its `seq`.
    fn append(&mut self, event: &Arc<Event>) -> Result<(), LogError>;

    /// Resolves when everything taken so far would survive the death of the machine; at once if the log survives
    /// nothing anyway.
    ///
    /// # Errors
    /// Something of it may be lost in such a death. The log then takes nothing more.
    fn flush(&mut self) -> BoxFuture<'static, Result<(), LogError>>;

    /// A reader of the events taken so far and of those to come.
    fn reader(&self) -> Arc<dyn EventReader>;
}

/// Reads the events of a log that may be growing meanwhile.
pub trait EventReader: Send + Sync {
    /// The events from number `from` on, in order: at most `limit` of them, fewer if they are large, none only if there
    /// is none. It blocks on the disk for a moment.
    ///
    /// # Errors
    /// The log cannot be read any more.
    fn read(&self, from: u64, limit: usize) -> Result<Vec<Arc<Event>>, LogError>;
}

/// What a log could not do.
#[derive(Debug, thiserror::Error)]
#[error("failed to {attempt}: {cause}")]
pub struct LogError {
    attempt: String,
    cause: Box<dyn std::error::Error + Send + Sync>,
    hint: Option<String>,
}

impl LogError {
    /// An error that reads "failed to `attempt`: `cause`".
    pub fn new(attempt: impl Into<String>, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            attempt: attempt.into(),
            cause: cause.into(),
            hint: None,
        }
    }

    /// The same, with what the user can do about it. The text stays as it is.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        let hint = Some(hint.into());
        Self { hint, ..self }
    }

    /// What the user can do about it, where that does not follow from the text.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// A log that lives as long as somebody holds it. Clones share their events.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    events: Arc<Mutex<Vec<Arc<Event>>>>,
}

impl MemoryLog {
    /// A log that holds `events` already.
    pub fn holding(events: Vec<Arc<Event>>) -> Self {
        Self {
            events: Arc::new(Mutex::new(events)),
        }
    }

    fn events(&self) -> MutexGuard<'_, Vec<Arc<Event>>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventLog for MemoryLog {
    fn append(&mut self, event: &Arc<Event>) -> Result<(), LogError> {
        self.events().push(Arc::clone(event));
        Ok(())
    }

    fn flush(&mut self) -> BoxFuture<'static, Result<(), LogError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn reader(&self) -> Arc<dyn EventReader> {
        Arc::new(self.clone())
    }
}

impl EventReader for MemoryLog {
    fn read(&self, from: u64, limit: usize) -> Result<Vec<Arc<Event>>, LogError> {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(self.events().iter().skip(from).take(limit).cloned().collect())
    }
}
