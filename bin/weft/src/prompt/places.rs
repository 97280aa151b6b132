//! The folders that a session's instructions and skills lie in, and reading files there.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Where a session looks for what it is told.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The user's own folder of settings, if there is one.
    pub(crate) home: Option<PathBuf>,
    /// The folder that the session works in, without links if they can be followed.
    pub(crate) cwd: PathBuf,
    /// The root of the repository that it lies in: the nearest folder with a `.git`.
    pub(crate) repository: Option<PathBuf>,
}

impl Places {
    pub(crate) fn find(home: &Path, cwd: &Path) -> Self {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let repository = cwd.ancestors().find(|folder| folder.join(".git").exists());
        Self {
            home: (!home.as_os_str().is_empty()).then(|| home.to_owned()),
            repository: repository.map(Path::to_owned),
            cwd,
        }
    }

    /// The outermost folder of the project.
    pub(crate) fn root(&self) -> &Path {
        self.repository.as_deref().unwrap_or(&self.cwd)
    }

    /// The project's folders, from its root down to the working folder.
    pub(crate) fn chain(&self) -> Vec<PathBuf> {
        folders_between(self.root(), &self.cwd)
    }
}

/// The folders from `root` down to `folder`, both included.
pub(crate) fn folders_between(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let inside = folder.ancestors().take_while(|ancestor| ancestor.starts_with(root));
    let mut folders: Vec<PathBuf> = inside.map(Path::to_owned).collect();
    folders.reverse();
    folders
}

/// What came of reading a file.
pub(crate) enum FileText {
    /// There is none.
    Absent,
    /// Its text, at most so many bytes of it, and how many bytes are missing. What is no UTF-8 is replaced.
    Text(String, u64),
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// Reads the first `bytes` bytes of a file. Where it must lie within a folder, links may not lead out of it. A project
/// may hold anything under a name: a device would never end, a pipe be waited for.
pub(crate) fn read_text(path: &Path, within: Option<&Path>, bytes: usize) -> FileText {
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileText::Absent,
        _ => FileText::Unreadable(error.to_string()),
    };
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) => return told(error),
    };
    if within.is_some_and(|folder| !real.starts_with(folder)) {
        return FileText::Unreadable(format!("it is a link to {}, outside the project", real.display()));
    }
    let size = match fs::metadata(&real) {
        Ok(found) if found.is_file() => found.len(),
        Ok(_) => return FileText::Unreadable("it is not a file".to_owned()),
        Err(error) => return told(error),
    };
    let mut read = Vec::new();
    let reading = File::open(&real).and_then(|file| file.take(bytes as u64).read_to_end(&mut read));
    match reading {
        Err(error) => told(error),
        Ok(_) => {
            let missing = size.saturating_sub(read.len() as u64);
            if missing > 0 {
                cut_half_character(&mut read);
            }
            FileText::Text(String::from_utf8_lossy(&read).into_owned(), missing)
        }
    }
}

/// Takes the beginning of a character off the end.
fn cut_half_character(bytes: &mut Vec<u8>) {
    if let Err(error) = std::str::from_utf8(bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
}
