//! Sessions into and out of a store, as plain JSON Lines.

mod import;

use std::io::{BufRead, BufWriter, Write};

use weft_types::SessionId;

use super::scan::LogScan;
use super::{FileStore, StoreError};
use crate::lines::write_line;
use import::Import;

impl FileStore {
    /// Takes a session that was exported: its header, then an event a line, of any version up to today's, with or without
    /// checksums. Every line is checked before anything of it can be seen. It is durable when this returns.
    ///
    /// # Errors
    /// It is no sound log, there is such a session already, or the disk fails. Nothing is left behind then.
    pub fn import(&self, lines: impl BufRead) -> Result<SessionId, StoreError> {
        self.import_into(None, lines)
    }

    /// Like [`import`](Self::import); the session works in the folder `cwd` from now on, if one is given. It is taken as
    /// it is and need not exist.
    ///
    /// # Errors
    /// Those of [`import`](Self::import).
    pub fn import_into(&self, cwd: Option<&str>, mut lines: impl BufRead) -> Result<SessionId, StoreError> {
        let (id, header) = import::header(&mut lines, self)?;
        let import = Import::begin(self, &id, cwd)?;
        match import.run(&header, lines) {
            Ok(()) => Ok(id),
            Err(error) => {
                import.undo();
                Err(error)
            }
        }
    }

    /// Writes a session as JSON Lines, without checksums: the header, then an event a line, as they would be written
    /// today. A turn that the log ends in stays open.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), those of `out`; and damage, after everything before it was written.
    pub fn export(&self, id: &SessionId, out: impl Write) -> Result<(), StoreError> {
        let path = self.layout().session(id)?.log();
        let failed = |error| StoreError::io("write what was read from", &path)(error);
        let mut scan = LogScan::open(self, id)?;
        let mut out = BufWriter::new(out);
        write_line(&mut out, scan.header()).map_err(failed)?;
        while let Some(event) = scan.next()? {
            write_line(&mut out, &*event).map_err(failed)?;
        }
        if !self.is_running(id)
            && let Some(event) = scan.accept_unterminated()
        {
            write_line(&mut out, &*event).map_err(failed)?;
        }
        out.flush().map_err(failed)?;
        match scan.damage().cloned() {
            Some(damage) => Err(StoreError::Damaged {
                session: id.clone(),
                damage,
            }),
            None => Ok(()),
        }
    }
}
