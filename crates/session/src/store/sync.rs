//! The thread that makes appended events durable.
//!
//! Whatever is appended is synced within an interval, at once when somebody waits for it. A sync covers everything that
//! was appended to its file before, so that any number of waiters share it; files that are waited for at the same time
//! are synced at the same time. One that fails is never tried again: the kernel may have dropped what it could not write,
//! and a second sync would succeed without it.

use std::collections::VecDeque;
use std::fs::File;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::FileLayer;

/// How many files are synced at the same time.
const AT_ONCE: usize = 16;

/// The sync thread of a store. It starts with the first log to be written, and ends, everything synced, when this is dropped.
pub(crate) struct Syncer {
    queue: Arc<Queue>,
    interval: Duration,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    work: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    /// Files somebody waits for.
    urgent: Vec<Arc<SyncedFile>>,
    /// Files that were appended to, each with the time by which it is synced, the earliest first.
    due: VecDeque<(Instant, Arc<SyncedFile>)>,
    closing: bool,
}

/// A file that the sync thread looks after.
pub(crate) struct SyncedFile {
    file: File,
    files: Arc<dyn FileLayer>,
    state: Mutex<SyncState>,
    changed: Condvar,
}

#[derive(Default)]
struct SyncState {
    /// How many times it was appended to.
    appended: u64,
    /// How many of those are durable.
    durable: u64,
    /// Whether a time by which it is synced is set.
    due: bool,
    /// Folders in which its names are new.
    folders: Vec<PathBuf>,
    failure: Option<SyncFailure>,
    wakers: Vec<Waker>,
}

/// A sync that failed. Nobody knows what of the log would survive the death of the machine.
#[derive(Clone, Debug, thiserror::Error)]
#[error("an earlier sync of the log failed and nothing is known of what it left: {reason}")]
pub(crate) struct SyncFailure {
    reason: Arc<str>,
}

impl Syncer {
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            queue: Arc::default(),
            interval,
            thread: Mutex::default(),
        }
    }

    /// Starts the thread, if it does not run.
    ///
    /// # Errors
    /// None can be started.
    pub(crate) fn start(&self) -> io::Result<()> {
        let mut thread = lock(&self.thread);
        if thread.is_none() {
            let queue = Arc::clone(&self.queue);
            let builder = std::thread::Builder::new().name("weft-sync".to_owned());
            *thread = Some(builder.spawn(move || queue.work_off())?);
        }
        Ok(())
    }

    /// Something was appended to the file.
    pub(crate) fn appended(&self, file: &Arc<SyncedFile>) {
        let mut state = lock(&file.state);
        state.appended += 1;
        if std::mem::replace(&mut state.due, true) {
            return;
        }
        drop(state);
        let due = Instant::now() + self.interval;
        lock(&self.queue.work).due.push_back((due, Arc::clone(file)));
        self.queue.changed.notify_all();
    }

    /// Resolves when everything appended to the file so far is durable.
    pub(crate) fn flush(&self, file: &Arc<SyncedFile>) -> Flush {
        let state = lock(&file.state);
        let flush = Flush {
            file: Arc::clone(file),
            until: state.appended,
        };
        if state.outcome(flush.until).is_none() {
            drop(state);
            lock(&self.queue.work).urgent.push(Arc::clone(file));
            self.queue.changed.notify_all();
        }
        flush
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        lock(&self.queue.work).closing = true;
        self.queue.changed.notify_all();
        if let Some(thread) = lock(&self.thread).take() {
            // What panics in there is contained; and nothing is left to be done about it here.
            drop(thread.join());
        }
    }
}

impl Queue {
    fn work_off(&self) {
        while let Some(mut batch) = self.next_batch() {
            // Syncing a file twice at once, one of them could take the other's failure for its own success.
            batch.sort_unstable_by_key(Arc::as_ptr);
            batch.dedup_by(|one, other| Arc::ptr_eq(one, other));
            batch.chunks(AT_ONCE).for_each(sync_all_of);
        }
    }

