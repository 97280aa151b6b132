//! Where sessions are kept: the store's seam, and the store that keeps none.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use weft_types::{SessionHeader, SessionId};

use crate::{Clock, EventSink, Invariant, JsonLinesSink, MemorySink, Session, SinkError};

/// Makes sessions. What keeps them is the store's own business.
pub trait Sessions: Send + Sync {
    /// Creates an empty session. The header's `created_at` is the caller's.
    ///
    /// # Errors
    /// The store cannot take it; nothing was created then.
    fn create(&self, header: SessionHeader) -> Result<Arc<Session>, SinkError>;
}

/// Makes the invariants of one more session, beside those that every session has.
pub type InvariantFactory = Arc<dyn Fn() -> Vec<Box<dyn Invariant>> + Send + Sync>;

/// Sessions that live as long as somebody holds them, written to files on the way if asked.
pub struct MemorySessions {
    /// The clock of every session.
    pub clock: Arc<dyn Clock>,
    /// A folder that gets one `<session-id>.jsonl` per session, see [`JsonLinesSink`]. It must exist.
    pub export_dir: Option<PathBuf>,
    /// The invariants of every session.
    pub invariants: InvariantFactory,
}

impl fmt::Debug for MemorySessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySessions")
            .field("export_dir", &self.export_dir)
            .finish_non_exhaustive()
    }
}

impl MemorySessions {
    /// Sessions with no invariants but their own, exported nowhere.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            export_dir: None,
            invariants: Arc::new(Vec::new),
        }
    }
}

impl Sessions for MemorySessions {
    fn create(&self, header: SessionHeader) -> Result<Arc<Session>, SinkError> {
        let sink: Box<dyn EventSink> = match &self.export_dir {
            None => Box::new(MemorySink),
            Some(dir) => Box::new(JsonLinesSink::create(dir.join(file_name(&header.id)?), &header)?),
        };
        Ok(Session::create(
            header,
            sink,
            Arc::clone(&self.clock),
            (self.invariants)(),
        ))
    }
}

/// The export's name; an id that is no plain file name could reach outside of the folder.
fn file_name(id: &SessionId) -> Result<String, SinkError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let id = id.as_str();
    if id.is_empty() || id.starts_with('.') || id.len() > 200 || !id.chars().all(plain) {
        return Err(SinkError::new(
            format!("name an export file after session id {id:?}"),
            "expected 1 to 200 letters, digits, `-`, `_` or `.`, not starting with `.`",
        ));
    }
    Ok(format!("{id}.jsonl"))
}

/// Mints a session id that no other session has: a UUID that sorts by its time.
pub fn mint_session_id() -> SessionId {
    SessionId::new(uuid::Uuid::now_v7().to_string())
}
