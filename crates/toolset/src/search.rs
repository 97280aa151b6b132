//! What `glob` and `grep` share: which files there are below a folder, and how they are named.
//!
//! Files that `.gitignore` and its kin name are left out, whether or not there is a repository, and so is
//! `.git`. Hidden files are left out unless the pattern for names says a name that begins with a dot. No link
//! is followed. Several threads look; what they find is put in the order of the paths.

mod config;
mod names;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;
use weft_tools::{ErrorCode, ToolError};

pub use self::config::SearchConfig;
pub(crate) use self::names::Names;
use crate::files::{Folders, Found, Place, describe_missing, find};

/// The most threads of one search.
const MAX_THREADS: usize = 4;

/// A pattern for the names of files.
#[derive(Clone, Debug)]
pub(crate) struct NamePattern {
    matcher: GlobMatcher,
    /// Without a slash it is about the name alone, at any depth.
    is_of_name: bool,
    /// It says a name that begins with a dot.
    wants_hidden: bool,
}

impl NamePattern {
    pub(crate) fn new(pattern: &str) -> Result<Self, ToolError> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let mut parts = pattern.split('/');
        if pattern.starts_with('/') || parts.any(|part| part == "..") {
            return Err(ToolError::new(format!(
                "the pattern {pattern} must be relative and stay below the folder that path names; put the folder \
                 into path"
            )));
        }
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob = glob.map_err(|error| ToolError::new(format!("the pattern for names cannot be used: {error}")))?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            is_of_name: !pattern.contains('/'),
            wants_hidden: pattern.starts_with('.') || pattern.contains("/.") || pattern.contains("{."),
        })
    }

    /// Whether a file, by its path below the folder, is meant.
    fn is_match(&self, path: &Path) -> bool {
        let name = if self.is_of_name { path.file_name() } else { None };
        self.matcher.is_match(name.map_or(path, Path::new))
    }
}

/// A search that is under way.
pub(crate) struct Search<'a> {
    /// The folder or file to look in.
    pub(crate) root: &'a Place,
    pub(crate) names: Option<&'a NamePattern>,
    pub(crate) stop: &'a CancellationToken,
    deadline: Instant,
    is_late: AtomicBool,
    unreadable: AtomicUsize,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        root: &'a Place,
        names: Option<&'a NamePattern>,
        config: &SearchConfig,
        stop: &'a CancellationToken,
    ) -> Self {
        Self {
            root,
            names,
            stop,
            deadline: Instant::now() + config.time,
            is_late: AtomicBool::new(false),
            unreadable: AtomicUsize::new(0),
        }
    }

    /// Shows every file to one of the visitors, of which each thread has its own, in no order.
    pub(crate) fn walk<V: FnMut(&Path) + Send>(&self, visitor: impl Fn() -> V) {
        let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS));
        let hidden = !self.names.is_some_and(|names| names.wants_hidden);
        WalkBuilder::new(&self.root.real)
            .hidden(hidden)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != OsStr::new(".git"))
            .threads(threads)
            .build_parallel()
            .run(|| {
                let mut visit = visitor();
                Box::new(move |entry| {
                    if !self.goes_on() {
                        return WalkState::Quit;
                    }
                    match entry {
                        Ok(entry) => self.show(&entry, &mut visit),
                        Err(_) => self.tell_unreadable(),
                    }
                    WalkState::Continue
                })
            });
    }

    fn show(&self, entry: &DirEntry, visit: &mut impl FnMut(&Path)) {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let path = entry.path();
        let below = path.strip_prefix(&self.root.real).unwrap_or(path);
        // The root itself, if it is a file, is meant whatever it is called.
        let is_meant = below.as_os_str().is_empty() || self.names.is_none_or(|names| names.is_match(below));
        if is_file && is_meant {
            visit(path);
        }
    }

    /// Whether there is still time, and somebody to look for.
    pub(crate) fn goes_on(&self) -> bool {
        if Instant::now() >= self.deadline {
            self.is_late.store(true, Ordering::Relaxed);
        }
        !self.stop.is_cancelled() && !self.is_late.load(Ordering::Relaxed)
    }

    /// Something could not be looked into.
    pub(crate) fn tell_unreadable(&self) {
        self.unreadable.fetch_add(1, Ordering::Relaxed);
    }

    /// What is to be said of how it went; an error if it was cancelled.
    pub(crate) fn end(&self, config: &SearchConfig) -> Result<Vec<String>, ToolError> {
        if self.stop.is_cancelled() {
            return Err(ToolError::with_code(ErrorCode::Aborted, "the search was cancelled"));
        }
        let mut notes = Vec::new();
        if self.is_late.load(Ordering::Relaxed) {
            notes.push(format!(
                "the search was ended after {} ms (search.time), so there may be more; look in a smaller folder",
                config.time.as_millis()
            ));
        }
        match self.unreadable.load(Ordering::Relaxed) {
            0 => {}
            1 => notes.push("1 file or folder could not be read".to_owned()),
            count => notes.push(format!("{count} files or folders could not be read")),
        }
        Ok(notes)
    }
}

/// The place to look in, if there is something to look at.
pub(crate) fn root_of(folders: &Folders, path: &str) -> Result<(Place, Found), ToolError> {
    let place = Place::to_read(folders, path)?;
    match find(&place)? {
        Found::Missing => Err(describe_missing(&place, &folders.session)),
        found => Ok((place, found)),
    }
}
