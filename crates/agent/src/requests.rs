//! Asking a model, again where that may help.

use std::sync::Arc;
use std::time::Duration;

use weft_model::{Model, ModelErrorKind, ModelRequest, RequestOrigin, ResolvedModel};
use weft_types::{CompactionReason, EventBody, HeaderReason, StopReason, TurnEnd};

use crate::answer::{Ended, Received, Receiver};
use crate::backoff::wait_after;
use crate::compaction::{Compacted, Wish, id_of};
use crate::history::RequestHeader;
use crate::slot::TurnCancel;
use crate::turn::{LoopError, Place, Turns};

/// What came of asking.
pub(crate) enum Asked {
    /// An answer, not yet in the log.
    Answered(Received, StopReason),
    /// None; what arrived of it is in the log.
    Ended(TurnEnd),
}

/// What one attempt leads to.
enum Judged {
    /// It was the last.
    Done(Asked),
    /// Another one, after a wait, for this reason.
    Again(Duration, String),
    /// The request is too long for the model, in its provider's words.
    TooLong(String),
}

/// The attempts at one answer.
#[derive(Default)]
struct Attempts {
    made: u32,
    was_empty: bool,
    /// Whether an empty answer is one.
    may_be_empty: bool,
    was_too_long: bool,
}

impl Turns {
    /// Asks the model for this step's answer.
    pub(crate) async fn ask(&mut self, place: Place, cancel: &TurnCancel) -> Result<Asked, LoopError> {
        self.log_model()?;
        let resolved = match self.options.models.resolve(self.model.get().as_deref()) {
            Ok(resolved) => resolved,
            Err(error) => return Ok(Asked::Ended(failed(error.message()))),
        };
        let header = self.log_header(id_of(&resolved))?;
        self.make_room(place, &resolved, cancel).await?;
        let mut attempts = Attempts {
            may_be_empty: resolved.model.may_be_silent(),
            ..Attempts::default()
        };
        loop {
            attempts.made += 1;
            if let Some(end) = self.durable(cancel).await? {
                return Ok(Asked::Ended(end));
            }
            let request = self.request(place, &resolved.name, &header);
            let answer = self.receive(place, cancel, &resolved.model, request).await;
            let (delay, message) = match self.judge(place, cancel, &mut attempts, answer)? {
                Judged::Done(asked) => return Ok(asked),
                Judged::TooLong(message) => match self
                    .after_overflow((place, cancel), &resolved, &mut attempts, message)
                    .await?
                {
                    Some(end) => return Ok(Asked::Ended(end)),
                    None => continue,
                },
                Judged::Again(delay, message) => (delay, message),
            };
            self.append(retry(place, attempts.made, delay, message))?;
            tokio::select! {
                biased;
                () = cancel.token().cancelled() => return Ok(Asked::Ended(aborted(cancel))),
                () = tokio::time::sleep(delay) => {}
            }
        }
    }

    /// Decides what follows from an attempt. An answer that broke off after a part of it was shown is not
    /// begun again; that part goes to the log.
    fn judge(
        &mut self,
        place: Place,
        cancel: &TurnCancel,
        attempts: &mut Attempts,
        (received, ended): (Received, Ended),
    ) -> Result<Judged, LoopError> {
        let end = match ended {
            Ended::Finished(StopReason::EndTurn | StopReason::ToolUse)
                if received.is_empty() && !attempts.may_be_empty =>
            {
                if !std::mem::replace(&mut attempts.was_empty, true) {
                    return Ok(Judged::Again(Duration::ZERO, "the model's answer was empty".to_owned()));
                }
                self.commit(place, received, Some(StopReason::EndTurn))?;
                failed("the model's answer was empty, twice")
            }
            Ended::Finished(stop) => return Ok(Judged::Done(Asked::Answered(received, stop))),
            Ended::Cancelled => {
                self.commit_interrupted(place, received)?;
                aborted(cancel)
            }
            Ended::Failed(error) if received.shown => {
                self.commit_interrupted(place, received)?;
                failed(&format!("the answer broke off: {}", error.message()))
            }
            Ended::Failed(error) if error.kind() == ModelErrorKind::ContextOverflow => {
                return Ok(Judged::TooLong(error.message().to_owned()));
            }
            Ended::Failed(error) => {
                match wait_after(&error, attempts.made, &self.options.limits, &self.options.jitter) {
                    Ok(delay) => return Ok(Judged::Again(delay, error.message().to_owned())),
                    Err(message) => failed(&message),
                }
            }
        };
        Ok(Judged::Done(Asked::Ended(end)))
    }

