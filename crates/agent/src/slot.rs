//! Whether a turn is in flight: the one state that handles and the actor share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio_util::sync::CancellationToken;
use weft_types::AbortCause;

use crate::PromptRefused;

/// The place for the one turn that may be in flight.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    turn: Option<Arc<TurnCancel>>,
}

/// Stops one turn, and no other.
#[derive(Debug, Default)]
pub(crate) struct TurnCancel {
    token: CancellationToken,
    by: OnceLock<AbortCause>,
}

impl TurnCancel {
    /// The first cause wins.
    fn cancel(&self, by: AbortCause) {
        self.by.get_or_init(|| by);
        self.token.cancel();
    }

    /// Who stopped the turn, if anybody did.
    pub(crate) fn cause(&self) -> Option<AbortCause> {
        self.token
            .is_cancelled()
            .then(|| self.by.get().copied().unwrap_or(AbortCause::Closed))
    }

    /// Fires when the turn is to stop.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}

impl Slot {
    /// Takes the place for a turn and has `send` hand it to the actor, both in one: who closes the slot
    /// either sees the turn, or prevents it.
    pub(crate) fn reserve(&self, send: impl FnOnce(Arc<TurnCancel>) -> bool) -> Result<(), PromptRefused> {
        let mut state = self.lock();
        if state.closed {
            return Err(PromptRefused::Closed);
        }
        if state.turn.is_some() {
            return Err(PromptRefused::TurnInFlight);
        }
        let turn = Arc::<TurnCancel>::default();
        if !send(Arc::clone(&turn)) {
            return Err(PromptRefused::Closed);
        }
        state.turn = Some(turn);
        Ok(())
    }

    /// Gives the place back. Who cancels from now on reaches no turn.
    pub(crate) fn free(&self) {
        self.lock().turn = None;
    }

    /// Stops the turn in flight, if there is one.
    pub(crate) fn cancel(&self, by: AbortCause) {
        if let Some(turn) = &self.lock().turn {
            turn.cancel(by);
        }
    }

    /// Refuses all further turns and stops the one in flight.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.cancel(AbortCause::Closed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is a single store, so that a poisoned lock still guards a sound state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
