//! Putting new content in the place of a file, all at once.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, fchown};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Access, AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;
use weft_tools::ToolError;

use super::open::{failed, spot};
use super::{Place, check_cancel};

/// Held while a file is compared and replaced, so that of two calls in this process one sees the other.
static COMMIT: Mutex<()> = Mutex::new(());

/// Writes a file beside the place and renames it there: whoever reads meanwhile gets the old content or the
/// new, whole. `was` is the file that is expected there, none for a new one; if something else is found
/// there in the end, nothing is changed. Mode and, where the system lets it, owner are kept; the notes say
/// what could not be.
///
/// What was written is safe from the end of this process, not from a power failure.
pub(crate) fn replace(
    place: &Place,
    was: Option<&Stat>,
    bytes: &[u8],
    stop: &CancellationToken,
) -> Result<Vec<String>, ToolError> {
    let fail = |error: Errno| failed("write", place, &error.into());
    let (folder, name) = spot(place, true)
        .map_err(fail)?
        .ok_or_else(|| ToolError::new(format!("{} is a folder", place.shown)))?;
    if was.is_some() {
        rustix::fs::accessat(&folder, &name, Access::WRITE_OK, AtFlags::empty()).map_err(fail)?;
    }
    let mut notes = Vec::new();
    let mut draft = Draft::create(&folder, &name).map_err(fail)?;
    draft
        .fill(bytes, was, &mut notes)
        .map_err(|error| failed("write", place, &error))?;
    let _alone = COMMIT.lock().unwrap_or_else(PoisonError::into_inner);
    check_cancel(stop)?;
    let is = match rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Some(stat),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(fail(error)),
    };
    if is.as_ref().map(version) != was.map(version) {
        let message = format!(
            "{} was changed by somebody else in this very moment; read it again",
            place.shown
        );
        return Err(ToolError::new(message));
    }
    draft.rename_to(&name).map_err(fail)?;
    Ok(notes)
}

/// What differs between two states of a file, or between two files.
fn version(stat: &Stat) -> (u64, u64, i64, [i64; 4]) {
    // The types differ between systems.
    #[allow(clippy::unnecessary_cast)]
    let times = [
        stat.st_mtime as i64,
        stat.st_mtime_nsec as i64,
        stat.st_ctime as i64,
        stat.st_ctime_nsec as i64,
    ];
    #[allow(clippy::unnecessary_cast)]
    (stat.st_dev as u64, stat.st_ino as u64, stat.st_size as i64, times)
}

/// A file beside the one it will replace; gone when dropped before that.
struct Draft<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
    is_renamed: bool,
}

impl<'a> Draft<'a> {
    fn create(folder: &'a OwnedFd, name: &OsStr) -> Result<Self, Errno> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Beside a name of the greatest length a longer one is impossible.
        let stem: String = name.to_string_lossy().chars().take(40).collect();
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let draft = format!(".{stem}.weft-{}-{number}.tmp", std::process::id());
            match rustix::fs::openat(folder, &draft, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => {
                    return Ok(Self {
                        folder,
                        name: draft,
                        file: file.into(),
                        is_renamed: false,
                    });
                }
                // Left behind by a process of the same number.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn fill(&mut self, bytes: &[u8], was: Option<&Stat>, notes: &mut Vec<String>) -> io::Result<()> {
        let Some(was) = was else {
            return self.file.write_all(bytes);
        };
        // Nobody may read it who could not read the old one.
        self.file.set_permissions(Permissions::from_mode(0o600))?;
        self.file.write_all(bytes)?;
        let mut kept = was.st_mode & 0o7777;
        let own = rustix::fs::fstat(self.file.as_fd())?;
        let differs = (own.st_uid, own.st_gid) != (was.st_uid, was.st_gid);
        if differs && fchown(&self.file, Some(was.st_uid), Some(was.st_gid)).is_err() {
            kept &= 0o777;
            notes.push("its owner could not be kept".to_owned());
        }
        if was.st_nlink > 1 {
            notes.push("its other names (hard links) keep the old content".to_owned());
        }
        // After the owner, whose change takes bits away.
        self.file.set_permissions(Permissions::from_mode(kept))
    }

    fn rename_to(&mut self, name: &OsStr) -> Result<(), Errno> {
        rustix::fs::renameat(self.folder, &self.name, self.folder, name)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if self.is_renamed {
            return;
        }
        if let Err(error) = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty()) {
            tracing::warn!(name = %self.name, %error, "an unfinished file could not be removed");
        }
    }
}
