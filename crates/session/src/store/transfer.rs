//! Sessions into and out of a store, as plain JSON Lines.

use std::io::{BufRead, Write};

use weft_types::SessionId;

use super::{FileStore, StoreError};

impl FileStore {
    /// Takes a session that was exported. Every line is checked before anything of it can be seen.
    ///
    /// # Errors
    /// It is no sound log, there is such a session already, or the disk fails. Nothing is left behind then.
    pub fn import(&self, lines: impl BufRead) -> Result<SessionId, StoreError> {
        drop(lines);
        Err(StoreError::io("import into", self.root())(
            std::io::ErrorKind::Unsupported.into(),
        ))
    }

    /// Writes a session as JSON Lines, without checksums: the header, then an event a line.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), those of `out`; and damage, after everything before it was written.
    pub fn export(&self, id: &SessionId, out: impl Write) -> Result<(), StoreError> {
        drop(out);
        let paths = self.layout().session(id)?;
        Err(StoreError::io("export", &paths.folder)(
            std::io::ErrorKind::Unsupported.into(),
        ))
    }
}
