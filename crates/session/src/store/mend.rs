//! Making a log that was read to its end fit to be appended to.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_types::SessionHeader;

use super::file_log::{FileLog, OpenLog};
use super::layout::SessionPaths;
use super::lock::SessionLock;
use super::marks::Marks;
use super::rewrite::rewrite;
use super::scan::{Ending, LogScan, Torn};
use super::sync::SyncedFile;
use super::{FileLayer, FileStore, Note, StoreError};

/// What stands between a log and its next event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mend {
    /// Torn lines in its middle.
    debris: u64,
    /// Its version.
    version: u32,
    /// What it ends in that is no whole line.
    torn: Option<Torn>,
    /// Its last line lacks the line feed.
    unterminated: bool,
}

impl Mend {
    /// That of a log whose end was reached.
    pub(crate) fn of(scan: &LogScan) -> Self {
        let ending = scan.ending();
        Self {
            debris: scan.debris(),
            version: scan.version(),
            torn: match ending {
                Ending::Torn(torn, _) => Some(*torn),
                _ => None,
            },
            unterminated: matches!(ending, Ending::Unterminated(_)),
        }
    }

    /// Mends a log. What was done is added to `notes`, and `marks` follow it.
    ///
    /// # Errors
    /// The disk fails. What was done by then stays, and the log is as sound as it was.
    pub(crate) fn apply(
        self,
        store: &FileStore,
        (header, paths): (&SessionHeader, &SessionPaths),
        lock: SessionLock,
        (marks, notes): (&mut Marks, &mut Vec<Note>),
    ) -> Result<FileLog, StoreError> {
        let files = &store.options().files;
        let log = paths.log();
        store
            .syncer()
            .start()
            .map_err(StoreError::io("start the thread that syncs", &log))?;
        let kept_as = self.rewrites().then(|| self.kept_as(paths));
        if let Some(kept_as) = &kept_as {
            *marks = rewrite(store, header, paths, marks, kept_as)?;
        }
        let file = files
            .open_to_append(&log)
            .map_err(StoreError::io("open for writing", &log))?;
        if kept_as.is_none() {
            self.mend_end(&**files, (&file, &log), marks)?;
        }
        notes.extend(self.notes(kept_as.as_deref()));
        let file = Arc::new(SyncedFile::new(Arc::clone(files), file, vec![paths.folder.clone()]));
        if kept_as.is_some() || self.torn.is_some() || self.unterminated {
            store.syncer().appended(&file);
        }
        let open = OpenLog::new(file, lock).map_err(StoreError::io("look at", &log))?;
        Ok(FileLog::open(store, header.clone(), paths.clone(), open, marks.clone()))
    }

    fn is_older(self) -> bool {
        self.version < SessionHeader::VERSION
    }

    /// Whether the log is written anew, and kept as it was: for more than a crash explains. What is only cut off was never
    /// written to its end, so that nobody was told it was.
    fn rewrites(self) -> bool {
        self.debris > 0 || self.is_older() || self.torn.is_some_and(|torn| torn.ended)
    }

    fn mend_end(self, files: &dyn FileLayer, (file, log): (&File, &Path), marks: &mut Marks) -> Result<(), StoreError> {
        if let Some(torn) = self.torn {
            let cut = file.metadata().and_then(|now| {
                if now.len() != torn.offset + torn.bytes {
                    return Err(io::Error::other("another program has written to it meanwhile"));
                }
                files.truncate(file, torn.offset)
            });
            cut.map_err(StoreError::io("cut the torn end off", log))?;
        } else if self.unterminated {
            files.write(file, b"\n").map_err(StoreError::io("write", log))?;
            marks.end_line();
        }
        Ok(())
    }

    fn notes(self, kept_as: Option<&Path>) -> impl Iterator<Item = Note> {
        let kept = || kept_as.unwrap_or(Path::new("")).to_owned();
        let migrated = self.is_older().then(|| Note::Migrated {
            from: self.version,
            kept_as: kept(),
        });
        let debris = (self.debris > 0).then(|| Note::Debris {
            lines: self.debris,
            kept_as: kept(),
        });
        let torn = self.torn.map(|torn| Note::TornTail {
            offset: torn.offset,
            bytes: torn.bytes,
            kept_as: kept_as.map(Path::to_owned),
        });
        [migrated, debris, torn].into_iter().flatten()
    }

    /// Where the log as it is stays when it is replaced: a name that nothing has yet.
    fn kept_as(self, paths: &SessionPaths) -> PathBuf {
        let version = self.version;
        let name = |number: u64| match (self.is_older(), number) {
            (true, 1) => format!("log.v{version}"),
            (true, _) => format!("log.v{version}-{number}"),
            (false, _) => format!("log.damaged-{number}"),
        };
        let mut free = (1..)
            .map(|number| paths.folder.join(name(number)))
            .filter(|path| !path.exists());
        free.next().expect("the numbers do not end")
    }
}
