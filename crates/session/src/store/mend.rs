//! Making a log that was read to its end fit to be appended to.

use std::path::PathBuf;
use std::sync::Arc;

use weft_types::SessionHeader;

use super::file_log::{FileLog, OpenLog};
use super::layout::SessionPaths;
use super::lock::SessionLock;
use super::marks::Marks;
use super::rewrite::rewrite;
use super::scan::{Ending, LogScan};
use super::sync::SyncedFile;
use super::{FileStore, Note, StoreError};

/// What stands between a log and its next event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mend {
    /// Torn lines in its middle.
    debris: u64,
    /// Its version.
    version: u32,
    /// Where part of a line is at its end, and how much of it.
    torn: Option<(u64, u64)>,
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
            torn: match *ending {
                Ending::Torn { offset, bytes } => Some((offset, bytes)),
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
        let rewritten = self.debris > 0 || self.is_older();
        if rewritten {
            let kept_as = self.kept_as(paths);
            *marks = rewrite(store, header, paths, marks, &kept_as)?;
            if self.is_older() {
                notes.push(Note::Migrated {
                    from: self.version,
                    kept_as: kept_as.clone(),
                });
            }
            if self.debris > 0 {
                notes.push(Note::Debris {
                    lines: self.debris,
                    kept_as,
                });
            }
        }
        let file = files
            .open_to_append(&log)
            .map_err(StoreError::io("open for writing", &log))?;
        if let Some((offset, bytes)) = self.torn {
            if !rewritten {
                files
                    .truncate(&file, offset)
                    .map_err(StoreError::io("cut the torn end off", &log))?;
            }
            notes.push(Note::TornTail { offset, bytes });
        } else if self.unterminated && !rewritten {
            files.write(&file, b"\n").map_err(StoreError::io("write", &log))?;
            marks.end_line();
        }
        let file = Arc::new(SyncedFile::new(Arc::clone(files), file, vec![paths.folder.clone()]));
        if rewritten || self.torn.is_some() || self.unterminated {
            store.syncer().appended(&file);
        }
        Ok(FileLog::open(
            store,
            header.clone(),
            paths.clone(),
            OpenLog { file, _lock: lock },
            marks.clone(),
        ))
    }

    fn is_older(self) -> bool {
        self.version < SessionHeader::VERSION
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
