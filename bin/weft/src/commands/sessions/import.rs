//! `weft sessions import`.

use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;
use weft_session::FileStore;
use weft_types::SessionId;

use crate::args::ImportArgs;
use crate::terminal::one_line;

/// Takes one session in and prints its id.
pub(super) fn run(store: &FileStore, args: &ImportArgs, json: bool) -> anyhow::Result<()> {
    let cwd = args.cwd.as_deref().map(folder).transpose()?;
    let id = if args.file.as_os_str() == "-" {
        store.import_into(cwd.as_deref(), io::stdin().lock())?
    } else {
        let file = File::open(&args.file).with_context(|| format!("failed to open {}", args.file.display()))?;
        store.import_into(cwd.as_deref(), BufReader::new(file))?
    };
    warn_of_folder(store, &id);
    let mut out = io::stdout();
    if json {
        writeln!(out, "{}", json!({"id": id}))?;
    } else {
        writeln!(out, "{id}")?;
    }
    Ok(())
}

/// The folder as a header names it: absolute, and under the name that was typed, wherever links lead.
fn folder(given: &Path) -> anyhow::Result<String> {
    let attempt = || format!("failed to find out which folder --cwd {} means", given.display());
    let path = std::path::absolute(given).with_context(attempt)?;
    let text = path.to_str().context("its path is no UTF-8").with_context(attempt)?;
    Ok(text.to_owned())
}

/// A session can only be taken up where it works.
fn warn_of_folder(store: &FileStore, id: &SessionId) {
    let Ok(session) = store.read(id) else { return };
    let cwd = &session.header().cwd;
    if !Path::new(cwd).is_dir() {
        let _unread = writeln!(
            io::stderr(),
            "weft: session {id} works in {}, which is no folder here\n\
             hint: to move it, weft sessions delete {id}, then weft sessions import --cwd DIR",
            one_line(cwd)
        );
    }
}
