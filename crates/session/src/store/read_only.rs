//! The log of a session that takes no events.

use std::sync::Arc;

use futures::future::BoxFuture;
use weft_types::{Event, SessionId};

use super::ReadOnly;
use super::log_reader::LogReader;
use crate::{EventLog, EventReader, LogError};

pub(crate) struct ReadOnlyLog {
    pub(crate) session: SessionId,
    pub(crate) reason: ReadOnly,
    pub(crate) reader: Arc<LogReader>,
}

impl ReadOnlyLog {
    fn hint(&self) -> String {
        let id = &self.session;
        match self.reason {
            ReadOnly::Damaged(_) => format!(
                "`weft sessions verify {id}` shows the damage and `weft sessions export {id}` saves what is before it"
            ),
            ReadOnly::NoWriting(_) => {
                format!("mend that and open it anew; `weft sessions export {id}` saves it elsewhere")
            }
        }
    }
}

impl EventLog for ReadOnlyLog {
    fn append(&mut self, _event: &Arc<Event>) -> Result<(), LogError> {
        let refused = LogError::new("write to a session that is read-only", self.reason.to_string());
        Err(refused.with_hint(self.hint()))
    }

    fn flush(&mut self) -> BoxFuture<'static, Result<(), LogError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn reader(&self) -> Arc<dyn EventReader> {
        Arc::clone(&self.reader) as Arc<dyn EventReader>
    }
}
