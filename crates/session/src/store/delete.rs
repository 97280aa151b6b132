//! Deleting sessions.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weft_types::SessionId;

use super::layout::SessionPaths;
use super::lock::SessionLock;
use super::{FileStore, StoreError};

/// How the names of folders begin that were sessions. No session has such a name.
const DELETED: &str = ".deleted-";

/// A session that nobody else can open any more.
struct Doomed {
    id: SessionId,
    paths: SessionPaths,
    _lock: SessionLock,
}

impl FileStore {
    /// Deletes a session and those that it started, children first. Gives what was deleted, in that order.
    ///
    /// If it fails half-way, or its process dies, each session is there as a whole or not at all, and deleting the same
    /// session again deletes the rest.
    ///
    /// # Errors
    /// There is no such session, one of them is in use (nothing was deleted then), or the disk fails.
    pub fn delete(&self, id: &SessionId) -> Result<Vec<SessionId>, StoreError> {
        self.layout().session(id)?;
        sweep(self.layout().root());
        let doomed = self.doom(id)?;
        if doomed.is_empty() {
            let reason = "there is none of this id";
            return Err(StoreError::NotFound {
                session: id.clone(),
                reason,
            });
        }
        doomed.iter().try_for_each(|session| self.remove(session))?;
        let root = self.layout().root();
        self.options()
            .files
            .sync_folder(root)
            .map_err(StoreError::io("sync", root))?;
        Ok(doomed.into_iter().map(|session| session.id).collect())
    }

    /// Locks the session and all below it, the last one below it first.
    fn doom(&self, id: &SessionId) -> Result<Vec<Doomed>, StoreError> {
        let mut doomed: Vec<Doomed> = Vec::new();
        // One that ran a moment ago may have started another meanwhile; one that is locked does not.
        loop {
            let family = self.catalog()?.family(id);
            let locked: HashSet<_> = doomed.iter().map(|session| session.id.clone()).collect();
            let mut locks = Vec::new();
            for id in family.into_iter().filter(|id| !locked.contains(id)) {
                locks.extend(self.lock_to_delete(id)?);
            }
            if locks.is_empty() {
                return Ok(doomed);
            }
            // What is found later was started by what was found before.
            locks.append(&mut doomed);
            doomed = locks;
        }
    }

    /// Gives nothing if there is no such folder.
    fn lock_to_delete(&self, id: SessionId) -> Result<Option<Doomed>, StoreError> {
        let paths = self.layout().session(&id)?;
        if !paths.folder.is_dir() {
            return Ok(None);
        }
        match SessionLock::take(&*self.options().files, &paths, &id, &self.options().program) {
            Ok(lock) => Ok(Some(Doomed { id, paths, _lock: lock })),
            // Another deleted it meanwhile.
            Err(_) if !paths.folder.exists() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// In one step there is no such session any more; its files go after that.
    fn remove(&self, Doomed { id, paths, .. }: &Doomed) -> Result<(), StoreError> {
        let remains = self.layout().root().join(format!("{DELETED}{id}"));
        let files = &self.options().files;
        files
            .rename(&paths.folder, &remains)
            .map_err(StoreError::io("delete", &paths.folder))?;
        clear(&remains).map_err(StoreError::io("delete", &remains))
    }
}

/// Removes what deletions that did not end left behind.
fn sweep(root: &Path) {
    let is_deleted = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(DELETED))
    };
    let items = fs::read_dir(root).into_iter().flatten().flatten();
    for remains in items.map(|item| item.path()).filter(is_deleted) {
        if let Err(error) = clear(&remains) {
            tracing::debug!(path = %remains.display(), %error, "the remains of a deleted session stay for now");
        }
    }
}

/// Others may be clearing the same.
fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if folder.exists() => Err(error),
        _ => Ok(()),
    }
}
