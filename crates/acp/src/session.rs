//! One open session: its agent, its view and the prompt in flight.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::{CancellationToken, DropGuard};
use weft_agent::{Agent, Turn};
use weft_model::ModelError;
use weft_observe::Subscription;
use weft_types::{ContentBlock, SessionId, TurnEnd};

use crate::family::Family;
use crate::refusal::RequestError;
use crate::sdk::schema::StopReason;
use crate::selectors::{Choice, Form};
use crate::view::SessionView;

/// A session that the client can prompt.
#[derive(Debug)]
pub(crate) struct OpenSession {
    id: SessionId,
    agent: Agent,
    view: Arc<SessionView>,
    prompting: Mutex<Prompting>,
    /// Its subagents, for a client that is shown them.
    family: Option<Arc<Family>>,
    _follows: ([Subscription; 4], Option<Subscription>),
}

/// The last prompt.
#[derive(Debug)]
struct Prompting {
    /// Whether it has not been answered yet.
    in_flight: bool,
    /// Whether the client has asked for its end. From then on the answer is `cancelled`, whatever comes.
    cancelled: bool,
    /// Fires when it has been answered and holds nothing of the session any more.
    settled: CancellationToken,
}

/// A prompt that was taken; it must be answered.
#[derive(Debug)]
pub(crate) struct Prompt {
    session: Arc<OpenSession>,
    turn: Turn,
    settled: DropGuard,
}

