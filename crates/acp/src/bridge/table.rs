//! The sessions of one connection: those that are open, and the places of those on their way.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

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
}

impl Drop for Place {
    fn drop(&mut self) {
        self.bridge.table().coming.remove(&self.id);
        self.coming.over.cancel();
    }
}

impl Bridge {
    /// Takes the place of a session.
    pub(super) fn reserve(self: &Arc<Self>, id: SessionId) -> Result<Place, RequestError> {
        let mut table = self.table();
        if table.open.contains_key(&id) || table.coming.contains_key(&id) {
            return Err(RequestError::invalid(format!(
                "session {id} is open on this connection already; go on with it, or close it first"
            )));
        }
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
