//! The list of sessions, by pages.

mod catalog;
mod cursor;
mod fold;
mod index;

use std::path::{Path, PathBuf};

use weft_types::{Origin, SessionId, UnixMillis};

use super::{FileStore, Holder, StoreError, lock};

pub(crate) use catalog::Catalog;
use cursor::Position;
use index::Listed;

/// Which sessions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Only those that work in exactly this folder.
    pub cwd: Option<PathBuf>,
    /// Only those of this origin.
    pub origin: Option<Origin>,
    /// Also those in which no turn has begun.
    pub include_blank: bool,
    /// Also finds out which are damaged. Whole logs are read for that, of those sessions whose logs do not end in what
    /// the list knows; crashes are among the reasons.
    pub find_damage: bool,
    /// Goes on where the list with this `next` ended.
    pub cursor: Option<String>,
    /// How many rows at most; 0 means the default of 100, more than 1000 are never given.
    pub limit: usize,
}

/// A page of the list, those last prompted first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionList {
    /// The sessions.
    pub rows: Vec<SessionRow>,
    /// The cursor of the next page, if there are more. What it means is the store's own business.
    pub next: Option<String>,
}

/// What a list tells of a session: of one whose log is damaged, what is sound of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// Its last title.
    pub title: Option<String>,
    /// The absolute folder it works in; empty if its log cannot be read at all.
    pub cwd: String,
    /// The session that started it.
    pub parent: Option<SessionId>,
    /// What made it.
    pub origin: Origin,
    /// The name its starter gave it.
    pub label: Option<String>,
    /// When it was created.
    pub created_at: UnixMillis,
    /// The later of its creation and the last prompt of a person.
    pub updated_at: UnixMillis,
    /// Whether somebody has it open to write to it, in whatever process.
    pub running: bool,
    /// Whether no turn has begun yet.
    pub blank: bool,
    /// Whether its log is seen to be damaged, if that was asked for. Only a [verification](FileStore::verify) looks at
    /// everything: what was changed in a line that the list knows already is not noticed.
    pub damaged: bool,
}

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1000;

impl FileStore {
    /// One page of the sessions, by their last prompt and then their id, both descending.
    ///
    /// A session that is prompted between two pages moves to the front: the later page may lack it. None that stays where
    /// it is comes twice or is left out.
    ///
    /// # Errors
    /// The cursor is none that a list gave, or the store's folder cannot be read. A single session never fails the list.
    pub fn list(&self, query: &ListQuery) -> Result<SessionList, StoreError> {
        let after = query
            .cursor
            .as_deref()
            .map(|cursor| Position::parse(cursor, self.layout()));
        let after = after.transpose()?;
        let mut sessions = self.catalog()?.sessions;
        sessions
            .retain(|session| matches(query, session) && after.as_ref().is_none_or(|after| after.is_before(session)));
        sessions.sort_unstable_by(|one, other| Position::key(one).cmp(&Position::key(other)).reverse());
        let limit = if query.limit == 0 {
            DEFAULT_LIMIT
        } else {
            query.limit.min(MAX_LIMIT)
        };
        let has_more = sessions.len() > limit;
        sessions.truncate(limit);
        let next = sessions
            .last()
            .filter(|_| has_more)
            .map(|last| Position::of(last).to_string());
        let rows = sessions
            .into_iter()
            .map(|session| self.row(session, query.find_damage))
            .collect();
        Ok(SessionList { rows, next })
    }

    /// Every session, as its log tells it.
    pub(crate) fn catalog(&self) -> Result<Catalog, StoreError> {
        Catalog::read(self.layout(), self.options())
    }

    fn row(&self, session: Listed, find_damage: bool) -> SessionRow {
        let running = self.is_running(&session.id);
        let damaged = find_damage && !running && !session.is_read_whole() && self.is_damaged(&session.id);
        let Listed { id, fold, .. } = session;
        SessionRow {
            running,
            damaged,
            id,
            title: fold.title,
            cwd: fold.cwd,
            parent: fold.parent,
            origin: fold.origin,
            label: fold.label,
            created_at: fold.created_at,
            updated_at: fold.updated_at,
            blank: fold.blank,
        }
    }

    /// Reads the whole log: what stands behind the last sound line may also be a line that a crash cut off.
    fn is_damaged(&self, id: &SessionId) -> bool {
        match self.verify(id) {
            Ok(found) => found.damage.is_some(),
            Err(error) => matches!(error, StoreError::DamagedHeader { .. } | StoreError::LongLine { .. }),
        }
    }

    /// Who has the session open to write to it; as far as that can be told.
    pub fn holder(&self, id: &SessionId) -> Option<Holder> {
        let paths = self.layout().session(id).ok()?;
        lock::running(&*self.options().files, &paths).ok()?
    }

    /// Whether somebody has.
    pub(crate) fn is_running(&self, id: &SessionId) -> bool {
        self.holder(id).is_some()
    }
}

fn matches(query: &ListQuery, session: &Listed) -> bool {
    let fold = &session.fold;
    query.cwd.as_deref().is_none_or(|cwd| Path::new(&fold.cwd) == cwd)
        && query.origin.is_none_or(|origin| fold.origin == origin)
        && (query.include_blank || !fold.blank)
}
