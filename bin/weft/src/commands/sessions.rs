//! `weft sessions`: the store, from the shell.
//!
//! Data goes to stdout, everything else to stderr. Nothing here needs the store for itself: other processes may run
//! sessions meanwhile.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use weft_session::{Clock, FileStore, ListQuery, Opening, SessionRow, StoreError, SystemClock};
use weft_types::SessionId;

use crate::args::{SessionsArgs, SessionsCommand};
use crate::config::{Config, Home, Overrides};
use crate::{logging, store};

mod delete;
mod export;
mod import;
mod list;
mod resolve;
mod show;
mod verify;

/// Does what was asked for.
pub(crate) fn run(args: SessionsArgs) -> anyhow::Result<ExitCode> {
    let home = Home::find()?;
    logging::init(&home.config);
    let config = Config::load(&home.config, &Overrides::default())?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = store::open(&config, home.sessions, "weft sessions", Arc::clone(&clock))?;
    let json = args.json;
    let done = match args.command {
        SessionsCommand::List(args) => list::run(&store, &args, json, clock.now()).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Show(args) => show::run(&store, &config, &args, json),
        SessionsCommand::Export(args) => export::run(&store, &args, json).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Import(args) => import::run(&store, &args, json).map(|()| ExitCode::SUCCESS),
        SessionsCommand::Verify(args) => verify::run(&store, &args, json),
        SessionsCommand::Delete(args) => delete::run(&store, &args, json),
    };
    done.map_err(|error| advised(error, store.root()))
}

/// With what to do next, where the store itself cannot know.
fn advised(error: anyhow::Error, folder: &Path) -> anyhow::Error {
    match error.downcast_ref() {
        Some(StoreError::NotFound { .. }) => {
            let folder = folder.display();
            anyhow::anyhow!("{error}; looked in {folder}\nhint: weft sessions list --all")
        }
        Some(StoreError::Exists { session }) => {
            anyhow::anyhow!("{error}\nhint: weft sessions delete {session} first to replace it")
        }
        _ => error,
    }
}

/// The session whose id is `given`, or begins so.
pub(crate) fn find(store: &FileStore, given: &str) -> anyhow::Result<SessionId> {
    resolve::session(&all(store)?, given).map_err(|error| advised(error, store.root()))
}

/// Opens a session to go on with it.
pub(crate) fn open(store: &FileStore, id: &SessionId) -> anyhow::Result<Opening> {
    store.open(id).map_err(|error| advised(error.into(), store.root()))
}

/// Every session, subagents' and blank ones included, the one used last first.
fn all(store: &FileStore) -> anyhow::Result<Vec<SessionRow>> {
    let mut rows = Vec::new();
    let mut query = ListQuery {
        include_blank: true,
        limit: 10_000,
        ..ListQuery::default()
    };
    loop {
        let list = store.list(&query)?;
        rows.extend(list.rows);
        if list.next.is_none() {
            return Ok(rows);
        }
        query.cursor = list.next;
    }
}
