//! Whether a member can be opened.

use super::{MemberView, RunStatus};
use crate::{Origin, SessionId};

/// What the list of live sessions says of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSession {
    /// Its id.
    pub id: SessionId,
    /// The session that started it.
    pub parent: Option<SessionId>,
    /// What made it.
    pub origin: Origin,
    /// Whether somebody runs it now.
    pub running: bool,
}

impl MemberView {
    /// Whether the member is a link, in the view of the session `displayed`: while it runs, and while the row that
    /// the list of live sessions has for it says that this very session's subagent runs. Both can change at any time.
    pub fn is_link(&self, displayed: &SessionId, row: Option<&ListedSession>) -> bool {
        row.is_some_and(|row| {
            self.status == RunStatus::Running
                && row.id == self.child_id
                && row.origin == Origin::Subagent
                && row.parent.as_ref() == Some(displayed)
                && row.running
        })
    }
}