    /// The files to sync now; waits until there are some. None when the store is closed and nothing is left.
    fn next_batch(&self) -> Option<Vec<Arc<SyncedFile>>> {
        let mut work = lock(&self.work);
        loop {
            let batch = work.take();
            if !batch.is_empty() {
                return Some(batch);
            }
            if work.closing {
                return None;
            }
            let until = work
                .due
                .front()
                .map(|(due, _)| due.saturating_duration_since(Instant::now()));
            work = match until {
                Some(wait) => {
                    self.changed
                        .wait_timeout(work, wait)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                None => self.changed.wait(work).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// Syncs files at the same time: a file system makes what is asked for at once durable with one write to its journal.
fn sync_all_of(files: &[Arc<SyncedFile>]) {
    let Some((last, others)) = files.split_last() else {
        return;
    };
    std::thread::scope(|scope| {
        for file in others {
            let builder = std::thread::Builder::new().name("weft-sync".to_owned());
            if builder.spawn_scoped(scope, || file.sync()).is_err() {
                file.sync();
            }
        }
        last.sync();
    });
}

impl Work {
    fn take(&mut self) -> Vec<Arc<SyncedFile>> {
        let mut batch = std::mem::take(&mut self.urgent);
        let now = Instant::now();
        while self.due.front().is_some_and(|(due, _)| self.closing || *due <= now) {
            let (_, file) = self.due.pop_front().expect("there is a front");
            // What is appended from here on gets a time of its own.
            lock(&file.state).due = false;
            batch.push(file);
        }
        batch
    }
}

impl SyncedFile {
    /// A file nothing was appended to. The names in `folders` are made durable with its first sync.
    pub(crate) fn new(files: Arc<dyn FileLayer>, file: File, folders: Vec<PathBuf>) -> Self {
        let state = SyncState {
            folders,
            ..SyncState::default()
        };
        Self {
            file,
            files,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The failure after which nothing more may be appended.
    pub(crate) fn failure(&self) -> Option<SyncFailure> {
        lock(&self.state).failure.clone()
    }

    fn sync(&self) {
        let mut state = lock(&self.state);
        let until = state.appended;
        if state.durable == until || state.failure.is_some() {
            return;
        }
        let folders = std::mem::take(&mut state.folders);
        drop(state);
        let synced = catch_unwind(AssertUnwindSafe(|| {
            self.files.sync(&self.file)?;
            folders.iter().try_for_each(|folder| self.files.sync_folder(folder))
        }));
        let synced = synced.unwrap_or_else(|_panic| Err(io::Error::other("the sync panicked")));
        let mut state = lock(&self.state);
        match synced {
            Ok(()) => state.durable = until,
            Err(error) => {
                state.failure = Some(SyncFailure {
                    reason: error.to_string().into(),
                });
            }
        }
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        self.changed.notify_all();
    }
}

impl SyncState {
    /// Whether what was appended up to then is durable, if that is known.
    fn outcome(&self, until: u64) -> Option<Result<(), SyncFailure>> {
        if self.durable >= until {
            return Some(Ok(()));
        }
        self.failure.clone().map(Err)
    }
}

/// Resolves when something is durable. Dropping it changes nothing: it is synced all the same.
pub(crate) struct Flush {
    file: Arc<SyncedFile>,
    until: u64,
}

impl Flush {
    /// Waits for it on this thread.
    ///
    /// # Errors
    /// The sync failed.
    pub(crate) fn wait(self) -> Result<(), SyncFailure> {
        let mut state = lock(&self.file.state);
        loop {
            if let Some(outcome) = state.outcome(self.until) {
                return outcome;
            }
            state = self.file.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Future for Flush {
    type Output = Result<(), SyncFailure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = lock(&self.file.state);
        if let Some(outcome) = state.outcome(self.until) {
            return Poll::Ready(outcome);
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

/// For locks around values that are whole at every step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
