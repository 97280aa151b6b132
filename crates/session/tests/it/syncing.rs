//! Logs that are made durable at the same time.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use futures::FutureExt;
use weft_session::{FileLayer, FileStore, LogError, Session, Sessions, StoreOptions};

use crate::disk::{Disk, header_of};
use crate::generate::turn_start;

/// Holds the first sync up until it is let go; each later one waits until so many are under way at the same time.
struct Meeting {
    wanted: usize,
    patience: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    has_first: bool,
    is_open: bool,
    under_way: usize,
    most: usize,
}

impl Meeting {
    fn of(wanted: usize, patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            wanted,
            patience,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, go_on: impl Fn(&State) -> bool) -> MutexGuard<'a, State> {
        let waited = self
            .changed
            .wait_timeout_while(state, self.patience, |state| !go_on(state));
        waited.expect("no panic").0
    }
}

impl FileLayer for Meeting {
    fn sync(&self, _file: &File) -> io::Result<()> {
        let mut state = self.state();
        if !state.has_first {
            state.has_first = true;
            self.changed.notify_all();
            drop(self.wait(state, |state| state.is_open));
            return Ok(());
        }
        state.under_way += 1;
        state.most = state.most.max(state.under_way);
        self.changed.notify_all();
        let mut state = self.wait(state, |state| state.most >= self.wanted);
        state.under_way -= 1;
        Ok(())
    }
}

type Flush = Pin<Box<dyn Future<Output = Result<(), LogError>>>>;

/// A flush that was asked for.
fn flush(session: &Arc<Session>) -> Flush {
    let session = Arc::clone(session);
    let mut flush: Flush = Box::pin(async move { session.durable().await });
    assert!((&mut flush).now_or_never().is_none(), "it cannot be durable yet");
    flush
}

/// Asks for a flush of each session as often as it says while a sync of another is under way, and waits for all of them.
/// Gives how many syncs were under way at the same time after that.
fn most_at_once(meeting: &Arc<Meeting>, sessions: &[(&str, usize)], interval: Duration) -> usize {
    let disk = Disk::new();
    let options = StoreOptions {
        files: Arc::clone(meeting) as _,
        sync_interval: interval,
        ..StoreOptions::new("test")
    };
    let store = FileStore::new(disk.root(), options).expect("valid");
    let begin = |name: &str| {
        let session = store.create(header_of(name, 2)).expect("created");
        session.append(turn_start(1)).expect("legal");
        session
    };
    let first = begin("first");
    let mut flushes = vec![flush(&first)];
    drop(meeting.wait(meeting.state(), |state| state.has_first));
    let sessions: Vec<_> = sessions.iter().map(|(name, times)| (begin(name), *times)).collect();
    for (session, times) in &sessions {
        flushes.extend((0..*times).map(|_| flush(session)));
    }
    meeting.state().is_open = true;
    meeting.changed.notify_all();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    for flush in flushes {
        runtime.block_on(flush).expect("durable");
    }
    meeting.state().most
}

#[test]
fn logs_that_are_waited_for_are_synced_at_the_same_time() {
    let meeting = Meeting::of(3, Duration::from_secs(20));
    let most = most_at_once(&meeting, &[("a", 1), ("b", 1), ("c", 1)], Duration::from_secs(10));
    assert_eq!(most, 3);
}

#[test]
fn one_log_is_never_synced_twice_at_the_same_time() {
    let meeting = Meeting::of(2, Duration::from_millis(300));
    assert_eq!(most_at_once(&meeting, &[("a", 3)], Duration::ZERO), 1);
}
