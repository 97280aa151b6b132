//! What the answers of every protocol have in common while they arrive.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use weft_model::{ModelError, ModelEvent, ModelRequest, RequestOrigin};
use weft_types::{AssistantBlock, CallId, Message, StopReason, Usage};

use crate::dialect::Events;
use crate::endpoint::Endpoint;
use crate::json::Json;
use crate::sealed;
use crate::sse::SseEvent;

/// The most tool calls that one answer may hold.
pub(crate) const MAX_CALLS: usize = 1_024;

/// An answer while it arrives: how much of it there is, its tokens, and the ids that its calls may have.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) origin: RequestOrigin,
    pub(crate) model: String,
    pub(crate) usage: Option<Usage>,
    /// Ids of calls that the conversation holds already.
    used_ids: HashSet<CallId>,
    bytes: usize,
    has_content: bool,
}

/// A tool call of which all has arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WholeCall {
    /// Empty if the endpoint gave none.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
    /// What the endpoint wants back with the call, unread; `Null` for nothing.
    pub(crate) extra: Value,
}

impl Draft {
    pub(crate) fn new(endpoint: Arc<Endpoint>, request: &ModelRequest) -> Self {
        Self {
            endpoint,
            origin: request.origin.clone(),
            model: request.model.clone(),
            usage: None,
            used_ids: request.messages.iter().flat_map(call_ids).cloned().collect(),
            bytes: 0,
            has_content: false,
        }
    }

    /// Whether anything of the answer came that counts as content.
    pub(crate) fn has_content(&self) -> bool {
        self.has_content
    }

    /// Gives on a piece of text; an empty one is none.
    pub(crate) fn text(&mut self, text: &str, events: &mut Events) -> Result<(), ModelError> {
        if text.is_empty() {
            return Ok(());
        }
        self.count(text.len())?;
        events.push_back(ModelEvent::TextDelta(text.to_owned()));
        Ok(())
    }

    /// Gives on a piece of reasoning; an empty one is none.
    pub(crate) fn reasoning(&mut self, text: &str, events: &mut Events) -> Result<(), ModelError> {
        if text.is_empty() {
            return Ok(());
        }
        self.count(text.len())?;
        events.push_back(ModelEvent::ReasoningDelta(text.to_owned()));
        Ok(())
    }

    /// Gives on what goes back with the reasoning that came; `calls` is how many calls stand before it. The parts of
    /// the seal are counted where they arrive.
    pub(crate) fn seal(&mut self, calls: usize, value: Value, events: &mut Events) -> Result<(), ModelError> {
        self.count(0)?;
        let seal = sealed::seal(&self.endpoint, &self.model, calls, value);
        events.push_back(ModelEvent::ReasoningSealed(seal));
        Ok(())
    }

    /// Counts what is held of the answer against its limit.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.has_content = true;
        self.bytes += bytes;
        let max = self.endpoint.config.max_answer_bytes;
        if self.bytes > max {
            return Err(self.endpoint.too_long(format!("more than max_answer_bytes ({max})")));
        }
        Ok(())
    }

    /// Ends the answer.
    ///
    /// `stop` leaves tool calls aside: an answer that came to its end with calls has called them. The calls
    /// of one that was cut off are left out, since the last is not whole and the others were meant together
    /// with it.
    pub(crate) fn finish(
        &mut self,
        stop: StopReason,
        calls: Vec<WholeCall>,
        events: &mut Events,
    ) -> Result<(), ModelError> {
        let is_called = stop == StopReason::EndTurn && !calls.is_empty();
        if is_called {
            if calls.iter().any(|call| call.name.is_empty()) {
                return Err(self.endpoint.incomplete("it holds a tool call without a name"));
            }
            for (at, call) in calls.into_iter().enumerate() {
                let id = self.id_of(&call, at + 1);
                events.push_back(tool_call(id, call));
            }
        } else if !calls.is_empty() {
            let calls = calls.len();
            tracing::warn!(calls, ?stop, "left out the tool calls of an answer that was cut off");
        }
        events.extend(self.usage.map(ModelEvent::Usage));
        events.push_back(ModelEvent::Finish(if is_called { StopReason::ToolUse } else { stop }));
        Ok(())
    }

    /// The call's id. One that is missing, or that the conversation holds already, is replaced: some
    /// endpoints number the calls of every answer from nought.
    fn id_of(&mut self, call: &WholeCall, number: usize) -> CallId {
        let given = CallId::new(call.id.as_str());
        let is_good = !given.as_str().is_empty() && self.used_ids.insert(given.clone());
        if is_good {
            given
        } else {
            self.origin.mint_call_id(number)
        }
    }
}

impl Endpoint {
    /// The JSON text of an event.
    pub(crate) fn parse<'a>(&self, event: &'a SseEvent) -> Result<Json<'a>, ModelError> {
        serde_json::from_str(&event.data).map_err(|error| {
            let found = self.excerpt(&event.data);
            self.incomplete(format!("an event is not JSON ({error}): {found}"))
        })
    }

    /// The JSON text of an answer in one piece.
    pub(crate) fn parse_whole<'a, T: Deserialize<'a>>(&self, text: &'a [u8]) -> Result<T, ModelError> {
        serde_json::from_slice(text).map_err(|_| self.foreign("something else", &String::from_utf8_lossy(text)))
    }
}

fn call_ids(message: &Message) -> impl Iterator<Item = &CallId> {
    let blocks = match message {
        Message::Assistant { content } => content.as_slice(),
        _ => &[],
    };
    blocks.iter().filter_map(|block| match block {
        AssistantBlock::ToolCall { id, .. } => Some(id),
        _ => None,
    })
}

fn tool_call(id: CallId, call: WholeCall) -> ModelEvent {
    let arguments = if call.arguments.trim().is_empty() {
        "{}".to_owned()
    } else {
        call.arguments
    };
    ModelEvent::ToolCall {
        id,
        name: call.name,
        arguments,
    }
}
