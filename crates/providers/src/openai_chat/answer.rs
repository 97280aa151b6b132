//! From the chunks of an answer to the events of a model.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};
use weft_model::{ModelError, ModelErrorKind, ModelRequest};
use weft_types::{StopReason, Usage};

use super::calls::Calls;
use super::details::{Details, disclosed};
use crate::dialect::{Answer, Events};
use crate::draft::{Draft, MAX_CALLS};
use crate::endpoint::Endpoint;
use crate::json::Json;
use crate::sse::SseEvent;

/// An answer while it arrives.
#[derive(Debug)]
pub(super) struct ChatAnswer {
    draft: Draft,
    calls: Calls,
    details: Details,
    finish: Option<String>,
    /// Whether the end marker came.
    has_ended: bool,
    is_refusal: bool,
}

impl Answer for ChatAnswer {
    fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn is_whole(&self) -> bool {
        self.has_ended || self.finish.is_some()
    }

    fn take_event(&mut self, event: &SseEvent, events: &mut Events) -> Result<(), ModelError> {
        match event.data.trim() {
            // Sent to keep the connection alive.
            "" => return Ok(()),
            "[DONE]" => {
                self.has_ended = true;
                return Ok(());
            }
            _ => {}
        }
        let value = self.draft.endpoint.parse(event)?;
        match event.kind.as_str() {
            "error" => Err(self.draft.endpoint.failed(&value.to_value())),
            _ => self.take(&value, events),
        }
    }

    fn take_whole(&mut self, text: &[u8], events: &mut Events) -> Result<(), ModelError> {
        let value: Json<'_> = self.draft.endpoint.parse_whole(text)?;
        self.take(&value, events)?;
        if value.get("choices").is_none() {
            let found = value.to_value().to_string();
            return Err(self.draft.endpoint.foreign("something else", &found));
        }
        self.has_ended = true;
        Ok(())
    }

    fn finish(&mut self, events: &mut Events) -> Result<(), ModelError> {
        let stop = self.stop_reason()?;
        let calls = std::mem::take(&mut self.calls).finish();
        let extras: Vec<Value> = calls.iter().map(|call| call.extra.clone()).collect();
        let details = std::mem::take(&mut self.details).into_list();
        let mut seal = Map::new();
        if !details.is_empty() {
            seal.insert("reasoning_details".to_owned(), details.into());
        }
        if extras.iter().any(|extra| !extra.is_null()) {
            seal.insert("extra_content".to_owned(), extras.into());
        }
        if !seal.is_empty() {
            self.draft.seal(0, seal.into(), events)?;
        }
        self.draft.finish(stop, calls, events)
    }
}

impl ChatAnswer {
    pub(super) fn new(endpoint: Arc<Endpoint>, request: &ModelRequest) -> Self {
        Self {
            draft: Draft::new(endpoint, request),
            calls: Calls::default(),
            details: Details::default(),
            finish: None,
            has_ended: false,
            is_refusal: false,
        }
    }

    fn take(&mut self, value: &Json<'_>, events: &mut Events) -> Result<(), ModelError> {
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(self.draft.endpoint.failed(&value.to_value()));
        }
        let choices = value.get("choices").and_then(Json::as_array);
        // Only one choice is asked for; should there be more, they are other answers to the same request.
        let is_first = |choice: &&Json<'_>| choice.get("index").is_none_or(|index| index.as_u64().unwrap_or(0) == 0);
        let choice = choices.and_then(|choices| choices.iter().find(is_first));
        let usage = value.get("usage").or_else(|| choice?.get("usage"));
        self.draft.usage = usage.and_then(read_usage).or(self.draft.usage);
        let Some(choice) = choice else { return Ok(()) };
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.take_delta(delta, events)?;
        }
        if let Some(reason) = choice
            .get("finish_reason")
            .and_then(Json::as_str)
            .filter(|reason| !reason.is_empty())
        {
            self.finish = Some(reason.to_ascii_lowercase());
        }
        Ok(())
    }

    fn take_delta(&mut self, delta: &Json<'_>, events: &mut Events) -> Result<(), ModelError> {
        let reasoning = ["reasoning_content", "reasoning"]
            .iter()
            .map(|key| text_of(delta.get(key)));
        let details = delta.get("reasoning_details").and_then(Json::as_array);
        let details: Vec<Value> = details.unwrap_or_default().iter().map(Json::to_value).collect();
        for detail in &details {
            let added = self.details.take(detail);
            self.draft.count(added)?;
        }
        // The details repeat what the plain fields disclose.
        let plain = reasoning.into_iter().find(|text| !text.is_empty());
        let text = plain.unwrap_or_else(|| details.iter().map(disclosed).collect());
        self.draft.reasoning(&text, events)?;
        let refusal = text_of(delta.get("refusal"));
        self.is_refusal |= !refusal.is_empty();
        for text in [text_of(delta.get("content")), refusal] {
            self.draft.text(&text, events)?;
        }
        for element in delta.get("tool_calls").and_then(Json::as_array).unwrap_or_default() {
            let added = self.calls.take(element);
            let added = added.map_err(|_| {
                self.draft
                    .endpoint
                    .too_long(format!("more than {MAX_CALLS} tool calls"))
            })?;
            self.draft.count(added)?;
        }
        Ok(())
    }

    /// Why the model stopped, tool calls left aside: some endpoints say `stop` when there are some.
    fn stop_reason(&self) -> Result<StopReason, ModelError> {
        match self.finish.as_deref() {
            None if !self.has_ended || !self.draft.has_content() => {
                Err(self.draft.endpoint.incomplete("it just stops"))
            }
            Some("length" | "max_tokens" | "model_length" | "model_context_window_exceeded") => {
                Ok(StopReason::MaxTokens)
            }
            Some("content_filter" | "refusal" | "sensitive" | "safety") => Ok(StopReason::Refusal),
            Some("insufficient_system_resource") => {
                let message = format!(
                    "{} broke off its answer for want of resources",
                    self.draft.endpoint.name
                );
                Err(ModelError::new(ModelErrorKind::Overloaded, message))
            }
            Some("error" | "network_error" | "malformed_function_call") => {
                Err(self.draft.endpoint.incomplete("the endpoint ended it with an error"))
            }
            _ if self.is_refusal => Ok(StopReason::Refusal),
            _ => Ok(StopReason::EndTurn),
        }
    }
}

/// A text, or the texts of a list of parts.
fn text_of<'a>(value: Option<&'a Json<'_>>) -> Cow<'a, str> {
    match value {
        Some(Json::String(text)) => Cow::Borrowed(text),
        Some(Json::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => Cow::Borrowed(""),
    }
}

/// The tokens that an endpoint counted; `None` unless it gives a number at all.
fn read_usage(usage: &Json<'_>) -> Option<Usage> {
    let number = |value: Option<&Json<'_>>| value.and_then(Json::as_u64);
    let detail = |group: &str, key: &str| number(usage.get(group).and_then(|group| group.get(key)));
    let (input, output) = (
        number(usage.get("prompt_tokens")),
        number(usage.get("completion_tokens")),
    );
    let cached = detail("prompt_tokens_details", "cached_tokens")
        .or_else(|| number(usage.get("prompt_cache_hit_tokens")))
        .or_else(|| number(usage.get("cached_tokens")));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        cached_input_tokens: cached.unwrap_or_default(),
        reasoning_tokens: detail("completion_tokens_details", "reasoning_tokens").unwrap_or_default(),
    })
}
