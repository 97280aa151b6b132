//! Opening a session to go on with it.

use std::sync::Arc;

use weft_types::{Event, SessionHeader, SessionId};

use super::{Damage, FileStore, Note, StoreError};
use crate::Session;

/// A session that is being opened: its events are read, each once, and then it goes on from them.
///
/// It holds the writer's lock; dropping it gives the session up as it was.
#[derive(Debug)]
pub struct Opening {
    header: SessionHeader,
    notes: Vec<Note>,
}

impl Opening {
    pub(crate) fn begin(store: FileStore, id: &SessionId) -> Result<Self, StoreError> {
        let paths = store.layout().session(id)?;
        Err(StoreError::io("open", &paths.folder)(
            std::io::ErrorKind::Unsupported.into(),
        ))
    }

    /// What stands before the events.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// The next events, in order; none at the end. The last of them are those that close a turn which the log ended in:
    /// they were appended and are durable, unless the session is read-only.
    ///
    /// # Errors
    /// The log holds an event of an unknown type, or the disk fails; the log is as it was.
    pub fn next_page(&mut self) -> Result<Vec<Arc<Event>>, StoreError> {
        Ok(Vec::new())
    }

    /// The damage that the events end at, once all of them were read. The session is read-only then.
    pub fn damage(&self) -> Option<&Damage> {
        None
    }

    /// What the user should be told, once all events were read.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The session that goes on from here. What was not read yet is read first.
    ///
    /// # Errors
    /// Those of [`next_page`](Self::next_page).
    pub fn finish(self) -> Result<Arc<Session>, StoreError> {
        Err(StoreError::NotFound {
            session: self.header.id,
            reason: "it cannot be opened",
        })
    }
}
