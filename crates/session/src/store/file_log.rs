//! The log that a session appends to.

use std::sync::Arc;

use futures::future::BoxFuture;
use weft_types::{Event, SessionHeader};

use super::{FileStore, StoreError};
use crate::{EventLog, EventReader, LogError, MemoryLog};

pub(crate) struct FileLog;

impl FileLog {
    pub(crate) fn unborn(store: &FileStore, header: &SessionHeader) -> Result<Self, StoreError> {
        let _paths = store.layout().session(&header.id)?;
        Ok(Self)
    }
}

impl EventLog for FileLog {
    fn append(&mut self, _event: &Arc<Event>) -> Result<(), LogError> {
        Err(LogError::new("append", "no log"))
    }

    fn flush(&mut self) -> BoxFuture<'static, Result<(), LogError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn reader(&self) -> Arc<dyn EventReader> {
        Arc::new(MemoryLog::default())
    }
}
