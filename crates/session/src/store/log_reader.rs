//! Reading a log that this process has open.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use weft_types::{Event, SessionId};

use super::marks::Marks;
use super::pages::{self, Keep, Window};
use super::{FileStore, StoreError};
use crate::{EventReader, LogError};

/// Reads what is appended, as soon as it was.
pub(crate) struct LogReader {
    pub(crate) store: FileStore,
    pub(crate) session: SessionId,
    pub(crate) path: PathBuf,
    pub(crate) marks: Arc<Mutex<Marks>>,
    /// Events that go on from the log's, and are not in it.
    pub(crate) closing: Vec<Arc<Event>>,
}

impl LogReader {
    fn page(&self, from: u64, limit: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        let limit = limit.min(self.store.options().page_events);
        let (mark, count) = {
            let marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
            (marks.before(from), marks.count())
        };
        let to = count.min(from.saturating_add(limit as u64));
        let page = pages::read(
            &self.store,
            (&self.session, &self.path),
            Window { mark, from, to },
            Keep::First,
        )?;
        Ok(pages::and_closing(page, (from, limit), count, &self.closing))
    }
}

impl EventReader for LogReader {
    fn read(&self, from: u64, limit: usize) -> Result<Vec<Arc<Event>>, LogError> {
        let page = self.page(from, limit);
        page.map_err(|cause| LogError::new(format!("read events of session {}", self.session), cause))
    }
}
