//! Reading a session without opening it.

use std::sync::Arc;

use weft_types::{Event, SessionHeader, SessionId};

use super::{Damage, FileStore, StoreError};

/// A session as its log has it, whoever writes it.
///
/// While nobody runs the session, a turn that its log ends in is shown as the next to open it would close it, without
/// anything being written. While somebody does, it is shown as it is, and pages show what was appended meanwhile.
#[derive(Debug)]
pub struct StoredSession {
    header: SessionHeader,
}

impl StoredSession {
    pub(crate) fn read(store: FileStore, id: &SessionId) -> Result<Self, StoreError> {
        let paths = store.layout().session(id)?;
        Err(StoreError::io("read", &paths.folder)(
            std::io::ErrorKind::Unsupported.into(),
        ))
    }

    /// What stands before the events.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// How many events there are, those that close an open turn included.
    ///
    /// # Errors
    /// The log cannot be read any more.
    pub fn len(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    /// Whether a process had the session open for writing when it was last looked at.
    pub fn running(&self) -> bool {
        false
    }

    /// The damage that the events end at.
    pub fn damage(&self) -> Option<Damage> {
        None
    }

    /// The events from number `from` on, in order: at most `limit`, fewer if they are large, none only at the end.
    ///
    /// # Errors
    /// The log cannot be read any more.
    pub fn page(&self, from: u64, limit: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        let _ = (from, limit);
        Ok(Vec::new())
    }

    /// The last events before number `seq`, in order: at most `limit`, fewer if they are large, none only at the start.
    ///
    /// # Errors
    /// The log cannot be read any more.
    pub fn before(&self, seq: u64, limit: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        let _ = (seq, limit);
        Ok(Vec::new())
    }
}
