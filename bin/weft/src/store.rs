//! The session store, set up from the configuration.

use std::path::PathBuf;
use std::sync::Arc;

use weft_session::{Clock, FileStore, Invariant, StoreOptions};
use weft_tool_workflow::RecordInvariant;

use crate::config::{Config, settings};

/// The store in the folder `root`. Nothing is made there before a session has its first event, so that a folder that
/// cannot be written keeps nobody from starting. `program` is told to whoever finds a session in use.
pub(crate) fn open(config: &Config, root: PathBuf, program: &str, clock: Arc<dyn Clock>) -> anyhow::Result<FileStore> {
    let options = StoreOptions {
        clock,
        invariants: Arc::new(|| vec![Box::new(RecordInvariant::default()) as Box<dyn Invariant>]),
        sync_interval: config.span(&settings::STORE_SYNC),
        max_line_bytes: config.size(&settings::STORE_LINE),
        page_events: config.size(&settings::STORE_PAGE_EVENTS),
        page_bytes: config.size(&settings::STORE_PAGE_BYTES),
        ..StoreOptions::new(program)
    };
    Ok(FileStore::new(root, options)?)
}
