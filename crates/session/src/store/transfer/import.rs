//! Taking a log from elsewhere: it is set down in the session's own folder, judged as any log is, and written anew under
//! its name once it is found sound.

use std::fs::{self, File};
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weft_types::SessionId;

use crate::store::birth::create_folders;
use crate::store::error::clipped;
use crate::store::layout::SessionPaths;
use crate::store::lock::SessionLock;
use crate::store::scan::{Ending, LogScan, Torn};
use crate::store::{FileLayer, FileStore, StoreError, line};

/// How much is written at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// A session that is being imported. There is no log of its name yet, and nobody else can make one.
pub(super) struct Import<'a> {
    store: &'a FileStore,
    id: &'a SessionId,
    /// The folder that it works in from now on, if that is another.
    cwd: Option<&'a str>,
    paths: SessionPaths,
    /// The folders that name something new, to be synced.
    named: Vec<PathBuf>,
    made_root: bool,
    _lock: SessionLock,
}

fn refuse<T>(line: u64, reason: impl Into<String>) -> Result<T, StoreError> {
    let reason = reason.into();
    Err(StoreError::Import { line, reason })
}

/// Reads the first line and finds out whose header it is.
///
/// # Errors
/// It names no session that there can be.
pub(super) fn header(lines: &mut impl BufRead, store: &FileStore) -> Result<(SessionId, Vec<u8>), StoreError> {
    #[derive(Deserialize)]
    struct Named {
        id: SessionId,
    }
    let limit = store.options().max_line_bytes;
    let mut header = Vec::new();
    let read = lines.take(limit as u64 + 1).read_until(b'\n', &mut header);
    match read {
        Err(error) => return refuse(1, format!("it cannot be read: {error}")),
        Ok(0) => return refuse(1, "it is empty, expected a session header"),
        Ok(read) if read > limit && !header.ends_with(b"\n") => return refuse(1, too_long(limit)),
        Ok(_) => {}
    }
    let Named { id } = match serde_json::from_slice(&header) {
        Ok(named) => named,
        Err(error) => {
            return refuse(
                1,
                format!("it is no session header, so this is not what weft sessions export writes: {error}"),
            );
        }
    };
    match store.layout().session(&id) {
        Err(StoreError::NotFound { reason, .. }) => {
            refuse(1, format!("its id is {:?}: {reason}", clipped(id.as_str())))
        }
        Err(error) => Err(error),
        Ok(_) => Ok((id, header)),
    }
}

fn too_long(limit: usize) -> String {
    format!("it is longer than max_line_bytes, {limit}")
}

impl<'a> Import<'a> {
    /// Claims the session's folder.
    ///
    /// # Errors
    /// There is such a session already, or the disk fails.
    pub(super) fn begin(store: &'a FileStore, id: &'a SessionId, cwd: Option<&'a str>) -> Result<Self, StoreError> {
        let files = &*store.options().files;
        let paths = store.layout().session(id)?;
        let exists = || StoreError::Exists { session: id.clone() };
        if paths.log().exists() {
            return Err(exists());
        }
        let made_root = !store.root().exists();
        let give_up = |error| {
            // What is in them may be another's by now.
            remove_folders(&paths, made_root.then(|| store.root()));
            error
        };
        let mut named = create_folders(files, &paths.folder).map_err(give_up)?;
        // What a crash left of the folder may never have been synced.
        named.push(store.root().to_owned());
        let taken = SessionLock::take(files, &paths, id, &store.options().program);
        let lock = taken.map_err(|error| match error {
            // Whoever holds it is about to make the session.
            StoreError::InUse { .. } => exists(),
            error => give_up(error),
        })?;
        if paths.log().exists() {
            return Err(exists());
        }
        Ok(Self {
            store,
            id,
            cwd,
            paths,
            named,
            made_root,
            _lock: lock,
        })
    }

    /// Takes the lines after `header`.
    ///
    /// # Errors
    /// They are no sound log, or the disk fails; [`undo`](Self::undo) it then.
    pub(super) fn run(&self, header: &[u8], lines: impl BufRead) -> Result<(), StoreError> {
        let files = &*self.store.options().files;
        let (raw, new, log) = (raw(&self.paths), new(&self.paths), self.paths.log());
        for left in [&raw, &new] {
            discard(left)?;
        }
        Output::create(self.store, &raw)?.copy(header, lines)?;
        self.write_anew(&raw, &new)?;
        discard(&raw)?;
        files.rename(&new, &log).map_err(StoreError::io("make", &log))?;
        let mut named = self.named.iter();
        named.try_for_each(|folder| files.sync_folder(folder).map_err(StoreError::io("sync", folder)))
    }

