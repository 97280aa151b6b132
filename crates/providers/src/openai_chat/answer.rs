//! From the chunks of an answer to the events of a model.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use weft_model::{ModelError, ModelErrorKind, ModelEvent, ModelRequest, RequestOrigin};
use weft_types::{AssistantBlock, CallId, Message, StopReason, Usage};

use super::Endpoint;
use super::calls::{Calls, MAX_CALLS, PartialCall};
use crate::redact::excerpt;
use crate::sse::SseEvent;

/// Events that wait to be taken by the caller.
pub(super) type Events = VecDeque<ModelEvent>;

/// An answer while it arrives.
#[derive(Debug)]
pub(super) struct Answer {
    endpoint: Arc<Endpoint>,
    origin: RequestOrigin,
    /// Ids of calls that the conversation holds already.
    used_ids: HashSet<CallId>,
    calls: Calls,
    usage: Option<Usage>,
    finish: Option<String>,
    /// Whether the end marker came.
    has_ended: bool,
    has_content: bool,
    is_refusal: bool,
    bytes: usize,
}

impl Answer {
    pub(super) fn new(endpoint: Arc<Endpoint>, request: &ModelRequest) -> Self {
        Self {
            endpoint,
            origin: request.origin.clone(),
            used_ids: request.messages.iter().flat_map(call_ids).cloned().collect(),
            calls: Calls::default(),
            usage: None,
            finish: None,
            has_ended: false,
            has_content: false,
            is_refusal: false,
            bytes: 0,
        }
    }

    /// Whether the end marker came: nothing that follows counts.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether the answer says of itself that it is whole; only its usage may still come.
    pub(super) fn is_whole(&self) -> bool {
        self.has_ended || self.finish.is_some()
    }

    /// Takes one event of a stream.
    pub(super) fn take_event(&mut self, event: &SseEvent, events: &mut Events) -> Result<(), ModelError> {
        match event.data.trim() {
            // Sent to keep the connection alive.
            "" => return Ok(()),
            "[DONE]" => {
                self.has_ended = true;
                return Ok(());
            }
            _ => {}
        }
        let value = serde_json::from_str(&event.data).map_err(|error| {
            let found = excerpt(&event.data, &self.endpoint.secrets);
            self.endpoint
                .incomplete(format!("an event is not JSON ({error}): {found}"))
        })?;
        match event.kind.as_str() {
            "error" => Err(self.endpoint.failed(&value)),
            _ => self.take(&value, events),
        }
    }

    /// Takes an answer that came in one piece.
    pub(super) fn take_whole(&mut self, text: &[u8], events: &mut Events) -> Result<(), ModelError> {
        let what = "something else";
        let value: Value =
            serde_json::from_slice(text).map_err(|_| self.endpoint.foreign(what, &String::from_utf8_lossy(text)))?;
        self.take(&value, events)?;
        if value.get("choices").is_none() {
            return Err(self.endpoint.foreign(what, &value.to_string()));
        }
        self.has_ended = true;
        Ok(())
    }

