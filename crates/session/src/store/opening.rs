//! Opening a session to go on with it.

use std::fmt;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

use weft_types::{Event, SessionHeader, SessionId};

use super::file_log::FileLog;
use super::layout::SessionPaths;
use super::lock::{self, SessionLock};
use super::log_reader::LogReader;
use super::marks::Marks;
use super::mend::Mend;
use super::read_only::ReadOnlyLog;
use super::scan::LogScan;
use super::{Damage, FileStore, Note, ReadOnly, StoreError};
use crate::{EventLog, Restore, Session};

/// A session that is being opened: its events are read, each once, and then it goes on from them.
///
/// It holds the writer's lock; dropping it gives the session up as it was.
pub struct Opening {
    store: FileStore,
    paths: SessionPaths,
    stage: Stage,
    notes: Vec<Note>,
}

enum Stage {
    /// With the lock, or the reason for which it cannot be had.
    Reading(Box<LogScan>, Result<SessionLock, String>),
    Read(Restore, Box<dyn EventLog>),
    /// Only while one of the above is turned into the other.
    Between(SessionHeader),
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening")
            .field("id", &self.header().id)
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

impl Opening {
    pub(crate) fn begin(store: FileStore, id: &SessionId) -> Result<Self, StoreError> {
        // What cannot be opened is told by its header, before the lock leaves its trace in the folder.
        drop(LogScan::open(&store, id)?);
        let paths = store.layout().session(id)?;
        let lock = take_lock(&store, &paths, id)?;
        let scan = LogScan::open(&store, id)?;
        let stage = Stage::Reading(Box::new(scan), lock);
        Ok(Self {
            store,
            paths,
            stage,
            notes: Vec::new(),
        })
    }

    /// What stands before the events.
    pub fn header(&self) -> &SessionHeader {
        match &self.stage {
            Stage::Reading(scan, _) => scan.header(),
            Stage::Read(restore, _) => restore.header(),
            Stage::Between(header) => header,
        }
    }

    /// The next events, in order; none at the end. The last of them are those that close a turn which the log ended in:
    /// they were appended and are durable, unless the session is read-only.
    ///
    /// # Errors
    /// The log holds an event of an unknown type, or the disk fails; the log is as it was.
    pub fn next_page(&mut self) -> Result<Vec<Arc<Event>>, StoreError> {
        let Stage::Reading(scan, _) = &mut self.stage else {
            return Ok(Vec::new());
        };
        let options = self.store.options();
        let (mut page, begin) = (Vec::new(), scan.read_to());
        while page.len() < options.page_events && scan.read_to() - begin < options.page_bytes as u64 {
            match scan.next() {
                Ok(Some(event)) => page.push(event),
                Ok(None) => break,
                Err(error) if page.is_empty() => return Err(error),
                // The next call meets it again.
                Err(_) => break,
            }
        }
        if page.is_empty() { Ok(self.settle()) } else { Ok(page) }
    }

    /// The damage that the events end at, once all of them were read. The session is read-only then.
    pub fn damage(&self) -> Option<&Damage> {
        self.notes.iter().find_map(|note| match note {
            Note::ReadOnly(ReadOnly::Damaged(damage)) => Some(damage),
            _ => None,
        })
    }

    /// What the user should be told, once all events were read.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The session that goes on from here. What was not read yet is read first.
    ///
    /// # Errors
    /// Those of [`next_page`](Self::next_page).
    pub fn finish(mut self) -> Result<Arc<Session>, StoreError> {
        while !self.next_page()?.is_empty() {}
        let clock = Arc::clone(&self.store.options().clock);
        match self.stage {
            Stage::Read(restore, log) => Ok(restore.finish(log, clock)),
            Stage::Reading(..) | Stage::Between(_) => unreachable!("an empty page is the last"),
        }
    }

    /// At the end of the log: makes it fit to go on, and closes the turn that it ends in. Gives the events that were not
    /// given out yet.
    fn settle(&mut self) -> Vec<Arc<Event>> {
        let between = Stage::Between(self.header().clone());
        let Stage::Reading(mut scan, lock) = std::mem::replace(&mut self.stage, between) else {
            return Vec::new();
        };
        let mut last: Vec<Arc<Event>> = scan.accept_unterminated().into_iter().collect();
        let (damage, mend) = (scan.damage().cloned(), Mend::of(&scan));
        let (mut restore, mut marks) = scan.into_parts();
        let closing = restore.close_turn();
        let log = match (damage, lock) {
            (Some(damage), _) => Err(ReadOnly::Damaged(damage)),
            (None, Err(reason)) => Err(ReadOnly::NoWriting(reason)),
            (None, Ok(lock)) => self
                .go_on(mend, lock, &mut marks, &closing)
                .map_err(ReadOnly::NoWriting),
        };
        let log = log.unwrap_or_else(|reason| self.read_only(reason, marks, closing.clone()));
        last.extend(closing);
        self.stage = Stage::Read(restore, log);
        last
    }

    /// The log, mended, with `closing` at its end, all of it durable. `marks` follow the mending only.
    fn go_on(
        &mut self,
        mend: Mend,
        lock: SessionLock,
        marks: &mut Marks,
        closing: &[Arc<Event>],
    ) -> Result<Box<dyn EventLog>, String> {
        let header = self.header().clone();
        let mended = mend.apply(&self.store, (&header, &self.paths), lock, (marks, &mut self.notes));
        let mut log: FileLog = mended.map_err(|error| error.to_string())?;
        let closed = closing.iter().try_for_each(|event| log.append(event));
        closed
            .and_then(|()| log.wait_until_durable())
            .map_err(|error| error.to_string())?;
        Ok(Box::new(log))
    }

    fn read_only(&mut self, reason: ReadOnly, marks: Marks, closing: Vec<Arc<Event>>) -> Box<dyn EventLog> {
        self.notes.push(Note::ReadOnly(reason.clone()));
        let session = self.header().id.clone();
        let reader = LogReader {
            store: self.store.clone(),
            session: session.clone(),
            path: self.paths.log(),
            marks: Arc::new(Mutex::new(marks)),
            closing,
        };
        Box::new(ReadOnlyLog {
            session,
            reason,
            reader: Arc::new(reader),
        })
    }
}

/// The writer's lock, or why it cannot be had in a folder that cannot be written.
fn take_lock(
    store: &FileStore,
    paths: &SessionPaths,
    id: &SessionId,
) -> Result<Result<SessionLock, String>, StoreError> {
    let files = &*store.options().files;
    match SessionLock::take(files, paths, id, &store.options().program) {
        Ok(lock) => Ok(Ok(lock)),
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound && !paths.folder.exists() => {
            // Another deleted it meanwhile.
            let (session, reason) = (id.clone(), "there is none of this id");
            Err(StoreError::NotFound { session, reason })
        }
        Err(StoreError::Io { attempt, path, source }) if cannot_write(source.kind()) => {
            if let Some(holder) = lock::running(files, paths)? {
                return Err(StoreError::InUse {
                    session: id.clone(),
                    holder,
                });
            }
            Ok(Err(StoreError::Io { attempt, path, source }.to_string()))
        }
        Err(error) => Err(error),
    }
}

fn cannot_write(kind: ErrorKind) -> bool {
    use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(
        kind,
        PermissionDenied | ReadOnlyFilesystem | StorageFull | QuotaExceeded
    )
}
