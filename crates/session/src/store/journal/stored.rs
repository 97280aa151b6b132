//! Reading journals, whoever writes them.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use weft_types::{RunId, SessionId};

use crate::store::layout::JOURNAL;
use crate::store::line::Checksum;
use crate::store::lines::Lines;
use crate::store::{FileStore, StoreError};

/// The most characters of what is wrong with a line that an error repeats.
const SHOWN: usize = 200;

/// The journal of one run as it is on disk, which may be growing.
pub struct StoredJournal {
    run: RunId,
    path: PathBuf,
    lines: Lines,
    broken: u64,
}

impl fmt::Debug for StoredJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredJournal")
            .field("path", &self.path)
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

impl FileStore {
    /// Opens the journal of a run to read it. Nothing is locked or changed.
    ///
    /// # Errors
    /// There is no such journal, or it cannot be opened.
    pub fn read_journal(&self, session: &SessionId, run: &RunId) -> Result<StoredJournal, StoreError> {
        let path = self.layout().session(session)?.journal(run)?;
        let lines = Lines::open(self, session, &path).map_err(|error| match error {
            StoreError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
                StoreError::NoJournal { run: run.clone() }
            }
            error => error,
        })?;
        Ok(StoredJournal {
            run: run.clone(),
            path,
            lines,
            broken: 0,
        })
    }

    /// The runs of a session that have a journal, by their ids.
    ///
    /// # Errors
    /// No session can have this id, or the folder cannot be read.
    pub fn journals(&self, session: &SessionId) -> Result<Vec<RunId>, StoreError> {
        let folder = self.layout().session(session)?.journals();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("list", &folder)(error)),
        };
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut runs: Vec<_> = names
            .filter_map(|name| name.strip_suffix(JOURNAL).map(RunId::new))
            .collect();
        runs.sort_unstable();
        Ok(runs)
    }

    /// The session that has the journal of this run; none if there is none.
    ///
    /// # Errors
    /// No run can have this id, or the store's folder cannot be read.
    pub fn session_of_run(&self, run: &RunId) -> Result<Option<SessionId>, StoreError> {
        let root = self.root();
        let entries = match fs::read_dir(root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io("list", root)(error)),
        };
        for name in entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
        {
            let session = SessionId::new(name);
            // What is no session's folder has no journals.
            let Ok(paths) = self.layout().session(&session) else {
                continue;
            };
            if paths.journal(run)?.is_file() {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }
}

impl StoredJournal {
    /// The first line, before any other was read.
    ///
    /// # Errors
    /// It is not there, not as it was written, or no `T`; or the disk fails.
    pub fn first<T: DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        let read = match self.lines.next()? {
            None => Err("it is empty".to_owned()),
            Some(line) if Checksum::of(line.text) == Checksum::Wrong => {
                Err("its first line is not as it was written".to_owned())
            }
            Some(line) => serde_json::from_slice(line.text).map_err(|error| format!("its first line: {error}")),
        };
        read.map_err(|reason| StoreError::DamagedJournal {
            run: self.run.clone(),
            path: self.path.clone(),
            reason: reason.chars().take(SHOWN).collect(),
        })
    }

    /// The next record; none at the end. Lines that are not as they were written, such as the one that a crash cut off,
    /// are passed over and [counted](Self::broken).
    ///
    /// # Errors
    /// A line is longer than the store reads, or the disk fails.
    pub fn next_record<T: DeserializeOwned>(&mut self) -> Result<Option<T>, StoreError> {
        while let Some(line) = self.lines.next()? {
            if line.text.is_empty() {
                continue;
            }
            let sound = Checksum::of(line.text) != Checksum::Wrong;
            match sound.then(|| serde_json::from_slice(line.text)) {
                Some(Ok(record)) => return Ok(Some(record)),
                _ => self.broken += 1,
            }
        }
        Ok(None)
    }

    /// How many lines were passed over so far.
    pub fn broken(&self) -> u64 {
        self.broken
    }
}
