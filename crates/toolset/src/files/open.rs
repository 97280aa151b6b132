//! Opening what a place holds, without following links and without ever waiting.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use weft_tools::ToolError;

use super::Place;
use super::text::HEAD_BYTES;

/// How a file is opened: no link is followed, and neither opening nor reading waits for anybody.
const TO_READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// What a place holds.
#[derive(Debug)]
pub(crate) enum Found {
    /// A file.
    File(Opened),
    /// A folder.
    Folder,
    /// Nothing.
    Missing,
}

/// A file, open for reading.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The file; reading it never waits for another process.
    pub(crate) file: File,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// What it was when it was opened.
    pub(crate) stat: Stat,
}

impl Opened {
    /// The whole file, or `None` if it has more than `most` bytes.
    pub(crate) fn bytes(&mut self, place: &Place, most: usize) -> Result<Option<Vec<u8>>, ToolError> {
        let most = most as u64;
        if self.size > most {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        // A file may grow while it is read.
        let read = (&mut self.file).take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| failed("read", place, &error))?;
        Ok((bytes.len() as u64 <= most).then_some(bytes))
    }
}

/// What is at the place. Devices, pipes and sockets are refused unopened.
pub(crate) fn find(place: &Place) -> Result<Found, ToolError> {
    let (folder, name) = match spot(place, false) {
        Ok(Some(spot)) => spot,
        Ok(None) => return Ok(Found::Folder),
        Err(Errno::NOENT) => return Ok(Found::Missing),
        Err(error) => return Err(failed("open", place, &error.into())),
    };
    let stat = match rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(Found::Missing),
        Err(error) => return Err(failed("open", place, &error.into())),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Ok(Found::Folder),
        other => {
            return Err(ToolError::new(format!(
                "{} is {}, not a file",
                place.shown,
                kind(other)
            )));
        }
    }
    let opened = rustix::fs::openat(&folder, &name, TO_READ, Mode::empty());
    let file = opened.map_err(|error| failed("open", place, &error.into()))?;
    let stat = rustix::fs::fstat(&file).map_err(|error| failed("open", place, &error.into()))?;
    // It may have been replaced since it was looked at.
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(ToolError::new(format!(
            "{} was replaced while it was opened",
            place.shown
        )));
    }
    if is_of_the_kernel(&file) {
        let message = format!(
            "{} is a view of the kernel's, not a file; use a shell command",
            place.shown
        );
        return Err(ToolError::new(message));
    }
    Ok(Found::File(Opened {
        file: file.into(),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        stat,
    }))
}

/// A file by its path without links: an error if there are any by now, or it is no regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let file: File = open_without_links(path)?.into();
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

#[cfg(target_os = "linux")]
fn open_without_links(path: &Path) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    match openat2(CWD, path, TO_READ, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // An old kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(CWD, path, TO_READ, Mode::empty()),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(CWD, path, TO_READ, Mode::empty())
}

/// The first bytes of a file, which is left where it was.
pub(crate) fn head_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    (&mut *file).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head)
}

/// The place's folder and its name in it; nothing for the root. No link is followed on the way. Folders
/// that do not exist are made if `make` says so.
pub(super) fn spot(place: &Place, make: bool) -> rustix::io::Result<Option<(OwnedFd, OsString)>> {
    let (Some(parent), Some(name)) = (place.real.parent(), place.real.file_name()) else {
        return Ok(None);
    };
    Ok(Some((walk(parent, make)?, name.to_owned())))
}

fn walk(path: &Path, make: bool) -> rustix::io::Result<OwnedFd> {
    let mut folder = step(CWD, OsStr::new("/"))?;
    for part in path.components() {
        let Component::Normal(name) = part else { continue };
        folder = match step(&folder, name) {
            Err(Errno::NOENT) if make => match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => step(&folder, name)?,
                Err(error) => return Err(error),
            },
            next => next?,
        };
    }
    Ok(folder)
}

fn step(folder: impl std::os::fd::AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    // Where the system has it: a folder need not be readable to be passed through.
    #[cfg(target_os = "linux")]
    let access = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let access = OFlags::RDONLY;
    let flags = access | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// The names in a folder, sorted, folders with a `/` behind them; at most `most`, and whether there are more.
pub(crate) fn names_in(folder: &Path, most: usize) -> io::Result<(Vec<String>, bool)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
    let mut names = Vec::new();
    // A folder may hold more than anybody wants to see sorted.
    for entry in Dir::read_from(&folder)?.take(100_000) {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy();
        if name != "." && name != ".." {
            let end = if entry.file_type() == FileType::Directory {
                "/"
            } else {
                ""
            };
            names.push(format!("{name}{end}"));
        }
    }
    names.sort_unstable();
    let more = names.len() > most;
    names.truncate(most);
    Ok((names, more))
}

/// An error that says what was attempted, on what, and why it failed.
pub(super) fn failed(verb: &str, place: &Place, error: &io::Error) -> ToolError {
    let why = match error.kind() {
        io::ErrorKind::NotADirectory => "a part of the path is no folder, or became a link".to_owned(),
        _ => error.to_string(),
    };
    ToolError::new(format!("failed to {verb} {}: {why}", place.shown))
}

fn kind(file_type: FileType) -> &'static str {
    match file_type {
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Symlink => "a link that was made meanwhile",
        _ => "something else",
    }
}

/// Files of procfs claim to be regular, and reading some of them waits for events.
#[cfg(target_os = "linux")]
fn is_of_the_kernel(file: &OwnedFd) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_of_the_kernel(_file: &OwnedFd) -> bool {
    false
}
