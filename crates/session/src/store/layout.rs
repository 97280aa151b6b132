//! Where things are in a store.

use std::path::{Path, PathBuf};

use weft_types::{RunId, SessionId};

use super::StoreError;

/// The name of the list's cache, which no session can have.
const INDEX: &str = "index";

/// What follows the run's id in the name of a journal.
pub(crate) const JOURNAL: &str = ".jsonl";

/// The paths of one store.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The cache of the list. It may be deleted at any time.
    pub(crate) fn index(&self) -> PathBuf {
        self.root.join(INDEX)
    }

    /// The places of one session.
    ///
    /// # Errors
    /// The id is no plain file name, so that no session has it.
    pub(crate) fn session(&self, id: &SessionId) -> Result<SessionPaths, StoreError> {
        if is_plain_name(id.as_str()) {
            return Ok(SessionPaths {
                folder: self.root.join(id.as_str()),
            });
        }
        let reason = "no session can have this id: one has 1 to 200 of A-Z, a-z, 0-9, '.', '_' and '-', begins with no \
                      '.' and is not 'index'";
        Err(StoreError::NotFound {
            session: id.clone(),
            reason,
        })
    }
}

/// The paths of one session.
#[derive(Clone, Debug)]
pub(crate) struct SessionPaths {
    pub(crate) folder: PathBuf,
}

impl SessionPaths {
    /// The log.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("log.jsonl")
    }

    /// What its writer holds locked.
    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// The folder of the journals of its workflow runs.
    pub(crate) fn journals(&self) -> PathBuf {
        self.folder.join("runs")
    }

    /// The journal of one run.
    ///
    /// # Errors
    /// The id is no plain file name, so that no run has it.
    pub(crate) fn journal(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        if is_plain_name(run.as_str()) {
            return Ok(self.journals().join(format!("{run}{JOURNAL}")));
        }
        Err(StoreError::NoJournal { run: run.clone() })
    }
}

fn is_plain_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=200).contains(&name.len()) && !name.starts_with('.') && name != INDEX && name.bytes().all(allowed)
}
