//! Every session of a store, told by its log, with the index as a cache.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use weft_types::{SessionId, UnixMillis};

use super::fold::{Fold, Folded};
use super::index::{self, Listed, Stamp};
use crate::store::files::open_regular;
use crate::store::layout::Layout;
use crate::store::{StoreError, StoreOptions};

/// All sessions, in no order to rely on.
pub(crate) struct Catalog {
    pub(super) sessions: Vec<Listed>,
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
    pub(crate) fn read(layout: &Layout, options: &StoreOptions) -> Result<Self, StoreError> {
        let root = layout.root();
        let folder = match fs::read_dir(root) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self { sessions: Vec::new() }),
            Err(error) => return Err(StoreError::io("list", root)(error)),
        };
        let (mut names, mut abandoned) = (Vec::new(), Vec::new());
        for item in folder {
            let item = item.map_err(StoreError::io("list", root))?;
            match item.file_name().into_string() {
                Ok(name) if name.starts_with(index::TEMPORARY) => abandoned.push(item.path()),
                Ok(name) => names.push(name),
                // No session's.
                Err(_) => {}
            }
        }
        index::sweep(layout, &abandoned);
        Ok(Survey::new(options).over(names, layout))
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
struct Survey<'a> {
    options: &'a StoreOptions,
    sessions: Vec<Listed>,
    /// How many sessions the index tells something else about.
    differing: usize,
    bytes_read: u64,
}

impl<'a> Survey<'a> {
    fn new(options: &'a StoreOptions) -> Self {
        Self {
            options,
            sessions: Vec::new(),
            differing: 0,
            bytes_read: 0,
        }
    }

    fn over(mut self, mut names: Vec<String>, layout: &Layout) -> Catalog {
        let files = &*self.options.files;
        let index = index::load(&layout.index());
        let has_index = index.is_some();
        // Both in the order of their names, so that neither has to be searched.
        names.sort_unstable();
        let mut known = index.unwrap_or_default().into_iter().peekable();
        for name in names {
            while known.next_if(|known| known.id.as_str() < name.as_str()).is_some() {
                self.differing += 1;
            }
            let known = known.next_if(|known| known.id.as_str() == name);
            self.visit(name, known, layout);
        }
        self.differing += known.count();
        let is_stale = self.bytes_read >= STALE_BYTES || self.differing >= STALE_SESSIONS;
        let is_worth_saving = if has_index { is_stale } else { self.differing > 0 };
        if is_worth_saving && let Err(error) = index::save(layout, files, &self.sessions) {
            tracing::debug!(%error, "the index of the session list was not written");
        }
        Catalog {
            sessions: self.sessions,
        }
    }

    fn visit(&mut self, name: String, known: Option<Listed>, layout: &Layout) {
        let id = SessionId::new(name);
        let Ok(paths) = layout.session(&id) else {
            return;
        };
        let log = paths.log();
        let metadata = fs::metadata(&log);
        let stamp = metadata.as_ref().ok().map(Stamp::of);
        let was_known = known.is_some();
        let known = match known {
            Some(known) if known.stamp == stamp => return self.sessions.push(known),
            known => known,
        };
        let found = metadata.and_then(|metadata| self.log(&log, &metadata, known));
        let told = match found {
            Ok(told) => told,
            Err(error) if is_absence(&error) => None,
            Err(error) => {
                tracing::debug!(session = %id, %error, "a session in the list cannot be read");
                Some((None, Fold::unknown(UnixMillis(0))))
            }
        };
        let is_known = matches!(told, Some((Some(_), _)));
        self.differing += usize::from(was_known || is_known);
        self.sessions
            .extend(told.map(|(stamp, fold)| Listed { id, stamp, fold }));
    }

    /// Reads what is new of a log. Gives nothing if there is no session.
    fn log(
        &mut self,
        path: &Path,
        metadata: &Metadata,
        known: Option<Listed>,
    ) -> io::Result<Option<(Option<Stamp>, Fold)>> {
        Ok(match self.fold(path, known)? {
            (stamp, Folded::Sound(fold)) => Some((Some(stamp), fold)),
            (_, Folded::NoHeader) => Some((None, Fold::unknown(modified(metadata)))),
            (_, Folded::Nothing) => None,
        })
    }

    fn fold(&mut self, path: &Path, known: Option<Listed>) -> io::Result<(Stamp, Folded)> {
        let max_line_bytes = self.options.max_line_bytes;
        let mut log = open_regular(path)?;
        let stamp = Stamp::of(&log.metadata()?);
        let grown = known.filter(|known| known.stamp.is_some_and(|known| known.may_have_grown_to(stamp)));
        if let Some(Listed { fold, .. }) = grown {
            let already = fold.end();
            if let Some(fold) = fold.resume(&mut log, max_line_bytes)? {
                self.bytes_read += stamp.size().saturating_sub(already);
                return Ok((stamp, Folded::Sound(fold)));
            }
        }
        self.bytes_read += stamp.size();
        Ok((stamp, Fold::of(&mut log, max_line_bytes)?))
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
