//! What the store could not do.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use weft_types::{RunId, SessionHeader, SessionId};

use super::{Damage, Holder};

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such session.
    #[error("failed to find session {}: {reason}", clipped(session.as_str()))]
    NotFound {
        /// The id that was asked for.
        session: SessionId,
        /// What is there instead.
        reason: &'static str,
    },
    /// There is such a session already.
    #[error("failed to create session {session}: it exists already")]
    Exists {
        /// Its id.
        session: SessionId,
    },
    /// Another holds the session's lock, in this process or another.
    #[error("failed to open session {session}: it is in use by {holder}; close it there first")]
    InUse {
        /// Its id.
        session: SessionId,
        /// Who.
        holder: Holder,
    },
    /// The log was written by a later version of this program.
    #[error(
        "failed to read session {session}: its log has version {found}, this program knows versions up to {}; update it",
        SessionHeader::VERSION
    )]
    NewerVersion {
        /// The session.
        session: SessionId,
        /// The version in its header.
        found: u32,
    },
    /// The log holds an event of a type that this program does not know and may not pass over.
    #[error(
        "failed to read session {session}: event {seq} is of the unknown type {:?}; a later version may know it",
        clipped(kind)
    )]
    UnknownEvent {
        /// The session.
        session: SessionId,
        /// The event's number.
        seq: u64,
        /// Its type.
        kind: String,
    },
    /// The log's first line is no header of this session, though events follow it.
    #[error(
        "failed to read session {session}: the header in {} is damaged: {reason}; mend its first line, or delete the session",
        path.display()
    )]
    DamagedHeader {
        /// The session.
        session: SessionId,
        /// The log.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The log is damaged; what was asked for was done with the events before that.
    #[error("failed to read all of session {session}: its log is {damage}")]
    Damaged {
        /// The session.
        session: SessionId,
        /// Where, and how.
        damage: Damage,
    },
    /// A line is longer than the store reads or writes.
    #[error("failed to read session {session}: line {line} at byte {offset} is longer than the limit of {limit} bytes")]
    LongLine {
        /// The session.
        session: SessionId,
        /// The line, from 1.
        line: u64,
        /// Where it begins.
        offset: u64,
        /// The limit, `max_line_bytes`.
        limit: usize,
    },
    /// There is no journal of a workflow run of this id.
    #[error("failed to find workflow run {:?}: there is no journal of it", clipped(run.as_str()))]
    NoJournal {
        /// The id that was asked for.
        run: RunId,
    },
    /// The journal of a workflow run does not begin as one does.
    #[error("failed to read the journal of workflow run {run} in {}: {reason}", path.display())]
    DamagedJournal {
        /// The run.
        run: RunId,
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The lines of an import are no log.
    #[error("failed to import a session: line {line}: {reason}")]
    Import {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// A cursor that no list has given.
    #[error("failed to list sessions: the cursor {:?} is none of this list", clipped(cursor))]
    Cursor {
        /// The cursor.
        cursor: String,
    },
    /// An option is out of its range.
    #[error("failed to open the session store: {option} is {found}, expected {expected}")]
    Option {
        /// Its name.
        option: &'static str,
        /// Its value.
        found: String,
        /// What is allowed.
        expected: String,
    },
    /// The disk failed.
    #[error("failed to {attempt} {}: {source}", path.display())]
    Io {
        /// What was attempted, such as `read`.
        attempt: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl StoreError {
    /// For `map_err`: "failed to `attempt` `path`: …".
    pub(crate) fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { attempt, path, source }
    }
}

/// How much of a text that came from elsewhere an error repeats, in characters.
const SHOWN: usize = 200;

/// The text, or its beginning if it is longer than an error should be.
pub(crate) fn clipped(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}