    fn take(&mut self, value: &Value, events: &mut Events) -> Result<(), ModelError> {
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(self.endpoint.failed(value));
        }
        let choices = value.get("choices").and_then(Value::as_array);
        // Only one choice is asked for; should there be more, they are other answers to the same request.
        let is_first = |choice: &&Value| choice.get("index").is_none_or(|index| index.as_u64().unwrap_or(0) == 0);
        let choice = choices.and_then(|choices| choices.iter().find(is_first));
        let usage = value.get("usage").or_else(|| choice?.get("usage"));
        self.usage = usage.and_then(read_usage).or(self.usage);
        let Some(choice) = choice else { return Ok(()) };
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.take_delta(delta, events)?;
        }
        if let Some(reason) = choice
            .get("finish_reason")
            .and_then(Value::as_str)
            .filter(|reason| !reason.is_empty())
        {
            self.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    fn take_delta(&mut self, delta: &Value, events: &mut Events) -> Result<(), ModelError> {
        let reasoning = ["reasoning_content", "reasoning"]
            .iter()
            .map(|key| text_of(delta.get(key)));
        if let Some(text) = reasoning.into_iter().find(|text| !text.is_empty()) {
            self.count(text.len())?;
            events.push_back(ModelEvent::ReasoningDelta(text));
        }
        let refusal = text_of(delta.get("refusal"));
        self.is_refusal |= !refusal.is_empty();
        for text in [text_of(delta.get("content")), refusal] {
            if !text.is_empty() {
                self.count(text.len())?;
                events.push_back(ModelEvent::TextDelta(text));
            }
        }
        for element in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let added = self.calls.take(element);
            let added = added.map_err(|_| self.endpoint.too_long(format!("more than {MAX_CALLS} tool calls")))?;
            self.count(added)?;
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.has_content = true;
        self.bytes += bytes;
        let max = self.endpoint.config.max_answer_bytes;
        if self.bytes > max {
            return Err(self.endpoint.too_long(format!("more than max_answer_bytes ({max})")));
        }
        Ok(())
    }

    /// The events that end the answer: its calls, its usage, and why it stopped.
    pub(super) fn finish(mut self, events: &mut Events) -> Result<(), ModelError> {
        let stop = self.stop_reason()?;
        let calls = std::mem::take(&mut self.calls).finish();
        let is_called = stop == StopReason::EndTurn && !calls.is_empty();
        if is_called {
            if calls.iter().any(|call| call.name.is_empty()) {
                return Err(self.endpoint.incomplete("it holds a tool call without a name"));
            }
            let call = |(at, call)| tool_call(call, &self.origin, at + 1, &mut self.used_ids);
            events.extend(calls.into_iter().enumerate().map(call));
        } else if !calls.is_empty() {
            // The last of them is cut off, and the others were meant together with it.
            tracing::warn!(
                calls = calls.len(),
                ?stop,
                "left out the tool calls of an answer that was cut off"
            );
        }
        events.extend(self.usage.map(ModelEvent::Usage));
        events.push_back(ModelEvent::Finish(if is_called { StopReason::ToolUse } else { stop }));
        Ok(())
    }

    /// Why the model stopped, tool calls left aside: some endpoints say `stop` when there are some.
    fn stop_reason(&self) -> Result<StopReason, ModelError> {
        match self.finish.as_deref() {
            None if !self.has_ended || !self.has_content => Err(self.endpoint.incomplete("it just stops")),
            Some("length" | "max_tokens") => Ok(StopReason::MaxTokens),
            Some("content_filter" | "refusal") => Ok(StopReason::Refusal),
            Some("insufficient_system_resource") => {
                let message = format!("{} broke off its answer for want of resources", self.endpoint.name);
                Err(ModelError::new(ModelErrorKind::Overloaded, message))
            }
            Some("error") => Err(self.endpoint.incomplete("the endpoint ended it with an error")),
            _ if self.is_refusal => Ok(StopReason::Refusal),
            _ => Ok(StopReason::EndTurn),
        }
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

/// A call as an event. An id that is missing, or that the conversation holds already, is replaced: some
/// endpoints number the calls of every answer from nought.
fn tool_call(call: PartialCall, origin: &RequestOrigin, number: usize, used: &mut HashSet<CallId>) -> ModelEvent {
    let given = CallId::new(call.id);
    let is_good = !given.as_str().is_empty() && used.insert(given.clone());
    let id = if is_good { given } else { origin.mint_call_id(number) };
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

/// A text, or the texts of a list of parts.
fn text_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

/// The tokens that an endpoint counted; `None` unless it gives a number at all.
fn read_usage(usage: &Value) -> Option<Usage> {
    let number = |value: Option<&Value>| value.and_then(Value::as_u64);
    let detail = |group: &str, key: &str| number(usage.get(group).and_then(|group| group.get(key)));
    let (input, output) = (
        number(usage.get("prompt_tokens")),
        number(usage.get("completion_tokens")),
    );
    let cached = detail("prompt_tokens_details", "cached_tokens").or(number(usage.get("prompt_cache_hit_tokens")));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        cached_input_tokens: cached.unwrap_or_default(),
        reasoning_tokens: detail("completion_tokens_details", "reasoning_tokens").unwrap_or_default(),
    })
}
