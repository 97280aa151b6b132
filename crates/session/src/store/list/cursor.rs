//! Where a page of the list ends.

use std::fmt;

use weft_types::{SessionId, UnixMillis};

use super::Listed;
use crate::store::StoreError;
use crate::store::layout::Layout;

/// A place in the list, just after a session that may meanwhile be elsewhere or gone. As text it is a cursor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    updated_at: UnixMillis,
    id: SessionId,
}

impl Position {
    pub(super) fn of(session: &Listed) -> Self {
        Self {
            updated_at: session.fold.updated_at,
            id: session.id.clone(),
        }
    }

    /// What sessions are sorted by, the last one first.
    pub(super) fn key(session: &Listed) -> (UnixMillis, &SessionId) {
        (session.fold.updated_at, &session.id)
    }

    /// Whether the session comes later in the list.
    pub(super) fn is_before(&self, session: &Listed) -> bool {
        Self::key(session) < (self.updated_at, &self.id)
    }

    /// # Errors
    /// It is no text that a position has.
    pub(super) fn parse(cursor: &str, layout: &Layout) -> Result<Self, StoreError> {
        let read = || {
            let (millis, id) = cursor.split_once('.')?;
            let id = SessionId::new(id);
            layout.session(&id).ok()?;
            let updated_at = UnixMillis(millis.parse().ok()?);
            Some(Self { updated_at, id }).filter(|position| position.to_string() == cursor)
        };
        read().ok_or_else(|| StoreError::Cursor {
            cursor: cursor.chars().take(MAX_SHOWN).collect(),
        })
    }
}

/// How many characters of a bad cursor its error shows.
const MAX_SHOWN: usize = 200;

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.updated_at.0, self.id)
    }
}
