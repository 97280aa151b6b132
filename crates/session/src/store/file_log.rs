//! The log that a session appends to.
//!
//! An append is one write by the thread that appends, so that it survives the death of the process and readers see it at
//! once; the sync thread makes it survive the death of the machine.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use weft_types::{Event, SessionHeader};

use super::birth::{Birth, birth};
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
    /// Why part of an event is at the log's end, if it could not be cut off.
    stuck: Option<String>,
    marks: Arc<Mutex<Marks>>,
    line: Vec<u8>,
}

/// What a log that is on disk holds on to.
pub(crate) struct OpenLog {
    pub(crate) file: Arc<SyncedFile>,
    /// Held as long as the log.
    pub(crate) _lock: SessionLock,
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
    #[error("part of an earlier event could not be cut off: {0}")]
    Stuck(String),
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

    fn write(&mut self, event: &Event) -> Result<(), WriteError> {
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
        if self.open.is_none() {
            line::write(&mut self.line, &self.header)?;
        }
        let header_bytes = self.line.len();
        line::write(&mut self.line, event)?;
        let line_bytes = self.line.len() - header_bytes;
        let (bytes, limit) = (line_bytes - 1, self.store.options().max_line_bytes);
        if bytes > limit {
            return Err(WriteError::TooLong { bytes, limit });
        }
        let Some(open) = &self.open else {
            let open = self.be_born(header_bytes, line_bytes)?;
            self.store.syncer().appended(&open.file);
            self.open = Some(open);
            return Ok(());
        };
        if let Some(reason) = &self.stuck {
            return Err(WriteError::Stuck(reason.clone()));
        }
        if let Some(failure) = open.file.failure() {
            return Err(failure.into());
        }
        let files = &*self.store.options().files;
        if let Err(error) = files.write(open.file.file(), &self.line) {
            let len = lock(&self.marks).end().offset;
            self.stuck = files
                .truncate(open.file.file(), len)
                .err()
                .map(|cause| format!("{error}, then {cause}"));
            return Err(error.into());
        }
        lock(&self.marks).push_bytes(line_bytes);
        self.store.syncer().appended(&open.file);
        Ok(())
    }

    fn be_born(&self, header_bytes: usize, line_bytes: usize) -> Result<OpenLog, WriteError> {
        let store = &self.store;
        store.syncer().start()?;
        let Birth {
            file,
            lock: held,
            folders,
        } = birth(store, &self.header.id, &self.paths, &self.line)?;
        let mut marks = Marks::new(Place {
            offset: header_bytes as u64,
            line: 2,
        });
        marks.push_bytes(line_bytes);
        *lock(&self.marks) = marks;
        let files = Arc::clone(&store.options().files);
        let file = Arc::new(SyncedFile::new(files, file, folders));
        Ok(OpenLog { file, _lock: held })
    }
}

impl EventLog for FileLog {
    fn append(&mut self, event: &Arc<Event>) -> Result<(), LogError> {
        self.write(event)
            .map_err(|cause| LogError::new(self.attempt("write to"), cause))
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
