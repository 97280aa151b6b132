//! Journals of workflow runs: one file for each run, beside the log of the session that called it.
//!
//! The store knows their lines, which are those of a log: a JSON object each, with its checksum. What they say is the
//! business of whoever writes them. A journal is written once, by the process that has its session open, and never
//! appended to again: a half-written end stays what it is. It goes with its session, and no export holds it.

mod stored;

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use weft_types::{RunId, SessionId};

use super::birth::create_folders;
use super::sync::SyncedFile;
use super::{FileStore, StoreError, line};

pub use stored::StoredJournal;

/// The runs of this process that are under way.
pub(crate) type Claims = Mutex<HashSet<(SessionId, RunId)>>;

/// That nobody else in this process has this run, or one that goes on with it, under way. Other processes are kept away
/// by the session's lock. Given back when it is dropped.
pub struct RunClaim {
    store: FileStore,
    claimed: (SessionId, RunId),
}

impl fmt::Debug for RunClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunClaim").field(&self.claimed).finish()
    }
}

impl Drop for RunClaim {
    fn drop(&mut self) {
        lock(&self.store.inner.claims).remove(&self.claimed);
    }
}

/// A journal that is being written. It is durable, as far as it was written, within the store's sync interval.
pub struct Journal {
    store: FileStore,
    path: PathBuf,
    file: Arc<SyncedFile>,
    state: Mutex<Written>,
}

/// How far the file was written.
struct Written {
    bytes: u64,
    line: Vec<u8>,
    /// Whether it takes nothing more.
    stuck: bool,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl FileStore {
    /// Claims a run of a session that is open in this process. None if it is claimed already.
    pub fn claim_run(&self, session: &SessionId, run: &RunId) -> Option<RunClaim> {
        let claimed = (session.clone(), run.clone());
        let is_free = lock(&self.inner.claims).insert(claimed.clone());
        is_free.then(|| RunClaim {
            store: self.clone(),
            claimed,
        })
    }

    /// Makes the journal of a run of `session`, whose log is on disk and open in this process. It begins with `first`, a
    /// JSON object.
    ///
    /// # Errors
    /// There is such a journal already, `first` is longer than a line may be, or the disk fails. Nothing is left behind
    /// then, as far as the disk allows.
    pub fn create_journal(
        &self,
        session: &SessionId,
        run: &RunId,
        first: &impl Serialize,
    ) -> Result<Journal, StoreError> {
        let paths = self.layout().session(session)?;
        let path = paths.journal(run)?;
        let failed = |attempt: &'static str, error| StoreError::io(attempt, &path)(error);
        if !paths.log().exists() {
            let reason = "its log is not in this store";
            let session = session.clone();
            return Err(StoreError::NotFound { session, reason });
        }
        let mut text = Vec::new();
        self.encode(&mut text, first).map_err(|error| failed("write", error))?;
        let files = &self.options().files;
        let folders = create_folders(&**files, &paths.journals())?;
        self.syncer().start().map_err(|error| failed("write", error))?;
        let file = files.create(&path).map_err(|error| failed("create", error))?;
        if let Err(error) = files.write(&file, &text) {
            if let Err(left) = std::fs::remove_file(&path) {
                tracing::warn!(path = %path.display(), error = %left, "a journal that could not be written stays");
            }
            return Err(failed("write", error));
        }
        let journal = Journal {
            store: self.clone(),
            file: Arc::new(SyncedFile::new(Arc::clone(files), file, folders)),
            state: Mutex::new(Written {
                bytes: text.len() as u64,
                line: Vec::new(),
                stuck: false,
            }),
            path,
        };
        self.syncer().appended(&journal.file);
        Ok(journal)
    }

    /// Appends a line, if it is not too long for one.
    fn encode(&self, into: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
        line::write(into, value)?;
        let (bytes, limit) = (into.len() - 1, self.options().max_line_bytes);
        if bytes > limit {
            return Err(io::Error::other(format!(
                "a line of it has {bytes} bytes, expected at most {limit} (max_line_bytes)"
            )));
        }
        Ok(())
    }
}

impl Journal {
    /// Appends a record, a JSON object. Once this returns well it survives the death of the process. It blocks for one
    /// `write`.
    ///
    /// # Errors
    /// It is too long, or the disk fails; the journal then takes nothing more, and ends as it was.
    pub fn append(&self, record: &impl Serialize) -> Result<(), StoreError> {
        let mut state = lock(&self.state);
        let written = self.write(&mut state, record);
        if written.is_err() {
            state.stuck = true;
        }
        written.map_err(StoreError::io("write to", &self.path))
    }

    fn write(&self, state: &mut Written, record: &impl Serialize) -> io::Result<()> {
        if state.stuck {
            return Err(io::Error::other("an earlier record could not be written"));
        }
        if let Some(failure) = self.file.failure() {
            return Err(io::Error::other(failure));
        }
        state.line.clear();
        self.store.encode(&mut state.line, record)?;
        let files = &self.store.options().files;
        if let Err(error) = files.write(self.file.file(), &state.line) {
            // What cannot be cut off is passed over by whoever reads it.
            drop(files.truncate(self.file.file(), state.bytes));
            return Err(error);
        }
        state.bytes += state.line.len() as u64;
        self.store.syncer().appended(&self.file);
        Ok(())
    }
}

/// For locks around values that are whole at every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
