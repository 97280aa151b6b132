//! Replacing a log by its rewritten self, in one step.

use std::fs;
use std::io;
use std::path::Path;

use weft_types::SessionHeader;

use super::layout::SessionPaths;
use super::lines::Place;
use super::marks::Marks;
use super::pages::{self, Keep, Window};
use super::{FileStore, StoreError, line};

/// How much is written at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Writes the sound events of a log anew and puts them in the place of the log, which stays as `kept`. Gives where the
/// events are now.
///
/// Whenever it dies, the log is the old one or the new one. The caller holds the session's lock, and syncs the folder.
///
/// # Errors
/// The disk fails, or an event would be longer than is read again; the log is as it was.
pub(crate) fn rewrite(
    store: &FileStore,
    header: &SessionHeader,
    paths: &SessionPaths,
    marks: &Marks,
    kept: &Path,
) -> Result<Marks, StoreError> {
    let files = &*store.options().files;
    let (log, new) = (paths.log(), paths.folder.join("log.rewrite"));
    let replaced = write_anew(store, header, (&log, &new), marks).and_then(|marks| {
        files.link(&log, kept).map_err(StoreError::io("keep", kept))?;
        files.rename(&new, &log).map_err(StoreError::io("replace", &log))?;
        Ok(marks)
    });
    if replaced.is_err() {
        // A leftover is overwritten by the next attempt.
        drop(fs::remove_file(&new));
    }
    replaced
}

fn write_anew(
    store: &FileStore,
    header: &SessionHeader,
    (log, new): (&Path, &Path),
    marks: &Marks,
) -> Result<Marks, StoreError> {
    let (files, limit) = (&*store.options().files, store.options().max_line_bytes);
    let failed = |error| StoreError::io("write", new)(error);
    if new.exists() {
        fs::remove_file(new).map_err(StoreError::io("remove", new))?;
    }
    let file = files.create(new).map_err(StoreError::io("create", new))?;
    let mut text = Vec::new();
    line::write(&mut text, header).map_err(failed)?;
    let mut written = Marks::new(Place {
        offset: text.len() as u64,
        line: 2,
    });
    while written.count() < marks.count() {
        let from = written.count();
        let window = Window {
            mark: marks.before(from),
            from,
            to: marks.count().min(from + 1024),
        };
        for event in pages::read(store, (&header.id, log), window, Keep::First)? {
            let begin = text.len();
            line::write(&mut text, &*event).map_err(failed)?;
            let bytes = text.len() - begin;
            // The line feed does not count.
            if bytes - 1 > limit {
                let seq = event.seq;
                let why = format!("with its checksum event {seq} is longer than max_line_bytes, {limit}");
                return Err(failed(io::Error::new(io::ErrorKind::InvalidData, why)));
            }
            written.push_bytes(bytes);
        }
        if text.len() >= CHUNK_BYTES {
            files.write(&file, &text).map_err(failed)?;
            text.clear();
        }
    }
    files.write(&file, &text).map_err(failed)?;
    files.sync(&file).map_err(StoreError::io("sync", new))?;
    Ok(written)
}