impl OpenSession {
    pub(crate) fn new(id: SessionId, agent: Agent, view: Arc<SessionView>) -> Arc<Self> {
        let follows = view.follow(&agent);
        let (family, births) = Family::follow(&view, &agent).unzip();
        let prompting = Prompting {
            in_flight: false,
            cancelled: false,
            settled: CancellationToken::new(),
        };
        prompting.settled.cancel();
        Arc::new(Self {
            id,
            agent,
            view,
            prompting: Mutex::new(prompting),
            family,
            _follows: (follows, births),
        })
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Stops one of its subagents; says whether there is such a one.
    pub(crate) fn cancel_child(&self, id: &SessionId) -> bool {
        self.family.as_ref().is_some_and(|family| family.cancel(id))
    }

    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Has the agent go on as the client chose, from its next request or call on, and tells the client what goes with
    /// it. What stands already changes nothing.
    pub(crate) fn choose(&self, choice: Choice, form: Form) -> Result<(), RequestError> {
        match &choice {
            Choice::Mode(mode) if *mode == self.agent.mode() => return Ok(()),
            Choice::Model(model) if self.agent.model().as_ref() == Some(model) => return Ok(()),
            Choice::Mode(_) => {}
            // Before the client is told: the model may be gone by now.
            Choice::Model(model) => {
                let refused = |error: ModelError| RequestError::invalid(error.message());
                self.agent.set_model(model).map_err(refused)?;
            }
        }
        let mode = match choice {
            Choice::Mode(mode) => Some(mode),
            Choice::Model(_) => None,
        };
        self.view.chosen(choice, form);
        if let Some(mode) = mode {
            // After that, so that what the log is told of it is no news to the client.
            self.agent.set_mode(mode);
        }
        Ok(())
    }

    /// Starts a turn. Its place is taken before this returns, so that a second prompt is refused and a
    /// cancel reaches this one.
    pub(crate) fn prompt(self: &Arc<Self>, content: Vec<ContentBlock>) -> Result<Prompt, RequestError> {
        let mut prompting = self.prompting();
        if prompting.in_flight {
            return Err(RequestError::invalid(
                "a prompt is in flight on this session; wait for its answer or cancel it",
            ));
        }
        self.check_key()?;
        let turn = self.agent.prompt(content)?;
        let settled = CancellationToken::new();
        *prompting = Prompting {
            in_flight: true,
            cancelled: false,
            settled: settled.clone(),
        };
        Ok(Prompt {
            session: Arc::clone(self),
            turn,
            settled: settled.drop_guard(),
        })
    }

    /// Whether the model can be asked at all. Nothing of a prompt that cannot be answered for want of a key is stored.
    fn check_key(&self) -> Result<(), RequestError> {
        let Ok(found) = self.agent.models().resolve(self.agent.model().as_deref()) else {
            // That there is no model at all is no matter of keys: the turn says what to set.
            return Ok(());
        };
        let ready = found.model.ready();
        ready.map_err(|error| RequestError::AuthRequired(error.message().to_owned()))
    }

    /// Whether a prompt has not been answered yet.
    pub(crate) fn is_prompted(&self) -> bool {
        self.prompting().in_flight
    }

    /// Stops the turn in flight; without one it does nothing, now and later.
    pub(crate) fn cancel(&self) {
        let mut prompting = self.prompting();
        if prompting.in_flight {
            prompting.cancelled = true;
            self.agent.cancel();
        }
    }

    /// Cancels, waits until everything of the session is quiet and its prompt answered, and then shows
    /// nothing more. Nobody but the caller holds it then.
    pub(crate) async fn close(&self) {
        {
            let mut prompting = self.prompting();
            prompting.cancelled = prompting.in_flight;
        }
        self.agent.close().await;
        let settled = self.prompting().settled.clone();
        settled.cancelled().await;
        self.view.close();
    }

    fn prompting(&self) -> MutexGuard<'_, Prompting> {
        self.prompting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Prompt {
    /// Waits for the end of the turn and has `answer` say how it went, as the last word about it.
    ///
    /// The turn is cancelled when `withdrawn` resolves. When `expired` fires first, the turn is given up: its
    /// cards are failed and the answer is `cancelled`.
    pub(crate) async fn run(
        self,
        withdrawn: impl Future<Output = ()>,
        expired: CancellationToken,
        answer: impl FnOnce(Result<StopReason, RequestError>),
    ) {
        let Self { session, turn, settled } = self;
        let withdrawal = async {
            withdrawn.await;
            session.cancel();
            std::future::pending::<()>().await;
        };
        let end = tokio::select! {
            end = turn.ended() => Some(end),
            () = withdrawal => None,
            () = expired.cancelled() => None,
        };
        if end.is_none() {
            session.view.close();
        }
        {
            let mut prompting = session.prompting();
            answer(settle(end, prompting.cancelled));
            prompting.in_flight = false;
        }
        // In this order, since a close waits for the latter and then releases the session.
        drop(session);
        drop(settled);
    }
}

/// How a prompt is answered: by the end of its turn, if it was seen. A client that asked for the cancel gets
/// just that, even if the turn came to another end in the same moment.
fn settle(end: Option<TurnEnd>, cancelled: bool) -> Result<StopReason, RequestError> {
    let Some(end) = end.filter(|_| !cancelled) else {
        return Ok(StopReason::Cancelled);
    };
    match end {
        TurnEnd::Completed => Ok(StopReason::EndTurn),
        TurnEnd::Aborted { .. } | TurnEnd::Interrupted => Ok(StopReason::Cancelled),
        TurnEnd::MaxTokens => Ok(StopReason::MaxTokens),
        TurnEnd::MaxSteps => Ok(StopReason::MaxTurnRequests),
        TurnEnd::Refusal => Ok(StopReason::Refusal),
        TurnEnd::Error { message } => Err(RequestError::Internal(format!("turn failed: {message}"))),
    }
}

#[cfg(test)]
mod tests {
    use weft_types::AbortCause;

    use super::*;

    #[test]
    fn each_end_of_a_turn_has_its_answer() {
        let cases = [
            (TurnEnd::Completed, StopReason::EndTurn),
            (TurnEnd::Aborted { by: AbortCause::User }, StopReason::Cancelled),
            (TurnEnd::Aborted { by: AbortCause::Closed }, StopReason::Cancelled),
            (TurnEnd::Interrupted, StopReason::Cancelled),
            (TurnEnd::MaxTokens, StopReason::MaxTokens),
            (TurnEnd::MaxSteps, StopReason::MaxTurnRequests),
            (TurnEnd::Refusal, StopReason::Refusal),
        ];
        for (end, expected) in cases {
            assert_eq!(settle(Some(end), false), Ok(expected));
        }
        let message = "no model is configured; set `model`".to_owned();
        assert_eq!(
            settle(Some(TurnEnd::Error { message }), false),
            Err(RequestError::Internal(
                "turn failed: no model is configured; set `model`".into()
            ))
        );
    }

    #[test]
    fn a_cancel_wins_over_every_end() {
        let message = "late".to_owned();
        for end in [Some(TurnEnd::Completed), Some(TurnEnd::Error { message }), None] {
            assert_eq!(settle(end, true), Ok(StopReason::Cancelled));
        }
        assert_eq!(settle(None, false), Ok(StopReason::Cancelled));
    }
}
