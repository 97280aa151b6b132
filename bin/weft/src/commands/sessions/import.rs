//! `weft sessions import`.

use std::fs::File;
use std::io::{self, BufReader, Write as _};

use anyhow::Context as _;
use serde_json::json;
use weft_session::FileStore;

use crate::args::ImportArgs;

/// Takes one session in and prints its id.
pub(super) fn run(store: &FileStore, args: &ImportArgs, json: bool) -> anyhow::Result<()> {
    let id = if args.file.as_os_str() == "-" {
        store.import(io::stdin().lock())?
    } else {
        let file = File::open(&args.file).with_context(|| format!("failed to open {}", args.file.display()))?;
        store.import(BufReader::new(file))?
    };
    let mut out = io::stdout();
    if json {
        writeln!(out, "{}", json!({"id": id}))?;
    } else {
        writeln!(out, "{id}")?;
    }
    Ok(())
}
