//! The sessions of one connection: those that are open, and the places of those on their way.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;
use weft_types::SessionId;

use super::{Bridge, closing};
use crate::refusal::RequestError;
use crate::session::OpenSession;

/// What a connection has, behind one lock.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) open: HashMap<SessionId, Arc<OpenSession>>,
    /// Those that are being opened.
    coming: HashMap<SessionId, Coming>,
    /// Whether the connection has ended.
    pub(super) closed: bool,
}

#[derive(Clone, Debug)]
struct Coming {
    /// Asks for the end of the opening.
    stop: CancellationToken,
    /// Fires when the request that opens it has been answered.
    over: CancellationToken,
}

/// The place of a session that is being opened. It is taken until this is dropped, so that the session counts as one of
/// this connection's and cannot be opened twice.
pub(super) struct Place {
    bridge: Arc<Bridge>,
    id: SessionId,
    coming: Coming,
    /// The session as it is open here, until it has been closed to make way for this one.
    before: Mutex<Option<Arc<OpenSession>>>,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Place").field(&self.id).finish()
    }
}

impl Place {
    pub(super) fn bridge(&self) -> &Arc<Bridge> {
        &self.bridge
    }

    pub(super) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Fires when the session is closed while it is being opened, and when the connection begins to end.
    pub(super) fn stop(&self) -> &CancellationToken {
        &self.coming.stop
    }

    /// Whether the session is open here still.
    pub(super) fn is_open(&self) -> bool {
        self.before().is_some()
    }

    /// Closes the session that is open here, if one is: its log is released when this resolves.
    pub(super) async fn make_way(&self) {
        let before = self.before().take();
        if let Some(session) = before {
            session.close().await;
        }
    }

    fn before(&self) -> MutexGuard<'_, Option<Arc<OpenSession>>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let before = self.before().take();
        let mut table = self.bridge.table();
        table.coming.remove(&self.id);
        // It was not closed, so that it stays as it is; unless nobody would close it any more.
        if let Some(session) = before.filter(|_| !table.closed) {
            table.open.insert(self.id.clone(), session);
        }
        drop(table);
        self.coming.over.cancel();
    }
}

impl Bridge {
    /// Takes the place of a session. One that is open here already makes way, but for one with a prompt in flight: the
    /// place holds it until it is closed, and puts it back if it never is.
    pub(super) fn reserve(self: &Arc<Self>, id: SessionId) -> Result<Place, RequestError> {
        let mut table = self.table();
        let refused = |why: &str| Err(RequestError::invalid(format!("session {id} {why}")));
        if table.coming.contains_key(&id) {
            return refused("is being opened on this connection already; wait for the answer to that");
        }
        if table.open.get(&id).is_some_and(|open| open.is_prompted()) {
            return refused("has a prompt in flight on this connection; wait for its answer or cancel it first");
        }
        let before = table.open.remove(&id);
        let most = self.options.max_sessions.get();
        if table.open.len() + table.coming.len() >= most {
            return Err(RequestError::Internal(format!(
                "{most} sessions are open, as many as acp.max_sessions allows; close one first"
            )));
        }
        let coming = Coming {
            stop: self.ending.child_token(),
            over: CancellationToken::new(),
        };
        table.coming.insert(id.clone(), coming.clone());
        Ok(Place {
            bridge: Arc::clone(self),
            id,
            coming,
            before: Mutex::new(before),
        })
    }

    /// Makes a session known, or closes it again if the connection has ended meanwhile.
    pub(super) async fn publish(&self, session: Arc<OpenSession>) -> Result<(), RequestError> {
        {
            let mut table = self.table();
            if !table.closed {
                table.open.insert(session.id().clone(), session);
                return Ok(());
            }
        }
        session.close().await;
        Err(closing())
    }

    /// Takes a session away and closes it: resolves when it is quiet, its prompt or the request that opens it is
    /// answered, and its log is released. Says whether it was open here, or about to be.
    pub(super) async fn put_away(&self, id: &SessionId) -> bool {
        let coming = self.table().coming.get(id).cloned();
        if let Some(coming) = &coming {
            coming.stop.cancel();
            coming.over.cancelled().await;
        }
        // It may have been too late to stop it.
        let open = self.table().open.remove(id);
        if let Some(session) = &open {
            session.close().await;
        }
        coming.is_some() || open.is_some()
    }
}
