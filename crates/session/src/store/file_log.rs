//! The log that a session appends to.
//!
//! An append is one write by the thread that appends, so that it survives the death of the process and readers see it at
//! once; the sync thread makes it survive the death of the machine. Before, it looks whether the log is as the last append
//! left it: the lock keeps other writers out only as long as nobody deletes it.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use weft_types::{Event, SessionHeader};

use super::birth::birth;
use super::files::identity;
use super::layout::SessionPaths;
use super::lines::Place;
use super::lock::SessionLock;
use super::log_reader::LogReader;
use super::marks::Marks;
use super::sync::{SyncFailure, SyncedFile};
use super::{FileStore, StoreError, line};
use crate::{EventLog, EventReader, LogError};

/// How large a line the buffer for the next may keep the room for.
const KEPT_BYTES: usize = 1 << 20;

/// The writer of one session's log. It holds the session's lock as long as it lives.
pub(crate) struct FileLog {
    store: FileStore,
    header: SessionHeader,
    paths: SessionPaths,
    /// None until the first event: nothing is on disk before.
    open: Option<OpenLog>,
    /// Why nothing is written any more, if that is so.
    stuck: Option<Stuck>,
    marks: Arc<Mutex<Marks>>,
    line: Vec<u8>,
}

/// What a log that is on disk holds on to.
pub(crate) struct OpenLog {
    file: Arc<SyncedFile>,
    /// What tells the file from another of its name.
    identity: Option<(u64, u64)>,
    /// Held as long as the log.
    _lock: SessionLock,
}

impl OpenLog {
    /// # Errors
    /// The file cannot be looked at.
    pub(crate) fn new(file: Arc<SyncedFile>, lock: SessionLock) -> io::Result<Self> {
        Ok(Self {
            identity: identity(&file.file().metadata()?),
            file,
            _lock: lock,
        })
    }
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("the event has {bytes} bytes, expected at most {limit} (max_line_bytes)")]
    TooLong { bytes: usize, limit: usize },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Sync(#[from] SyncFailure),
    #[error(transparent)]
    Stuck(#[from] Stuck),
}

/// Why a log takes nothing more until it is opened anew.
#[derive(Clone, Debug, thiserror::Error)]
enum Stuck {
    #[error("part of an earlier event could not be cut off: {0}")]
    Part(String),
    #[error("the log was changed by another program: it has {found} bytes, expected {expected}")]
    Changed { found: u64, expected: u64 },
    #[error("the log was removed or replaced by another program")]
    Gone,
}

impl WriteError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Stuck(Stuck::Changed { .. } | Stuck::Gone) => Some(
                "load the session again to go on from what its log holds; nothing should write or delete it meanwhile",
            ),
            _ => None,
        }
    }
}

impl FileLog {
    /// The log of a session that is made with its first event.
    ///
    /// # Errors
    /// No session can have this id, or there is one that has it.
    pub(crate) fn unborn(store: &FileStore, header: &SessionHeader) -> Result<Self, StoreError> {
        let session = header.id.clone();
        let paths = store.layout().session(&session)?;
        if paths.log().exists() {
            return Err(StoreError::Exists { session });
        }
        Ok(Self::assemble(
            store,
            header.clone(),
            paths,
            None,
            Marks::new(Place::START),
        ))
    }

    /// A log that is on disk, ends in a whole line, and holds what `marks` says.
    pub(crate) fn open(
        store: &FileStore,
        header: SessionHeader,
        paths: SessionPaths,
        open: OpenLog,
        marks: Marks,
    ) -> Self {
        Self::assemble(store, header, paths, Some(open), marks)
    }

    fn assemble(
        store: &FileStore,
        header: SessionHeader,
        paths: SessionPaths,
        open: Option<OpenLog>,
        marks: Marks,
    ) -> Self {
        Self {
            store: store.clone(),
            header,
            paths,
            open,
            stuck: None,
            marks: Arc::new(Mutex::new(marks)),
            line: Vec::new(),
        }
    }

