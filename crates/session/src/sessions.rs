//! What makes sessions: the seam before the store, and one that keeps none of them.

use std::fmt;
use std::sync::Arc;

use weft_types::{SessionHeader, SessionId};

use crate::{Clock, Invariant, LogError, MemoryLog, Session};

/// Makes sessions. What keeps them is the store's own business.
pub trait Sessions: Send + Sync {
    /// Creates an empty session. The header's `created_at` is the caller's.
    ///
    /// # Errors
    /// The store cannot take it; nothing was created then.
    fn create(&self, header: SessionHeader) -> Result<Arc<Session>, LogError>;
}

/// Makes the invariants of one more session, beside those that every session has.
pub type InvariantFactory = Arc<dyn Fn() -> Vec<Box<dyn Invariant>> + Send + Sync>;

/// Sessions that live as long as somebody holds them.
pub struct MemorySessions {
    /// The clock of every session.
    pub clock: Arc<dyn Clock>,
    /// The invariants of every session.
    pub invariants: InvariantFactory,
}

impl fmt::Debug for MemorySessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySessions").finish_non_exhaustive()
    }
}

impl MemorySessions {
    /// Sessions with no invariants but their own.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            invariants: Arc::new(Vec::new),
        }
    }
}

impl Sessions for MemorySessions {
    fn create(&self, header: SessionHeader) -> Result<Arc<Session>, LogError> {
        let invariants = (self.invariants)();
        Ok(Session::create(
            header,
            Box::new(MemoryLog::default()),
            Arc::clone(&self.clock),
            invariants,
        ))
    }
}

/// Mints a session id that no other session has: a UUID that sorts by its time.
pub fn mint_session_id() -> SessionId {
    SessionId::new(uuid::Uuid::now_v7().to_string())
}
