//! A real store on files that stall and fail when they are told to.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;
use weft_session::{FileLayer, FileStore, RealFiles, Session, Sessions, StoreOptions};
use weft_types::{SessionId, UnixMillis};

use super::header;

/// A store in a folder of its own.
pub(crate) struct Stored {
    pub(crate) store: FileStore,
    pub(crate) files: Arc<TestFiles>,
    folder: Arc<TempDir>,
}

impl Stored {
    pub(crate) fn new() -> Self {
        Self::at(Arc::new(tempfile::tempdir().expect("a folder")))
    }

    /// Another store in the same folder, as another process has it.
    pub(crate) fn elsewhere(&self) -> Self {
        Self::at(Arc::clone(&self.folder))
    }

    fn at(folder: Arc<TempDir>) -> Self {
        let files = Arc::<TestFiles>::default();
        let options = StoreOptions {
            files: Arc::clone(&files) as _,
            clock: Arc::new(|| UnixMillis(0)),
            ..StoreOptions::new("test")
        };
        let store = FileStore::new(folder.path().to_owned(), options).expect("good options");
        Self { store, files, folder }
    }

    pub(crate) fn create(&self) -> Arc<Session> {
        self.store.create(header("main")).expect("nothing to fail")
    }

    pub(crate) fn open(&self) -> Arc<Session> {
        let opening = self.store.open(&SessionId::new("main")).expect("nobody else has it");
        opening.finish().expect("readable")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("main/log.jsonl")
    }

    /// The types of the events in the log's file.
    pub(crate) fn types(&self) -> Vec<String> {
        let Ok(text) = fs::read_to_string(self.log()) else {
            return Vec::new();
        };
        let lines = text
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str(line).expect("JSON"));
        lines
            .map(|line: Value| line["type"].as_str().expect("a type").to_owned())
            .collect()
    }

    /// The log has no flaw.
    #[track_caller]
    pub(crate) fn is_sound(&self) {
        let found = self.store.verify(&SessionId::new("main")).expect("a log");
        assert_eq!((&found.damage, found.torn_tail, found.debris), (&None, 0, 0));
    }
}

/// A failed test must not wait for syncs that nobody lets go.
impl Drop for Stored {
    fn drop(&mut self) {
        self.files.hold_syncs(false);
    }
}

/// The real files, in the way of which a test stands.
pub(crate) struct TestFiles {
    /// How many more events the disk has room for; absent for all.
    room: Mutex<Option<usize>>,
    sync_fails: Mutex<bool>,
    /// Syncs wait while this is true.
    held: Mutex<bool>,
    released: Condvar,
    /// How many syncs are waiting.
    waiting: watch::Sender<usize>,
}

impl Default for TestFiles {
    fn default() -> Self {
        Self {
            room: Mutex::default(),
            sync_fails: Mutex::default(),
            held: Mutex::default(),
            released: Condvar::new(),
            waiting: watch::Sender::new(0),
        }
    }
}

impl TestFiles {
    pub(crate) fn room_for(&self, events: Option<usize>) {
        *self.room.lock().expect("not poisoned") = events;
    }

    pub(crate) fn fail_syncs(&self, fail: bool) {
        *self.sync_fails.lock().expect("not poisoned") = fail;
    }

    pub(crate) fn hold_syncs(&self, hold: bool) {
        *self.held.lock().expect("not poisoned") = hold;
        self.released.notify_all();
    }

    /// Returns when a sync waits.
    pub(crate) async fn sync_waits(&self) {
        let mut waiting = self.waiting.subscribe();
        let waits = waiting.wait_for(|waiting| *waiting > 0).await;
        drop(waits.expect("the files own the sender"));
    }

    /// Blocks the store's own thread.
    fn wait_while_held(&self) {
        let held = self.held.lock().expect("not poisoned");
        if *held {
            self.waiting.send_modify(|waiting| *waiting += 1);
            drop(self.released.wait_while(held, |held| *held).expect("not poisoned"));
            self.waiting.send_modify(|waiting| *waiting -= 1);
        }
    }
}

impl FileLayer for TestFiles {
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        match &mut *self.room.lock().expect("not poisoned") {
            None => {}
            Some(0) => {
                // As a disk does that fills up on the way.
                RealFiles.write(file, &bytes[..bytes.len() / 2])?;
                return Err(io::ErrorKind::StorageFull.into());
            }
            Some(left) => *left -= 1,
        }
        RealFiles.write(file, bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.wait_while_held();
        if *self.sync_fails.lock().expect("not poisoned") {
            return Err(io::Error::other("the disk is gone"));
        }
        RealFiles.sync(file)
    }
}
