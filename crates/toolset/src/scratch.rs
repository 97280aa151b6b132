//! A session's private folder for what is of no use after it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

/// The folder of one agent: made when it is first needed, for its owner alone, and removed with the agent's memory. Its
/// commands have it as `TMPDIR`, and output that is too long stands in it.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    folder: Mutex<Option<TempDir>>,
}

impl Scratch {
    /// The folder, without links.
    pub(crate) fn path(&self) -> std::io::Result<PathBuf> {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = folder.as_ref().filter(|folder| folder.path().is_dir()) {
            return Ok(folder.path().to_owned());
        }
        let root = std::env::temp_dir().canonicalize()?;
        let mine = Permissions::from_mode(0o700);
        let made = tempfile::Builder::new()
            .prefix("weft-")
            .permissions(mine)
            .tempdir_in(root)?;
        let path = made.path().to_owned();
        *folder = Some(made);
        Ok(path)
    }

    /// The folder, if it was needed before.
    pub(crate) fn made(&self) -> Option<PathBuf> {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        folder.as_ref().map(|folder| folder.path().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_its_owners_alone_and_goes_with_it() {
        let scratch = Scratch::default();
        assert_eq!(scratch.made(), None);
        let path = scratch.path().expect("it can be made");
        assert_eq!(scratch.path().expect("it is there"), path);
        let mode = std::fs::metadata(&path).expect("it exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(scratch.made().as_ref(), Some(&path));
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_somebody_removed_is_made_again() {
        let scratch = Scratch::default();
        let first = scratch.path().expect("it can be made");
        std::fs::remove_dir(&first).expect("removed");
        assert!(scratch.path().expect("it can be made").is_dir());
    }
}
