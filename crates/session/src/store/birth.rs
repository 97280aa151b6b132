//! Making a session's folder and log, with the header and the first event in it.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use weft_types::SessionId;

use super::layout::SessionPaths;
use super::lock::SessionLock;
use super::{FileLayer, FileStore, StoreError};

/// A log that was just made.
pub(crate) struct Birth {
    pub(crate) file: File,
    pub(crate) lock: SessionLock,
    /// The folders in which names are new.
    pub(crate) folders: Vec<PathBuf>,
}

/// Makes a session's folder and, locked, its log, which holds `lines` from its first instant on.
///
/// # Errors
/// There is such a session already, or the disk fails. Nothing is left behind then, as far as the disk allows.
pub(crate) fn birth(
    store: &FileStore,
    session: &SessionId,
    paths: &SessionPaths,
    lines: &[u8],
) -> Result<Birth, StoreError> {
    let files = &*store.options().files;
    let log = paths.log();
    let exists = || StoreError::Exists {
        session: session.clone(),
    };
    if log.exists() {
        return Err(exists());
    }
    let mut folders = create_folders(files, &paths.folder)?;
    if !folders.iter().any(|folder| folder == store.root()) {
        // What a crash left of the folder may never have been synced.
        folders.push(store.root().to_owned());
    }
    let lock = SessionLock::take(files, paths, session, &store.options().program)
        .inspect_err(|_| remove_empty(&paths.folder))?;
    let file = files.create(&log).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(),
        _ => {
            undo(paths);
            StoreError::io("create", &log)(error)
        }
    })?;
    if let Err(error) = files.write(&file, lines) {
        remove(&log);
        undo(paths);
        return Err(StoreError::io("write", &log)(error));
    }
    Ok(Birth { file, lock, folders })
}

/// Removes what was made for a log that is not there. Its lock is held.
fn undo(paths: &SessionPaths) {
    remove(&paths.lock());
    remove_empty(&paths.folder);
}

fn remove(path: &Path) {
    if let Err(error) = fs::remove_file(path) {
        tracing::warn!(path = %path.display(), %error, "a session that could not be made leaves a file behind");
    }
}

/// Removes a folder unless something is in it, be it of another.
fn remove_empty(folder: &Path) {
    if let Err(error) = fs::remove_dir(folder) {
        tracing::debug!(path = %folder.display(), %error, "a session that could not be made leaves a folder behind");
    }
}

/// Makes a folder and those that it is in. Gives the folders in which names are new or about to be.
pub(crate) fn create_folders(files: &dyn FileLayer, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let exists = |path: &Path| path.as_os_str().is_empty() || path.exists();
    let missing: Vec<&Path> = folder.ancestors().take_while(|path| !exists(path)).collect();
    let mut named = vec![folder.to_owned()];
    for path in missing.into_iter().rev() {
        match files.create_folder(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(StoreError::io("create", path)(error));
            }
            _ => {}
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        named.push(parent.unwrap_or(Path::new(".")).to_owned());
    }
    Ok(named)
}