    /// Waits on this thread until everything appended is durable.
    ///
    /// # Errors
    /// A sync failed.
    pub(crate) fn wait_until_durable(&self) -> Result<(), LogError> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let flushed = self.store.syncer().flush(&open.file).wait();
        flushed.map_err(|cause| LogError::new(self.attempt("sync"), cause))
    }

    fn attempt(&self, what: &str) -> String {
        format!("{what} {}", self.paths.log().display())
    }

    fn refusal(&self, error: WriteError) -> LogError {
        let hint = error.hint();
        let refusal = match error {
            // It names what it was attempted on, which is the log or stands for it.
            WriteError::Store(StoreError::Io { attempt, path, source }) => {
                LogError::new(format!("{attempt} {}", path.display()), source)
            }
            error => LogError::new(self.attempt("write to"), error),
        };
        match hint {
            Some(hint) => refusal.with_hint(hint),
            None => refusal,
        }
    }

    fn write(&mut self, event: &Event) -> Result<(), WriteError> {
        let event_at = self.encode(event)?;
        if self.open.is_some() {
            self.check_unchanged()?;
        }
        if let Some(open) = &self.open {
            open.file
                .failure()
                .map_or(Ok(()), |failure| Err(WriteError::Sync(failure)))?;
            if let Err(error) = self.store.options().files.write(open.file.file(), &self.line) {
                self.cut_off(&error);
                return Err(error.into());
            }
            lock(&self.marks).push_bytes(self.line.len());
        } else {
            let open = self.be_born()?;
            let mut marks = Marks::new(Place {
                offset: event_at as u64,
                line: 2,
            });
            marks.push_bytes(self.line.len() - event_at);
            *lock(&self.marks) = marks;
            self.open = Some(open);
        }
        if let Some(open) = &self.open {
            self.store.syncer().appended(&open.file);
        }
        Ok(())
    }

    /// Refuses to write, from now on, if the log is not as the last append left it.
    ///
    /// The one `stat` by name also tells of a file that is still whole but no longer the session's log.
    fn check_unchanged(&mut self) -> Result<(), WriteError> {
        let (None, Some(open)) = (&self.stuck, &self.open) else {
            return self.stuck.clone().map_or(Ok(()), |stuck| Err(stuck.into()));
        };
        let path = self.paths.log();
        let expected = lock(&self.marks).end().offset;
        let stuck = match path.metadata() {
            Ok(there) if identity(&there) != open.identity => Stuck::Gone,
            Ok(there) if there.len() == expected => return Ok(()),
            Ok(there) => Stuck::Changed {
                found: there.len(),
                expected,
            },
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Stuck::Gone,
            Err(error) => return Err(StoreError::io("look at", &path)(error).into()),
        };
        self.stuck = Some(stuck.clone());
        Err(stuck.into())
    }

    /// Puts into `line` what is to be written: the event, after the header if it is the first. Gives where the event is.
    fn encode(&mut self, event: &Event) -> Result<usize, WriteError> {
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
        if self.open.is_none() {
            line::write(&mut self.line, &self.header)?;
        }
        let event_at = self.line.len();
        line::write(&mut self.line, event)?;
        // The line feed does not count.
        let (bytes, limit) = (self.line.len() - event_at - 1, self.store.options().max_line_bytes);
        if bytes > limit {
            return Err(WriteError::TooLong { bytes, limit });
        }
        Ok(event_at)
    }

    /// Cuts off what a write that failed may have written.
    fn cut_off(&mut self, error: &io::Error) {
        let (Some(open), files) = (&self.open, &self.store.options().files) else {
            return;
        };
        let len = lock(&self.marks).end().offset;
        if let Err(cause) = files.truncate(open.file.file(), len) {
            self.stuck = Some(Stuck::Part(format!("{error}, then {cause}")));
        }
    }

    /// Makes the log with the header and the first event.
    fn be_born(&self) -> Result<OpenLog, WriteError> {
        let store = &self.store;
        store.syncer().start()?;
        let born = birth(store, &self.header.id, &self.paths, &self.line)?;
        let files = Arc::clone(&store.options().files);
        let file = Arc::new(SyncedFile::new(files, born.file, born.folders));
        Ok(OpenLog::new(file, born.lock)?)
    }
}

impl EventLog for FileLog {
    fn append(&mut self, event: &Arc<Event>) -> Result<(), LogError> {
        self.write(event).map_err(|error| self.refusal(error))
    }

    fn flush(&mut self) -> BoxFuture<'static, Result<(), LogError>> {
        let Some(open) = &self.open else {
            return Box::pin(std::future::ready(Ok(())));
        };
        let (flush, attempt) = (self.store.syncer().flush(&open.file), self.attempt("sync"));
        Box::pin(async move { flush.await.map_err(|cause| LogError::new(attempt, cause)) })
    }

    fn reader(&self) -> Arc<dyn EventReader> {
        Arc::new(LogReader {
            store: self.store.clone(),
            session: self.header.id.clone(),
            path: self.paths.log(),
            marks: Arc::clone(&self.marks),
            closing: Vec::new(),
        })
    }
}

fn lock(marks: &Mutex<Marks>) -> MutexGuard<'_, Marks> {
    marks.lock().unwrap_or_else(PoisonError::into_inner)
}
