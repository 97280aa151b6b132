//! Small files of weft's own that several processes read and change.
//!
//! A reader never sees half of one, since each is only ever replaced as a whole; of several writers none loses what
//! another wrote, if each holds the file's lock from reading to replacing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Opens the lock beside a file, `NAME.lock`, which only its owner may touch. The kernel gives back a lock on it when the
/// file is closed, however that comes about.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path.with_extension("lock"))
}

/// Puts a file that its owner alone may read in the place of the one that is there. It is not synced: a power failure
/// may lose it, and what is in such files can be asked again.
pub(crate) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // A temporary file is the user's alone.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text)?;
    file.persist(path)?;
    Ok(())
}
