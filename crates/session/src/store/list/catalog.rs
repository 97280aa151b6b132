//! Every session of a store, told by its log, with the index as a cache.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use weft_types::{SessionId, UnixMillis};

use super::fold::{Fold, Folded};
use super::index::{self, Index, Known, Stamp};
use crate::store::layout::Layout;
use crate::store::{FileLayer, StoreError};

/// All sessions, in no order.
pub(crate) struct Catalog {
    pub(super) sessions: Vec<Listed>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) id: SessionId,
    pub(super) fold: Fold,
}

/// Once so many bytes had to be read that the index did not spare, or so many sessions differ from it, it is written
/// anew.
const STALE_BYTES: u64 = 64 << 10;
const STALE_SESSIONS: usize = 32;

impl Catalog {
    /// Looks at every log, and reads those bytes of it that the index does not tell about.
    ///
    /// # Errors
    /// The folder of the store cannot be read; that there is none is no error.
    pub(crate) fn read(layout: &Layout, files: &dyn FileLayer) -> Result<Self, StoreError> {
        let root = layout.root();
        let folder = match fs::read_dir(root) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self { sessions: Vec::new() }),
            Err(error) => return Err(StoreError::io("list", root)(error)),
        };
        let mut survey = Survey::begin(layout);
        let mut abandoned = Vec::new();
        for item in folder {
            let item = item.map_err(StoreError::io("list", root))?;
            match item.file_name().to_str() {
                Some(name) if name.starts_with(index::TEMPORARY) => abandoned.push(item.path()),
                Some(name) => survey.visit(SessionId::new(name), layout),
                None => {}
            }
        }
        index::sweep(layout, &abandoned);
        Ok(survey.finish(layout, files))
    }

    /// A session, which need not exist, and all below it: each before the one that started it.
    pub(crate) fn family(&self, id: &SessionId) -> Vec<SessionId> {
        let mut children: HashMap<&SessionId, Vec<&SessionId>> = HashMap::new();
        for session in &self.sessions {
            if let Some(parent) = &session.fold.parent {
                children.entry(parent).or_default().push(&session.id);
            }
        }
        let mut family = vec![id.clone()];
        let mut met = HashSet::from([id]);
        let mut next = 0;
        while let Some(parent) = family.get(next) {
            let found = children.get(parent).into_iter().flatten();
            // A log that names its own descendant as its parent is no reason to go round in circles.
            let found: Vec<_> = found
                .filter(|child| met.insert(child))
                .map(|child| (*child).clone())
                .collect();
            family.extend(found);
            next += 1;
        }
        family.reverse();
        family
    }
}

/// A walk over the logs.
struct Survey {
    /// What the index tells, of the sessions that were not met yet.
    known: Index,
    /// What it should tell.
    fresh: Index,
    /// Those that it should not tell of, since nothing of them is sound.
    unsound: Vec<Listed>,
    has_index: bool,
    changed: usize,
    bytes_read: u64,
}

impl Survey {
    fn begin(layout: &Layout) -> Self {
        let known = index::load(&layout.index());
        Self {
            has_index: known.is_some(),
            fresh: Index::with_capacity(known.as_ref().map_or(0, Index::len)),
            known: known.unwrap_or_default(),
            unsound: Vec::new(),
            changed: 0,
            bytes_read: 0,
        }
    }

    fn visit(&mut self, id: SessionId, layout: &Layout) {
        let Ok(paths) = layout.session(&id) else {
            return;
        };
        let log = paths.log();
        match fs::metadata(&log) {
            Ok(metadata) => self.log(id, &log, &metadata),
            Err(error) if is_absence(&error) => {}
            Err(error) => self.unreadable(id, None, &error),
        }
    }

    fn log(&mut self, id: SessionId, path: &Path, metadata: &Metadata) {
        let known = self.known.remove(&id);
        if let Some(known) = known.as_ref().filter(|known| known.stamp == Stamp::of(metadata)) {
            self.fresh.insert(id, known.clone());
            return;
        }
        self.changed += 1;
        match self.fold(path, known) {
            Ok((stamp, Folded::Sound(fold))) => drop(self.fresh.insert(id, Known { stamp, fold })),
            Ok((_, Folded::NoHeader)) => self.unsound.push(Listed {
                id,
                fold: Fold::unknown(modified(metadata)),
            }),
            Ok((_, Folded::Nothing)) => {}
            Err(error) if is_absence(&error) => {}
            Err(error) => self.unreadable(id, Some(metadata), &error),
        }
    }

    fn fold(&mut self, path: &Path, known: Option<Known>) -> io::Result<(Stamp, Folded)> {
        let mut log = File::open(path)?;
        let stamp = Stamp::of(&log.metadata()?);
        if let Some(known) = known.filter(|known| known.stamp.may_have_grown_to(stamp)) {
            let already = known.fold.end();
            if let Some(fold) = known.fold.resume(&mut log)? {
                self.bytes_read += stamp.size().saturating_sub(already);
                return Ok((stamp, Folded::Sound(fold)));
            }
        }
        self.bytes_read += stamp.size();
        Ok((stamp, Fold::of(&mut log)?))
    }

    fn unreadable(&mut self, id: SessionId, metadata: Option<&Metadata>, error: &io::Error) {
        tracing::debug!(session = %id, %error, "a session in the list cannot be read");
        let time = metadata.map_or(UnixMillis(0), modified);
        self.unsound.push(Listed {
            id,
            fold: Fold::unknown(time),
        });
    }

    fn finish(self, layout: &Layout, files: &dyn FileLayer) -> Catalog {
        if self.is_worth_saving()
            && let Err(error) = index::save(layout, files, &self.fresh)
        {
            tracing::debug!(%error, "the index of the session list was not written");
        }
        let mut sessions = self.unsound;
        sessions.extend(
            self.fresh
                .into_iter()
                .map(|(id, Known { fold, .. })| Listed { id, fold }),
        );
        Catalog { sessions }
    }

    fn is_worth_saving(&self) -> bool {
        let differing = self.changed + self.known.len();
        let is_stale = self.bytes_read >= STALE_BYTES || differing >= STALE_SESSIONS;
        if self.has_index {
            is_stale
        } else {
            !self.fresh.is_empty()
        }
    }
}

/// Whether there is no such file, be it that its folder is none.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn modified(metadata: &Metadata) -> UnixMillis {
    let time = metadata.modified().ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    UnixMillis(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}
