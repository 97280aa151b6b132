//! The sessions of the store, whoever has them open: `session/list` and `session/delete`.

use std::path::Path;

use weft_session::{ListQuery, SessionRow, StoreError};
use weft_types::{Origin, SessionId};

use super::Bridge;
use crate::refusal::RequestError;
use crate::sdk::schema;
use crate::wire;

/// How many sessions one answer lists.
const PAGE: usize = 100;

impl Bridge {
    /// The users' sessions that hold something, the last used first.
    pub(crate) async fn list(
        &self,
        request: schema::ListSessionsRequest,
    ) -> Result<schema::ListSessionsResponse, RequestError> {
        if let Some(cwd) = request.cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
            let cwd = cwd.display();
            return Err(RequestError::invalid(format!("`cwd` {cwd} is not an absolute path")));
        }
        let query = ListQuery {
            cwd: request.cwd,
            origin: Some(Origin::User),
            cursor: request.cursor,
            limit: PAGE,
            ..ListQuery::default()
        };
        let store = self.options.sessions.clone();
        let list = blocking(move || store.list(&query)).await??;
        let sessions = list.rows.into_iter().filter_map(session_info).collect();
        Ok(schema::ListSessionsResponse::new(sessions).next_cursor(list.next))
    }

    /// Deletes a session and those it has started; one that is open here is closed first. That there is none is
    /// as good.
    pub(crate) async fn delete(&self, id: &schema::SessionId) -> Result<schema::DeleteSessionResponse, RequestError> {
        let id = SessionId::new(&*id.0);
        self.put_away(&id).await;
        let store = self.options.sessions.clone();
        match blocking(move || store.delete(&id)).await? {
            Ok(_) | Err(StoreError::NotFound { .. }) => Ok(schema::DeleteSessionResponse::new()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Nothing for a session whose log cannot be read at all or whose folder is no absolute path: the client could do
/// nothing with it.
fn session_info(row: SessionRow) -> Option<schema::SessionInfo> {
    let info = schema::SessionInfo::new(row.id.as_str().to_owned(), &*row.cwd)
        .title(row.title)
        .updated_at(wire::timestamp(row.updated_at));
    Path::new(&row.cwd).is_absolute().then_some(info)
}

/// Does what blocks on the disk away from the threads that serve everything else.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, RequestError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| RequestError::Internal(format!("the session store failed: {error}")))
}
