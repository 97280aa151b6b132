//! Sessions in files: one folder per session, holding one append-only log in JSON Lines.
//!
//! [`FileStore`] is the store: it creates sessions, opens them to go on ([`Opening`]), reads them without opening
//! ([`StoredSession`]), lists, deletes, verifies, follows and moves them. A session has one writer at a time, over all
//! processes, and any number of readers. [`FileLayer`] is what the store does to files, for tests that let it fail.
//!
//! A log is never changed but at its end, with two exceptions, both under the writer's lock when a session is opened:
//! what a crash left half-written is cut off, and a log of an older version, or with a torn line in its middle of which
//! nothing is missing, is replaced in one step by its rewritten self. What is damaged is reported and left alone.

mod birth;
mod damage;
mod delete;
mod error;
mod file_log;
mod files;
mod follow;
mod head;
mod journal;
mod judge;
mod layout;
mod line;
mod lines;
mod list;
mod lock;
mod log_reader;
mod marks;
mod mend;
mod migrate;
mod opening;
mod options;
mod pages;
mod read_only;
mod rewrite;
mod scan;
mod stored;
mod sync;
mod transfer;
mod verify;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_types::{SessionHeader, SessionId};

use crate::{LogError, Session, Sessions};

pub use damage::{Damage, Note, ReadOnly};
pub use error::StoreError;
pub use files::{FileLayer, RealFiles};
pub use follow::Follower;
pub use journal::{Journal, RunClaim, StoredJournal};
pub use list::{ListQuery, SessionList, SessionRow};
pub use lock::Holder;
pub use opening::Opening;
pub use options::StoreOptions;
pub use stored::StoredSession;
pub use verify::Verification;

use file_log::FileLog;
use layout::Layout;
use sync::Syncer;

/// Sessions in one folder. Clones are the same store.
///
/// Every method blocks on the disk: in an async program call them on a blocking thread. Dropping the last clone, and the
/// last session that it opened or created, waits until everything appended was synced.
#[derive(Clone)]
pub struct FileStore {
    inner: Arc<Inner>,
}

struct Inner {
    layout: Layout,
    options: StoreOptions,
    syncer: Arc<Syncer>,
    /// The workflow runs under way in this process.
    claims: journal::Claims,
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore")
            .field("root", &self.root())
            .finish_non_exhaustive()
    }
}

impl FileStore {
    /// The store in the folder `root`. It need not exist: nothing is made before the first event of a session.
    ///
    /// # Errors
    /// An option is out of its range.
    pub fn new(root: PathBuf, options: StoreOptions) -> Result<Self, StoreError> {
        options.validate()?;
        let syncer = Arc::new(Syncer::new(options.sync_interval));
        let layout = Layout::new(root);
        Ok(Self {
            inner: Arc::new(Inner {
                layout,
                options,
                syncer,
                claims: journal::Claims::default(),
            }),
        })
    }

    /// The folder that holds it.
    pub fn root(&self) -> &Path {
        self.inner.layout.root()
    }

    /// Opens a session to go on with it: takes the writer's lock and reads the header.
    ///
    /// # Errors
    /// There is no such session, it is in use by another, its version is unknown, its header is damaged, or the disk fails.
    pub fn open(&self, id: &SessionId) -> Result<Opening, StoreError> {
        Opening::begin(self.clone(), id)
    }

    /// Reads a session without opening it, whoever else has it open. Nothing is locked or changed.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), but for the lock; and an event of an unknown type.
    pub fn read(&self, id: &SessionId) -> Result<StoredSession, StoreError> {
        StoredSession::read(self.clone(), id)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    pub(crate) fn options(&self) -> &StoreOptions {
        &self.inner.options
    }

    pub(crate) fn syncer(&self) -> &Arc<Syncer> {
        &self.inner.syncer
    }
}

impl Sessions for FileStore {
    /// Nothing is on disk before the session's first event.
    fn create(&self, header: SessionHeader) -> Result<Arc<Session>, LogError> {
        let attempt = |id: &SessionId| format!("create session {id}");
        let log = FileLog::unborn(self, &header).map_err(|cause| LogError::new(attempt(&header.id), cause))?;
        let invariants = (self.options().invariants)();
        Ok(Session::create(
            header,
            Box::new(log),
            Arc::clone(&self.options().clock),
            invariants,
        ))
    }
}

#[cfg(test)]
mod tests;
