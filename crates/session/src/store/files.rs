//! What the store does to files.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// What the store does to files. Every method does the real thing unless it is replaced.
///
/// Everything made is private to the user where the platform knows what that means.
pub trait FileLayer: Send + Sync {
    /// Makes a folder whose parent exists.
    ///
    /// # Errors
    /// The platform's; [`io::ErrorKind::AlreadyExists`] if something is there.
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }

    /// Makes a file that does not exist, to be appended to, as with [`open_to_append`](Self::open_to_append).
    ///
    /// # Errors
    /// The platform's; [`io::ErrorKind::AlreadyExists`] if something is there.
    fn create(&self, path: &Path) -> io::Result<File> {
        private(appending(&mut OpenOptions::new()).create_new(true)).open(path)
    }

    /// Opens a file to append to it. Where the platform allows, what is written goes to the file's end as it is by then,
    /// so that nothing of another is ever overwritten.
    ///
    /// # Errors
    /// The platform's.
    fn open_to_append(&self, path: &Path) -> io::Result<File> {
        let mut file = appending(&mut OpenOptions::new()).open(path)?;
        file.seek(SeekFrom::End(0)).map(|_| file)
    }

    /// Opens a file to lock it and to write into it, making it if need be.
    ///
    /// # Errors
    /// The platform's; [`io::ErrorKind::InvalidInput`] if what is there is no regular file.
    fn open_to_lock(&self, path: &Path) -> io::Result<File> {
        match regular(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        private(OpenOptions::new().read(true).write(true).create(true).truncate(false)).open(path)
    }

    /// Opens a file to read it.
    ///
    /// # Errors
    /// The platform's; [`io::ErrorKind::InvalidInput`] if what is there is no regular file.
    fn open(&self, path: &Path) -> io::Result<File> {
        open_regular(path)
    }

    /// Reads on from where `file` stands; 0 at its end.
    ///
    /// # Errors
    /// The platform's.
    fn read(&self, mut file: &File, into: &mut [u8]) -> io::Result<usize> {
        file.read(into)
    }

    /// Appends all of `bytes`, with one system call if the platform takes them at once.
    ///
    /// # Errors
    /// The platform's; any part of the bytes may then be in the file.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Cuts a file down to `len` bytes, and has the next write go there.
    ///
    /// # Errors
    /// The platform's.
    fn truncate(&self, mut file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)?;
        file.seek(SeekFrom::Start(len)).map(drop)
    }

    /// Returns when what was written to a file would survive the death of the machine.
    ///
    /// # Errors
    /// The platform's; nobody knows then what of it would.
    #[expect(clippy::disallowed_methods, reason = "the store's files are synced here only")]
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Returns when the names in a folder would survive the death of the machine.
    ///
    /// # Errors
    /// The platform's.
    #[expect(clippy::disallowed_methods, reason = "the store's folders are synced here only")]
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        if cfg!(unix) {
            File::open(path)?.sync_all()
        } else {
            Ok(())
        }
    }

    /// Gives a file a second name that nothing has, or a copy of that name where a file has but one.
    ///
    /// # Errors
    /// The platform's.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
    }

    /// Gives a file another name, in one step, replacing what has that name.
    ///
    /// # Errors
    /// The platform's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }
}

/// The platform's own files.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl FileLayer for RealFiles {}

/// Opens a regular file to read it: to open a pipe would be to wait for somebody who writes into it.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    regular(path)?;
    File::open(path)
}

fn regular(path: &Path) -> io::Result<()> {
    if path.metadata()?.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
}

/// Elsewhere than on Unix what is open for nothing but appending cannot be cut off: there a file's position has to do.
fn appending(options: &mut OpenOptions) -> &mut OpenOptions {
    options.append(cfg!(unix)).write(true)
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// What tells a file from another that took its name; `None` where the platform has no such thing.
pub(crate) fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    let identity = {
        use std::os::unix::fs::MetadataExt;
        Some((metadata.dev(), metadata.ino()))
    };
    #[cfg(not(unix))]
    let identity = {
        let _ = metadata;
        None
    };
    identity
}