    /// Removes everything that was made, as far as the disk allows. The lock, which is held, goes last.
    pub(super) fn undo(&self) {
        let paths = &self.paths;
        for file in [raw(paths), new(paths), paths.log(), paths.lock()] {
            drop(fs::remove_file(file));
        }
        remove_folders(paths, self.made_root.then(|| self.store.root()));
    }

    fn write_anew(&self, raw: &Path, new: &Path) -> Result<(), StoreError> {
        let as_import = |line| move |error| as_import(error, line);
        let mut scan = LogScan::open_at(self.store, self.id, raw).map_err(as_import(1))?;
        let mut out = Output::create(self.store, new)?;
        let mut header = scan.header().clone();
        if let Some(cwd) = self.cwd {
            cwd.clone_into(&mut header.cwd);
        }
        if !Path::new(&header.cwd).is_absolute() {
            return refuse(
                1,
                format!("its cwd is {:?}, expected an absolute path", clipped(&header.cwd)),
            );
        }
        out.line(&header, 1)?;
        loop {
            let line = scan.marks().end().line;
            let Some(event) = scan.next().map_err(as_import(line))? else {
                break;
            };
            if scan.debris() > 0 {
                return refuse(line, TORN);
            }
            out.line(&*event, line)?;
        }
        let line = scan.marks().end().line;
        if let Some(event) = scan.accept_unterminated() {
            out.line(&*event, line)?;
        }
        match scan.ending() {
            Ending::Whole | Ending::Unterminated(_) | Ending::Torn(Torn { blank: true, .. }, _) => out.sync(),
            Ending::Torn(..) => refuse(scan.marks().end().line, TORN),
            Ending::Damaged(damage) => refuse(damage.line, damage.reason.clone()),
        }
    }
}

const TORN: &str = "it is only part of an event, or its checksum is wrong";

/// What is wrong with a log that is nowhere yet, so that its place says nothing.
fn as_import(error: StoreError, line: u64) -> StoreError {
    let reason = match error {
        StoreError::NotFound { reason, .. } => reason.to_owned(),
        StoreError::DamagedHeader { reason, .. } => format!("the header is damaged: {reason}"),
        StoreError::UnknownEvent { seq, kind, .. } => {
            format!(
                "event {seq} is of the unknown type {:?}; a later version may know it",
                clipped(&kind)
            )
        }
        StoreError::LongLine { limit, .. } => too_long(limit),
        error => return error,
    };
    StoreError::Import { line, reason }
}

/// What came, as it came.
fn raw(paths: &SessionPaths) -> PathBuf {
    paths.folder.join("import.raw")
}

/// What the log will be.
fn new(paths: &SessionPaths) -> PathBuf {
    paths.folder.join("import.new")
}

fn discard(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes folders if nothing is in them.
fn remove_folders(paths: &SessionPaths, root: Option<&Path>) {
    for folder in [Some(paths.folder.as_path()), root].into_iter().flatten() {
        drop(fs::remove_dir(folder));
    }
}

/// A file that is being written.
struct Output<'a> {
    files: &'a dyn FileLayer,
    path: &'a Path,
    file: File,
    text: Vec<u8>,
    max_line_bytes: usize,
}

impl<'a> Output<'a> {
    fn create(store: &'a FileStore, path: &'a Path) -> Result<Self, StoreError> {
        let options = store.options();
        let files = &*options.files;
        let file = files.create(path).map_err(StoreError::io("create", path))?;
        let text = Vec::new();
        Ok(Self {
            files,
            path,
            file,
            text,
            max_line_bytes: options.max_line_bytes,
        })
    }

    /// Writes what came in on line `at`, unless its checksum makes it longer than is read again.
    fn line(&mut self, value: &impl Serialize, at: u64) -> Result<(), StoreError> {
        let begin = self.text.len();
        line::write(&mut self.text, value).map_err(StoreError::io("write", self.path))?;
        // The line feed does not count.
        if self.text.len() - begin - 1 > self.max_line_bytes {
            return refuse(at, format!("with its checksum {}", too_long(self.max_line_bytes)));
        }
        if self.text.len() >= CHUNK_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.files
            .write(&self.file, &self.text)
            .map_err(StoreError::io("write", self.path))?;
        self.text.clear();
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.files.sync(&self.file).map_err(StoreError::io("sync", self.path))
    }

    /// Writes the first line and all that comes after it, as it is.
    fn copy(&mut self, first: &[u8], mut rest: impl BufRead) -> Result<(), StoreError> {
        let mut lines = 1;
        self.text.extend_from_slice(first);
        loop {
            let read = match rest.fill_buf() {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return refuse(lines + 1, format!("it cannot be read: {error}")),
            };
            if read.is_empty() {
                return self.flush();
            }
            lines += read.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.text.extend_from_slice(read);
            let read = read.len();
            rest.consume(read);
            if self.text.len() >= CHUNK_BYTES {
                self.flush()?;
            }
        }
    }
}
