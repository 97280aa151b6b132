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
    if log.exists() {
        return Err(StoreError::Exists {
            session: session.clone(),
        });
    }
    let folders = create_folders(files, &paths.folder)?;
    let lock = SessionLock::take(files, paths, session, &store.options().program)?;
    let written = files
        .create(&log)
        .map_err(StoreError::io("create", &log))
        .and_then(|file| {
            let written = files.write(&file, lines).map_err(StoreError::io("write", &log));
            written.map(|()| file)
        });
    match written {
        Ok(file) => Ok(Birth { file, lock, folders }),
        Err(error) => {
            undo(paths);
            Err(error)
        }
    }
}

/// Removes what was made under the lock that is held, and the folder if nothing else is in it.
fn undo(paths: &SessionPaths) {
    let removed = fs::remove_file(paths.log())
        .and_then(|()| fs::remove_file(paths.lock()))
        .and_then(|()| fs::remove_dir(&paths.folder));
    if let Err(error) = removed {
        tracing::warn!(folder = %paths.folder.display(), %error, "a session that could not be made left something behind");
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
