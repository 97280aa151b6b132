//! The writer's lock of a session: who holds it runs the session.
//!
//! The kernel releases it when its holder dies, however it dies.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_types::SessionId;

use super::files::identity;
use super::layout::SessionPaths;
use super::{FileLayer, StoreError};

/// How often, and how far apart, a writer tries: a reader that asks whether the session runs holds the lock for an
/// instant.
const ATTEMPTS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(10);

/// Who holds a session's lock, as it says itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process; absent if it has not said so yet.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Its program.
    #[serde(default)]
    pub program: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.program, self.pid) {
            (Some(program), Some(pid)) => write!(f, "{program} (process {pid})"),
            (None, Some(pid)) => write!(f, "process {pid}"),
            (Some(program), None) => f.write_str(program),
            (None, None) => f.write_str("another process"),
        }
    }
}

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct SessionLock {
    file: File,
}

impl SessionLock {
    /// Takes the lock of a session whose folder exists.
    ///
    /// # Errors
    /// Another has it; or the lock's file cannot be opened for writing.
    pub(crate) fn take(
        files: &dyn FileLayer,
        paths: &SessionPaths,
        session: &SessionId,
        program: &str,
    ) -> Result<Self, StoreError> {
        let path = paths.lock();
        let mut attempt = 1;
        loop {
            let file = files
                .open_to_lock(&path)
                .map_err(StoreError::io("open the lock", &path))?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Self::named(file, program)),
                // Whoever deletes a session does so under its lock: then this is no longer the file of that name.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if attempt < ATTEMPTS => {}
                Err(TryLockError::WouldBlock) => {
                    let (session, holder) = (session.clone(), holder(&file));
                    return Err(StoreError::InUse { session, holder });
                }
                Err(TryLockError::Error(cause)) => return Err(StoreError::io("lock", &path)(cause)),
            }
            attempt += 1;
            std::thread::sleep(PAUSE);
        }
    }

    /// A file that is locked, with its holder in it if the disk takes that: nothing depends on it.
    fn named(file: File, program: &str) -> Self {
        let (pid, program) = (Some(std::process::id()), Some(program.to_owned()));
        let text = serde_json::to_vec(&Holder { pid, program }).unwrap_or_default();
        let named = file.set_len(0).and_then(|()| (&file).write_all(&text));
        if let Err(error) = named {
            tracing::warn!(%error, "a session's lock does not name its holder");
        }
        Self { file }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // A name that stays behind misleads nobody, since it counts only while the file is locked; and closing the file
        // unlocks it in any case, but for a copy that a child process which is being started may have for a moment.
        drop(self.file.set_len(0));
        drop(self.file.unlock());
    }
}

/// Who holds the session's lock, if somebody does.
///
/// # Errors
/// The lock cannot be looked at.
pub(crate) fn running(files: &dyn FileLayer, paths: &SessionPaths) -> Result<Option<Holder>, StoreError> {
    let path = paths.lock();
    let file = match files.open(&path) {
        Ok(file) => file,
        // What is no file nobody can lock.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => return Ok(None),
        Err(error) => return Err(StoreError::io("open the lock", &path)(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| None).map_err(StoreError::io("unlock", &path)),
        Err(TryLockError::WouldBlock) => Ok(Some(holder(&file))),
        Err(TryLockError::Error(cause)) => Err(StoreError::io("lock", &path)(cause)),
    }
}

fn holder(mut file: &File) -> Holder {
    let mut text = Vec::new();
    let read = file.rewind().and_then(|()| file.take(4096).read_to_end(&mut text));
    read.ok()
        .and_then(|_| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

/// Whether `file` still has that name; an open file cannot lose it where the platform does not tell files apart.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.metadata()) {
        (Ok(here), Ok(there)) => identity(&here) == identity(&there),
        _ => false,
    }
}
