//! Where the events of a session go besides its observers.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use weft_types::{Event, SessionHeader};

use crate::lines::write_line;

/// Takes a session's events in `seq` order, each before it is published.
pub trait EventSink: Send {
    /// Takes the next event.
    ///
    /// # Errors
    /// The event then counts as never appended, and the next candidate has its `seq`.
    fn append(&mut self, event: &Event) -> Result<(), SinkError>;

    /// Resolves when everything taken so far would survive the death of the process.
    fn flush(&mut self) -> BoxFuture<'static, Result<(), SinkError>>;
}

/// What a sink or a store could not do.
#[derive(Debug, thiserror::Error)]
#[error("failed to {attempt}: {cause}")]
pub struct SinkError {
    attempt: String,
    cause: Box<dyn std::error::Error + Send + Sync>,
}

impl SinkError {
    /// An error that reads "failed to `attempt`: `cause`".
    pub fn new(attempt: impl Into<String>, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            attempt: attempt.into(),
            cause: cause.into(),
        }
    }
}

/// Keeps nothing: the session itself holds its events in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemorySink;

impl EventSink for MemorySink {
    fn append(&mut self, _event: &Event) -> Result<(), SinkError> {
        Ok(())
    }

    fn flush(&mut self) -> BoxFuture<'static, Result<(), SinkError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Writes a session as JSON Lines to a file of its own: the header, then an event per line.
///
/// Each event is one write, so that a reader of the file sees whole lines. Nothing is synced to the
/// disk: this is an export, not a store. A failed write may leave half a line, therefore every later
/// append is refused.
#[derive(Debug)]
pub struct JsonLinesSink {
    path: PathBuf,
    file: File,
    line: Vec<u8>,
    torn: bool,
}

impl JsonLinesSink {
    /// Creates the file and writes the header line.
    ///
    /// # Errors
    /// The file exists already, or cannot be written.
    pub fn create(path: impl Into<PathBuf>, header: &SessionHeader) -> Result<Self, SinkError> {
        let path = path.into();
        let file = File::create_new(&path).map_err(|error| failed("create", &path, error))?;
        let mut sink = Self {
            path,
            file,
            line: Vec::new(),
            torn: false,
        };
        sink.write(header)?;
        Ok(sink)
    }

    fn write(&mut self, value: &impl serde::Serialize) -> Result<(), SinkError> {
        if self.torn {
            return Err(failed("append to", &self.path, "an earlier write of it failed"));
        }
        self.line.clear();
        let written = write_line(&mut self.line, value).and_then(|()| self.file.write_all(&self.line));
        self.torn = written.is_err();
        written.map_err(|error| failed("append to", &self.path, error))
    }
}

impl EventSink for JsonLinesSink {
    fn append(&mut self, event: &Event) -> Result<(), SinkError> {
        self.write(event)
    }

    fn flush(&mut self) -> BoxFuture<'static, Result<(), SinkError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn failed(what: &str, path: &Path, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> SinkError {
    SinkError::new(format!("{what} session log {}", path.display()), cause)
}
