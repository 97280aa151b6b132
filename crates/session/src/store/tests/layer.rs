//! Files that fail when told to.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::{FileLayer, RealFiles};

/// What the store does to files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    CreateFolder,
    Create,
    OpenToAppend,
    OpenToLock,
    Read,
    Write,
    Truncate,
    Sync,
    SyncFolder,
    Link,
    Rename,
}

/// Real files that are never really synced, and fail as planned.
#[derive(Default)]
pub(super) struct Layer {
    plans: Mutex<Vec<Plan>>,
    on_sync: Mutex<Option<OnSync>>,
    /// Whether the next lock is deleted as soon as it was opened.
    loses_lock: AtomicBool,
    /// Whether the folder of the next lock is deleted before that is opened.
    loses_folder: AtomicBool,
}

type OnSync = Box<dyn Fn(&str) + Send>;

struct Plan {
    act: Act,
    /// How many times it succeeds first.
    after: usize,
    /// How many times it fails then.
    times: usize,
    kind: ErrorKind,
    /// How much of the bytes a failing write writes.
    part: usize,
}

impl Layer {
    /// Has `act` fail, `times` times, after it succeeded `after` times.
    pub(super) fn fail(&self, act: Act, kind: ErrorKind, after: usize, times: usize) {
        self.plan(Plan {
            act,
            after,
            times,
            kind,
            part: 0,
        });
    }

    /// Has the next write stop after `part` bytes.
    pub(super) fn fail_half_way(&self, part: usize) {
        self.plan(Plan {
            act: Act::Write,
            after: 0,
            times: 1,
            kind: ErrorKind::StorageFull,
            part,
        });
    }

    /// Calls `on_sync` in every sync, with the name of the thread and of what is synced.
    pub(super) fn on_sync(&self, on_sync: impl Fn(&str) + Send + 'static) {
        *self.on_sync.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(on_sync));
    }

    /// Has the next lock deleted between its opening and its locking, as by whoever deletes the session.
    pub(super) fn lose_lock(&self) {
        self.loses_lock.store(true, Ordering::SeqCst);
    }

    /// Has the session whose lock is opened next deleted before, by another.
    pub(super) fn lose_folder(&self) {
        self.loses_folder.store(true, Ordering::SeqCst);
    }

    /// Forgets what was planned.
    pub(super) fn heal(&self) {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn plan(&self, plan: Plan) {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).push(plan);
    }

    /// Fails if that is planned; with how much is written all the same.
    fn act(&self, act: Act) -> Result<(), (io::Error, usize)> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        for plan in plans.iter_mut().filter(|plan| plan.act == act) {
            if plan.after > 0 {
                plan.after -= 1;
            } else if plan.times > 0 {
                plan.times -= 1;
                return Err((plan.kind.into(), plan.part));
            }
        }
        Ok(())
    }

    fn check(&self, act: Act) -> io::Result<()> {
        self.act(act).map_err(|(error, _)| error)
    }

    fn synced(&self, what: &str) {
        let thread = std::thread::current();
        if let Some(on_sync) = &*self.on_sync.lock().unwrap_or_else(PoisonError::into_inner) {
            on_sync(&format!("{} {what}", thread.name().unwrap_or_default()));
        }
    }
}

impl FileLayer for Layer {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.check(Act::CreateFolder)?;
        RealFiles.create_folder(path)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        self.check(Act::Create)?;
        RealFiles.create(path)
    }

    fn open_to_append(&self, path: &Path) -> io::Result<File> {
        self.check(Act::OpenToAppend)?;
        RealFiles.open_to_append(path)
    }

    fn open_to_lock(&self, path: &Path) -> io::Result<File> {
        self.check(Act::OpenToLock)?;
        if self.loses_folder.swap(false, Ordering::SeqCst) {
            std::fs::remove_dir_all(path.parent().unwrap_or(path))?;
        }
        let file = RealFiles.open_to_lock(path)?;
        if self.loses_lock.swap(false, Ordering::SeqCst) {
            std::fs::remove_file(path)?;
        }
        Ok(file)
    }

    fn read(&self, file: &File, into: &mut [u8]) -> io::Result<usize> {
        self.check(Act::Read)?;
        RealFiles.read(file, into)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        self.act(Act::Write)
            .or_else(|(error, part)| {
                RealFiles
                    .write(file, &bytes[..part.min(bytes.len())])
                    .map_err(|error| (error, 0))?;
                Err((error, part))
            })
            .map_err(|(error, _)| error)?;
        RealFiles.write(file, bytes)
    }

    fn truncate(&self, file: &File, len: u64) -> io::Result<()> {
        self.check(Act::Truncate)?;
        RealFiles.truncate(file, len)
    }

    fn sync(&self, _file: &File) -> io::Result<()> {
        self.synced("log");
        self.check(Act::Sync)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.synced(&path.file_name().unwrap_or_default().to_string_lossy());
        self.check(Act::SyncFolder)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check(Act::Link)?;
        RealFiles.link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check(Act::Rename)?;
        RealFiles.rename(from, to)
    }
}
