//! Writing down which mode is in force.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_session::{AppendError, Session};
use weft_types::{EventBody, Origin};

use super::{PermissionMode, Permissions};

/// Keeps the log of a user's session in step with its mode: a change in an open turn is written down at once, one
/// between turns when the next turn starts, and of several only the last.
#[derive(Debug)]
pub(crate) struct ModeRecord {
    session: Arc<Session>,
    permissions: Arc<Permissions>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    turn_is_open: bool,
    /// The mode that a reader of the log takes to be in force.
    logged: PermissionMode,
}

impl ModeRecord {
    /// The record of a session whose log says, or leaves to the configuration, the mode in force now.
    pub(crate) fn new(session: Arc<Session>, permissions: Arc<Permissions>) -> Self {
        let state = Mutex::new(State {
            turn_is_open: false,
            logged: permissions.mode(),
        });
        Self {
            session,
            permissions,
            state,
        }
    }

    /// Puts a mode in force.
    pub(crate) fn set(&self, mode: PermissionMode) {
        let mut state = self.state();
        self.permissions.set_mode(mode);
        if !state.turn_is_open {
            return;
        }
        if let Err(error) = self.write(&mut state) {
            tracing::warn!(session = %self.session.id(), %error, "a change of the mode is not written down");
        }
    }

    /// The log has a turn open from now on.
    pub(crate) fn turn_starts(&self) -> Result<(), AppendError> {
        let mut state = self.state();
        state.turn_is_open = true;
        self.write(&mut state)
    }

    /// The log's turn is about to end.
    pub(crate) fn turn_ends(&self) {
        self.state().turn_is_open = false;
    }

    fn write(&self, state: &mut State) -> Result<(), AppendError> {
        let mode = self.permissions.mode();
        // A subagent shares its parent's permissions; their changes are written down there.
        if mode == state.logged || self.session.header().origin != Origin::User {
            return Ok(());
        }
        self.session.append(EventBody::SessionMode {
            mode: mode.as_str().to_owned(),
        })?;
        state.logged = mode;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