    /// Sums the conversation up, once for an answer; answers how the turn ends if the request cannot be sent again.
    async fn after_overflow(
        &mut self,
        (place, cancel): (Place, &TurnCancel),
        resolved: &ResolvedModel,
        attempts: &mut Attempts,
        message: String,
    ) -> Result<Option<TurnEnd>, LoopError> {
        if std::mem::replace(&mut attempts.was_too_long, true) {
            return Ok(Some(failed(&format!(
                "{message}, even after the conversation was summed up\nhint: {TOO_LONG_HINT}"
            ))));
        }
        attempts.made = 0;
        let wish = Wish {
            place,
            reason: CompactionReason::Overflow,
            focus: "",
        };
        Ok(match self.compact(&wish, resolved, cancel).await? {
            Compacted::Done => None,
            Compacted::Cancelled => Some(aborted(cancel)),
            Compacted::Nothing => Some(failed(&format!("{message}\nhint: {TOO_LONG_HINT}"))),
            Compacted::Failed(reason) => Some(failed(&format!(
                "{message}, and the conversation could not be summed up: {reason}\nhint: {TOO_LONG_HINT}"
            ))),
        })
    }

    async fn receive(
        &self,
        place: Place,
        cancel: &TurnCancel,
        model: &Arc<dyn Model>,
        request: ModelRequest,
    ) -> (Received, Ended) {
        let receiver = Receiver {
            shown: Some(self.session()),
            place,
            cancel: cancel.token(),
            answer_bytes: self.options.limits.answer_bytes,
        };
        receiver.receive(Arc::clone(model), request).await
    }

    /// Waits until everything so far is durable; answers how the turn ends if it was stopped meanwhile.
    pub(crate) async fn durable(&self, cancel: &TurnCancel) -> Result<Option<TurnEnd>, LoopError> {
        tokio::select! {
            biased;
            () = cancel.token().cancelled() => Ok(Some(aborted(cancel))),
            durable = self.session().durable() => Ok(durable.map(|()| None)?),
        }
    }

    fn request(&self, place: Place, model: &str, header: &RequestHeader) -> ModelRequest {
        ModelRequest {
            model: model.to_owned(),
            system: Arc::clone(&header.system),
            messages: self.history.messages(),
            tools: Arc::clone(&header.tools),
            origin: self.origin(place),
        }
    }

    pub(crate) fn origin(&self, place: Place) -> RequestOrigin {
        RequestOrigin {
            role: self.options.role,
            label: self.options.label.clone(),
            session: self.session().id().clone(),
            turn: place.turn,
            step: place.step,
        }
    }

    /// The header of the next request, logged unless it is that of the request before.
    fn log_header(&mut self, model: String) -> Result<RequestHeader, LoopError> {
        let header = RequestHeader {
            model,
            system: Arc::clone(&self.options.system),
            tools: self.tools().specs().into(),
        };
        let reason = match self.history.header() {
            Some(last) if *last == header => return Ok(last.clone()),
            Some(_) => HeaderReason::Changed,
            None => HeaderReason::Initial,
        };
        self.append(EventBody::RequestHeader {
            reason,
            model: header.model.clone(),
            system: header.system.to_string(),
            tools: header.tools.to_vec(),
        })?;
        // The same, but shared with the requests.
        self.history.set_header(header.clone());
        Ok(header)
    }

    /// Logs what arrived of an answer that was cut off; its calls never happened.
    fn commit_interrupted(&mut self, place: Place, mut received: Received) -> Result<(), LoopError> {
        received.drop_calls();
        if received.blocks.is_empty() {
            return Ok(());
        }
        self.commit(place, received, None)
    }

    /// Logs an answer; without a stop reason it was interrupted.
    pub(crate) fn commit(
        &mut self,
        place: Place,
        received: Received,
        stop: Option<StopReason>,
    ) -> Result<(), LoopError> {
        self.append(EventBody::AssistantMessage {
            turn: place.turn,
            step: place.step,
            content: received.blocks,
            stop,
            usage: received.usage,
            interrupted: stop.is_none(),
        })?;
        Ok(())
    }
}

/// What helps when a request is too long for its model.
const TOO_LONG_HINT: &str = "choose a model with a larger context, or start a new session with a shorter prompt";

pub(crate) fn aborted(cancel: &TurnCancel) -> TurnEnd {
    let by = cancel.cause().unwrap_or(weft_types::AbortCause::Closed);
    TurnEnd::Aborted { by }
}

pub(crate) fn failed(message: &str) -> TurnEnd {
    TurnEnd::Error {
        message: message.to_owned(),
    }
}

fn retry(place: Place, attempt: u32, delay: Duration, message: String) -> EventBody {
    EventBody::ModelRetry {
        turn: place.turn,
        step: place.step,
        attempt,
        delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
        message,
    }
}
