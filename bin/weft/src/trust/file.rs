//! The file that holds what the user trusts.
//!
//! It is replaced as a whole, under a lock beside it, so that of several writers none loses what another said and a
//! reader never sees a half of it. What cannot be read is never overwritten.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Powers;
use crate::own_file;

/// What the user said of each project, by its folder.
pub(super) type Projects = BTreeMap<String, Trusted>;

/// What the user trusts of one project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trusted {
    settings: Vec<String>,
}

impl Trusted {
    pub(super) fn new(powers: &Powers) -> Self {
        Self {
            settings: powers.lines().map(str::to_owned).collect(),
        }
    }

    pub(super) fn powers(&self) -> Powers {
        self.settings.iter().cloned().collect()
    }
}

/// The whole file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    projects: Projects,
}

const VERSION: u32 = 1;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Why it cannot be told or changed what the user trusts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrustError {
    /// The disk failed.
    #[error("failed to {attempt} {path}: {source}")]
    Io {
        attempt: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The file is not what weft writes. It is left as it is.
    #[error("failed to read {path}: {reason}\nhint: mend it or move it away; without it no project is trusted")]
    Damaged { path: PathBuf, reason: String },
    /// An agent's program says yes in the user's name.
    #[error(
        "failed to trust the project: this runs for an agent ({sign}), and only you can say yes\n\
         hint: run it in a terminal of your own, or type /trust in the conversation"
    )]
    NotTheUser { sign: String },
    /// The project's folder cannot be written down.
    #[error("failed to name the folder {}: its path is not UTF-8; rename it to trust what is in it", path.display())]
    NotText { path: PathBuf },
}

/// Reads the file; an absent one says nothing.
pub(super) fn read(path: &Path) -> Result<Projects, TrustError> {
    let io_error = |source| TrustError::Io {
        attempt: "read",
        path: path.to_owned(),
        source,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Projects::new()),
        Err(error) => return Err(io_error(error)),
    };
    let damaged = |reason: String| TrustError::Damaged {
        path: path.to_owned(),
        reason,
    };
    if others_can_write(&file).map_err(io_error)? {
        return Err(damaged(
            "others than you can write it, so it is not believed (expected mode 600)".to_owned(),
        ));
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(io_error)?;
    let document: Document = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    if document.version != VERSION {
        return Err(damaged(format!(
            "it has version {}, expected {VERSION}; another weft wrote it",
            document.version
        )));
    }
    Ok(document.projects)
}

/// Whether anybody but the user could have put into the file what it says.
#[cfg(unix)]
fn others_can_write(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let found = file.metadata()?;
    let owner = found.uid();
    let is_mine = owner == rustix::process::geteuid().as_raw() || owner == 0;
    Ok(!is_mine || found.mode() & 0o022 != 0)
}

#[cfg(not(unix))]
fn others_can_write(_file: &File) -> io::Result<bool> {
    Ok(false)
}

/// Reads the file, changes what it says and puts it back as a whole, one process after the other.
pub(super) fn change(path: &Path, change: impl FnOnce(&mut Projects)) -> Result<(), TrustError> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let failed = |attempt, path: &Path| {
        let path = path.to_owned();
        move |source| TrustError::Io { attempt, path, source }
    };
    fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
    let lock_path = path.with_extension("lock");
    let lock = own_file::lock_file(path).map_err(failed("open", &lock_path))?;
    lock.lock().map_err(failed("lock", &lock_path))?;
    let mut projects = read(path)?;
    change(&mut projects);
    let document = Document {
        version: VERSION,
        projects,
    };
    let mut text = serde_json::to_vec_pretty(&document).map_err(|error| failed("write", path)(error.into()))?;
    text.push(b'\n');
    own_file::replace(path, &text).map_err(failed("write", path))
}
