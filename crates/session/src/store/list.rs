//! The list of sessions.

use std::path::PathBuf;

use weft_types::{Origin, SessionId, UnixMillis};

use super::{FileStore, StoreError};

/// Which sessions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Only those that work in exactly this folder.
    pub cwd: Option<PathBuf>,
    /// Only those of this origin.
    pub origin: Option<Origin>,
    /// Also those in which no turn has begun.
    pub include_blank: bool,
    /// Goes on where the list with this `next` ended.
    pub cursor: Option<String>,
    /// How many rows at most; 0 means the default of 100.
    pub limit: usize,
}

/// A page of the list, the most recently used first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionList {
    /// The sessions.
    pub rows: Vec<SessionRow>,
    /// The cursor of the next page, if there are more.
    pub next: Option<String>,
}

/// One session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// Its last title.
    pub title: Option<String>,
    /// The absolute folder it works in.
    pub cwd: String,
    /// The session that started it, for a subagent.
    pub parent: Option<SessionId>,
    /// What made it.
    pub origin: Origin,
    /// The name its starter gave it.
    pub label: Option<String>,
    /// When it was created.
    pub created_at: UnixMillis,
    /// The later of its creation and its last user message.
    pub updated_at: UnixMillis,
    /// Whether a process has it open for writing.
    pub running: bool,
    /// Whether no turn has begun yet.
    pub blank: bool,
}

impl FileStore {
    /// Lists sessions, the most recently used first.
    ///
    /// # Errors
    /// The cursor is none of a list, or the disk fails. A single session that cannot be read is left out.
    pub fn list(&self, query: &ListQuery) -> Result<SessionList, StoreError> {
        let _ = query;
        Err(StoreError::io("list", self.root())(
            std::io::ErrorKind::Unsupported.into(),
        ))
    }
}
