//! Where a path leads.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use weft_tools::ToolError;

use super::Folders;

/// How many links one path may lead through.
const MAX_LINKS: usize = 40;

/// A path of a call, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The path as the call has it, for texts.
    pub(crate) shown: String,
    /// The path without links, `.` and `..`. What it ends in need not exist.
    pub(crate) real: PathBuf,
}

impl Place {
    /// A place to read. One outside the session's folders must be named as such, since it is then that the user is
    /// asked; a link that leads there is refused.
    pub(crate) fn to_read(folders: &Folders, path: &str) -> Result<Self, ToolError> {
        let place = Self::resolve(folders, path)?;
        if folders.hold(&place.real) || folders.are_left_by(path) {
            return Ok(place);
        }
        Err(ToolError::new(format!(
            "{path} leads through a link to {}, outside the session's folder; to read that, name it itself, and the \
             user is asked",
            place.real.display()
        )))
    }

    /// A place to write, which is always in one of the session's folders, whatever the user was asked.
    pub(crate) fn to_write(folders: &Folders, path: &str) -> Result<Self, ToolError> {
        let place = Self::resolve(folders, path)?;
        if folders.hold(&place.real) {
            return Ok(place);
        }
        Err(ToolError::new(format!(
            "{path} is {}, outside the session's folder {} and its additional directories; files are changed only \
             within them",
            place.real.display(),
            folders.session.display()
        )))
    }

    fn resolve(folders: &Folders, path: &str) -> Result<Self, ToolError> {
        if path.contains('\0') {
            return Err(ToolError::new(format!(
                "{path:?} is no path: it contains a NUL character"
            )));
        }
        let real = without_links(&folders.session.join(path))
            .map_err(|error| ToolError::new(format!("failed to find out where {path} leads: {error}")))?;
        let shown = path.to_owned();
        Ok(Self { shown, real })
    }
}

/// Whether a path, by its wording alone, is outside the folder. The folder may be named with or without
/// the links that lead to it.
pub(super) fn leaves_folder(folder: &Path, path: &str) -> bool {
    let named = plain(&folder.join(path));
    let is_within = named.starts_with(plain(folder))
        || without_links(folder).is_ok_and(|workspace| plain(&workspace.join(path)).starts_with(&workspace));
    !is_within
}

/// The path without `.` and `..`, by its wording.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// An absolute path with every link followed, dangling ones too. From where nothing exists the rest is
/// taken by its wording.
pub(super) fn without_links(path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::from("/");
    let mut ahead: VecDeque<OsString> = parts(path);
    let mut links = 0;
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match std::fs::symlink_metadata(&next) {
            Ok(found) if found.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other(format!(
                        "it leads through more than {MAX_LINKS} links"
                    )));
                }
                let target = std::fs::read_link(&next)?;
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                for part in parts(&target).into_iter().rev() {
                    ahead.push_front(part);
                }
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => real = next,
        }
    }
    Ok(real)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let named = |part: Component<'_>| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        _ => None,
    };
    path.components().filter_map(named).collect()
}
