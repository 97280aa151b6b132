//! One step: an answer of the model and the calls it names.

use std::collections::HashSet;

use weft_types::{AssistantBlock, CallId, ContentBlock, EventBody, StopReason, TurnEnd};

use crate::answer::Received;
use crate::calls::NamedCall;
use crate::compaction::ASSUMED_WINDOW;
use crate::repeats::Repeats;
use crate::requests::Asked;
use crate::size::bytes_of_tokens;
use crate::slot::TurnCancel;
use crate::turn::{LoopError, Place, Turns};

/// What a step leaves to be done after its end.
struct Outcome {
    /// How the turn ends, if it does.
    end: Option<TurnEnd>,
    /// What tools gave the model besides their results.
    contexts: Vec<ContentBlock>,
}

impl Outcome {
    fn end(end: TurnEnd) -> Self {
        Self {
            end: Some(end),
            contexts: Vec::new(),
        }
    }
}

impl Turns {
    /// Runs a step; answers how the turn ends, if it does.
    pub(crate) async fn step(&mut self, place: Place, cancel: &TurnCancel) -> Result<Option<TurnEnd>, LoopError> {
        let Place { turn, step } = place;
        self.append(EventBody::StepStart { turn, step })?;
        let Outcome { end, contexts } = self.answer(place, cancel).await?;
        self.append(EventBody::StepEnd { turn, step })?;
        if !contexts.is_empty() {
            let content = contexts;
            self.append(EventBody::ToolContext { turn, content })?;
        }
        Ok(end)
    }

    async fn answer(&mut self, place: Place, cancel: &TurnCancel) -> Result<Outcome, LoopError> {
        let (mut received, stop) = match self.ask(place, cancel).await? {
            Asked::Answered(received, stop) => (received, stop),
            Asked::Ended(end) => return Ok(Outcome::end(end)),
        };
        let cut_short = match stop {
            StopReason::MaxTokens => Some(TurnEnd::MaxTokens),
            StopReason::Refusal => Some(TurnEnd::Refusal),
            StopReason::EndTurn | StopReason::ToolUse => None,
        };
        if let Some(end) = cut_short {
            // The last call may be half of what the model meant, so none is taken up.
            received.drop_calls();
            self.commit(place, received, Some(stop))?;
            return Ok(Outcome::end(end));
        }
        let calls = self.name_calls(place, &mut received);
        self.commit(place, received, Some(stop))?;
        if calls.is_empty() {
            return Ok(Outcome::end(TurnEnd::Completed));
        }
        let (bytes, places) = (self.bytes_for_results(), self.places_of(&calls));
        let made = Repeats::made(&calls);
        let results = self.run_calls(place, calls, bytes, cancel).await?;
        let stuck = self.repeats.take(made, &results, self.options.limits.max_repeats);
        let concluded = results.iter().any(|result| result.concludes_turn);
        let mut contexts: Vec<ContentBlock> = results.into_iter().flat_map(|result| result.contexts).collect();
        contexts.extend(self.notes_on(places, cancel).await);
        Ok(Outcome {
            end: match stuck {
                _ if concluded => Some(TurnEnd::Completed),
                stuck => stuck.map(|message| TurnEnd::Error { message }),
            },
            contexts,
        })
    }

    /// What the results of one step may take together.
    fn bytes_for_results(&self) -> usize {
        let resolved = self.options.models.resolve(self.model.get().as_deref());
        let window = resolved.map_or(ASSUMED_WINDOW, |resolved| {
            self.window_of(&resolved).unwrap_or(ASSUMED_WINDOW)
        });
        bytes_of_tokens(self.options.limits.context.results_of(window))
    }

    /// The calls of an answer, each under an id that the session has not seen: some endpoints count
    /// from the start in every answer.
    fn name_calls(&self, place: Place, received: &mut Received) -> Vec<NamedCall> {
        let (mut calls, mut taken) = (Vec::new(), HashSet::new());
        for block in &mut received.blocks {
            let AssistantBlock::ToolCall { id, name, arguments } = block else {
                continue;
            };
            // From the place of the call on, so that many equal ids take no longer.
            let (as_given, mut number) = (id.clone(), calls.len() + 1);
            while self.history.has_call(id) || !taken.insert(id.clone()) {
                *id = CallId::new(format!("{as_given}_{}_{}_{number}", place.turn, place.step));
                number += 1;
            }
            calls.push(NamedCall {
                id: id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
            });
        }
        calls
    }
}
