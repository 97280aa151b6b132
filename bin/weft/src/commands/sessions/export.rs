//! `weft sessions export`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;
use weft_session::{FileStore, StoreError};
use weft_types::SessionId;

use super::resolve;
use crate::args::ExportArgs;

/// Writes one session to stdout or to a file.
pub(super) fn run(store: &FileStore, args: &ExportArgs, json: bool) -> anyhow::Result<()> {
    let id = resolve::session(&super::all(store)?, &args.id)?;
    let Some(path) = &args.output else {
        return to_stdout(store, &id);
    };
    to_file(store, &id, path)?;
    if json {
        writeln!(io::stdout(), "{}", json!({"id": id, "output": path}))?;
    }
    Ok(())
}

/// Of a damaged log, what is sound is written before the command fails.
fn to_stdout(store: &FileStore, id: &SessionId) -> anyhow::Result<()> {
    export(store, id, io::stdout().lock()).map_err(|error| match error.downcast_ref() {
        Some(StoreError::Damaged { .. }) => anyhow::anyhow!(
            "{error}; what stands before that was written\nhint: to go on from there, weft sessions delete {id} and import \
             what was written"
        ),
        _ => error,
    })
}

/// The file comes to be, or is replaced, once everything is in it. A device or a pipe is written to instead: to replace
/// one would be to destroy it.
fn to_file(store: &FileStore, id: &SessionId, path: &Path) -> anyhow::Result<()> {
    let attempt = || format!("failed to write {}", path.display());
    if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        let out = File::options().write(true).open(path).with_context(attempt)?;
        return export(store, id, out);
    }
    // Behind a link is the file that is meant.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let file = tempfile::NamedTempFile::new_in(folder).map_err(bare);
    let mut file = file.with_context(attempt)?;
    export(store, id, &mut file).map_err(|error| match error.downcast_ref() {
        Some(StoreError::Damaged { .. }) => anyhow::anyhow!(
            "{error}; nothing was written to {}\nhint: weft sessions export {id} > sound.jsonl saves what stands before that",
            path.display()
        ),
        _ => error,
    })?;
    file.persist(path).map_err(|error| error.error).with_context(attempt)?;
    Ok(())
}

fn export(store: &FileStore, id: &SessionId, out: impl Write) -> anyhow::Result<()> {
    let mut out = Watched {
        out: BufWriter::new(out),
        failure: None,
    };
    let exported = store.export(id, &mut out);
    let flushed = out.flush();
    // That the reader of our output is gone, or its disk full, says more than what became of it in the store.
    match out.failure {
        Some(error) => Err(error).context(format!("failed to write session {id}")),
        None => Ok(exported.map(|()| flushed)??),
    }
}

/// Without the name of a temporary file, which nobody knows.
fn bare(error: io::Error) -> io::Error {
    match error.get_ref() {
        Some(_) => error.kind().into(),
        None => error,
    }
}

/// Keeps the reason why writing failed.
struct Watched<W> {
    out: W,
    failure: Option<io::Error>,
}

impl<W> Watched<W> {
    fn watch<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let kind = error.kind();
            self.failure.get_or_insert(bare(error));
            kind.into()
        })
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.watch(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.watch(flushed)
    }
}
