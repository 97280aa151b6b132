//! From the events of an answer to the events of a model.

use std::sync::Arc;

use serde_json::json;
use weft_model::{ModelError, ModelRequest};
use weft_types::{StopReason, Usage};

use super::Responses;
use super::items::{Item, Items, Place, is_refusal, sealed, text, text_of};
use crate::dialect::{Answer, Events};
use crate::draft::{Draft, MAX_CALLS, WholeCall};
use crate::json::Json;
use crate::sse::SseEvent;

/// What stands between two parts of a summary.
const BREAK: &str = "\n\n";

/// An answer while it arrives.
#[derive(Debug)]
pub(super) struct ResponsesAnswer {
    draft: Draft,
    items: Items,
    /// Why the answer ended, once its last event came.
    stop: Option<StopReason>,
    is_refusal: bool,
}

impl Answer for ResponsesAnswer {
    fn has_ended(&self) -> bool {
        self.stop.is_some()
    }

    fn is_whole(&self) -> bool {
        self.stop.is_some()
    }

    fn take_event(&mut self, event: &SseEvent, events: &mut Events) -> Result<(), ModelError> {
        // The end marker of another protocol, which some gateways add, says nothing here.
        if matches!(event.data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let value = self.draft.endpoint.parse(event)?;
        let kind = value.get("type").and_then(Json::as_str).unwrap_or(&event.kind);
        let place = Place::of_event(&value);
        let item = value.get("item").unwrap_or(&Json::Null);
        match kind {
            "response.output_item.added" => self.begin(place, item),
            "response.output_item.done" => self.end(place, item, events),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.is_refusal |= kind == "response.refusal.delta";
                self.take_text(place, text(&value, "delta"), events)
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.take_reasoning(place, text(&value, "delta"), events)
            }
            "response.reasoning_summary_part.added" => self.take_break(place, events),
            "response.function_call_arguments.delta" => self.take_arguments(place, text(&value, "delta")),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.take_response(value.get("response").unwrap_or(&Json::Null), kind, events)
            }
            "error" => Err(self.draft.endpoint.failed(&value.to_value())),
            _ if value.get("error").is_some_and(|error| !error.is_null()) => {
                Err(self.draft.endpoint.failed(&value.to_value()))
            }
            // What only repeats or announces, and what later versions add.
            _ => Ok(()),
        }
    }

    fn take_whole(&mut self, body: &[u8], events: &mut Events) -> Result<(), ModelError> {
        let endpoint = Arc::clone(&self.draft.endpoint);
        let value: Json<'_> = endpoint.parse_whole(body)?;
        let status = match value.get("status").and_then(Json::as_str) {
            _ if value.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(endpoint.failed(&value.to_value()));
            }
            Some(status) if value.get("output").and_then(Json::as_array).is_some() => status,
            _ => return Err(endpoint.foreign("something else", &value.to_value().to_string())),
        };
        self.take_response(&value, &format!("response.{status}"), events)
    }

    fn finish(&mut self, events: &mut Events) -> Result<(), ModelError> {
        let Some(stop) = self.stop else {
            return Err(self.draft.endpoint.incomplete("it just stops"));
        };
        if stop == StopReason::EndTurn && self.items.has_open_call() {
            return Err(self.draft.endpoint.incomplete("it holds a tool call that did not end"));
        }
        let calls = std::mem::take(&mut self.items).into_calls();
        self.draft.finish(stop, calls, events)
    }
}

impl ResponsesAnswer {
    pub(super) fn new(responses: &Responses, request: &ModelRequest) -> Self {
        Self {
            draft: Draft::new(Arc::clone(&responses.endpoint), request),
            items: Items::default(),
            stop: None,
            is_refusal: false,
        }
    }

    fn begin(&mut self, place: Place<'_>, value: &Json<'_>) -> Result<(), ModelError> {
        if self.items.len() == MAX_CALLS {
            return Err(self.draft.endpoint.too_long(format!("more than {MAX_CALLS} items")));
        }
        self.items.begin(place, value);
        self.draft
            .count(text(value, "call_id").len() + text(value, "name").len())
    }

    fn take_text(&mut self, place: Place<'_>, more: &str, events: &mut Events) -> Result<(), ModelError> {
        match self.items.get(place).map(|numbered| &mut numbered.item) {
            Some(Item::Message { text }) => text.push_str(more),
            _ => return Err(self.stray("text")),
        }
        self.draft.text(more, events)
    }

    fn take_reasoning(&mut self, place: Place<'_>, more: &str, events: &mut Events) -> Result<(), ModelError> {
        match self.items.get(place).map(|numbered| &mut numbered.item) {
            Some(Item::Reasoning { shown }) => shown.push_str(more),
            _ => return Err(self.stray("reasoning")),
        }
        self.draft.reasoning(more, events)
    }

    /// Parts the paragraphs of a summary.
    fn take_break(&mut self, place: Place<'_>, events: &mut Events) -> Result<(), ModelError> {
        match self.items.get(place).map(|numbered| &numbered.item) {
            Some(Item::Reasoning { shown }) if !shown.is_empty() => self.take_reasoning(place, BREAK, events),
            _ => Ok(()),
        }
    }

    fn take_arguments(&mut self, place: Place<'_>, more: &str) -> Result<(), ModelError> {
        match self.items.get(place).map(|numbered| &mut numbered.item) {
            Some(Item::Call(call)) => call.arguments.push_str(more),
            // The input of a tool that the endpoint runs itself.
            Some(Item::Other) => {}
            _ => return Err(self.stray("arguments")),
        }
        self.draft.count(more.len())
    }

    fn stray(&self, what: &str) -> ModelError {
        let why = format!("a piece of {what} belongs to no item of its kind");
        self.draft.endpoint.incomplete(why)
    }

    /// Takes an item as it ended, which says all: what did not come in pieces is given on now.
    fn end(&mut self, place: Place<'_>, value: &Json<'_>, events: &mut Events) -> Result<(), ModelError> {
        if self.items.get(place).is_none_or(|numbered| numbered.is_done) {
            self.begin(place, value)?;
        }
        self.is_refusal |= is_refusal(value);
        let whole = text_of(value);
        let Some(numbered) = self.items.get(place) else {
            return Ok(());
        };
        numbered.is_done = true;
        match &mut numbered.item {
            Item::Message { text } => {
                let rest = whole.strip_prefix(text.as_str()).unwrap_or_default().to_owned();
                text.push_str(&rest);
                self.draft.text(&rest, events)
            }
            Item::Reasoning { shown } => {
                let rest = whole.strip_prefix(shown.as_str()).unwrap_or_default().to_owned();
                shown.push_str(&rest);
                self.draft.count(text(value, "encrypted_content").len())?;
                self.draft.reasoning(&rest, events)?;
                match sealed(value) {
                    Some(item) => self.draft.seal(self.items.calls_before(place), item, events),
                    None => Ok(()),
                }
            }
            Item::Call(call) => {
                let before = call.arguments.len();
                complete(call, value);
                let more = call.arguments.len().saturating_sub(before);
                self.draft.count(more)
            }
            Item::Other => Ok(()),
        }
    }

    /// Why an answer stopped, by its last event.
    fn ending(&self, response: &Json<'_>, kind: &str) -> Result<StopReason, ModelError> {
        let endpoint = &self.draft.endpoint;
        let reason = response.at(&["incomplete_details", "reason"]).and_then(Json::as_str);
        match (kind, reason) {
            ("response.completed", _) => Ok(StopReason::EndTurn),
            ("response.incomplete", Some("max_output_tokens")) => Ok(StopReason::MaxTokens),
            ("response.incomplete", Some("content_filter")) => Ok(StopReason::Refusal),
            ("response.failed", _) => {
                let error = response.get("error").filter(|error| !error.is_null());
                let unsaid = || json!({ "message": "it failed without a reason" });
                Err(endpoint.failed(&json!({ "error": error.map_or_else(unsaid, Json::to_value) })))
            }
            _ => {
                let ended = kind.trim_start_matches("response.");
                let reason = reason.unwrap_or("no reason given");
                Err(endpoint.incomplete(format!("the endpoint ended it as {ended} ({reason})")))
            }
        }
    }

    /// Takes the last event: the answer as it ended. Items that did not come before come with it.
    fn take_response(&mut self, response: &Json<'_>, kind: &str, events: &mut Events) -> Result<(), ModelError> {
        let stop = self.ending(response, kind)?;
        let output = response.get("output").and_then(Json::as_array);
        let came_in_pieces = self.items.len() > 0;
        for (index, item) in (0..).zip(output.into_iter().flatten()) {
            let place = Place::new(Some(index), item.get("id"));
            let is_new = match self.items.get(place) {
                Some(numbered) => !numbered.is_done,
                None => !came_in_pieces,
            };
            if is_new {
                self.end(place, item, events)?;
            }
        }
        self.draft.usage = response.get("usage").and_then(read_usage);
        let is_refused = stop == StopReason::EndTurn && self.is_refusal;
        self.stop = Some(if is_refused { StopReason::Refusal } else { stop });
        Ok(())
    }
}

/// Puts what a call's end says in the place of what its pieces said.
fn complete(call: &mut WholeCall, end: &Json<'_>) {
    for (key, held) in [
        ("call_id", &mut call.id),
        ("name", &mut call.name),
        ("arguments", &mut call.arguments),
    ] {
        let whole = text(end, key);
        if !whole.is_empty() {
            whole.clone_into(held);
        }
    }
}

/// The tokens that an endpoint counted; `None` unless it gives a number at all.
fn read_usage(usage: &Json<'_>) -> Option<Usage> {
    let number = |path: &[&str]| usage.at(path).and_then(Json::as_u64);
    let (input, output) = (number(&["input_tokens"]), number(&["output_tokens"]));
    (input.is_some() || output.is_some()).then(|| Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        cached_input_tokens: number(&["input_tokens_details", "cached_tokens"]).unwrap_or_default(),
        reasoning_tokens: number(&["output_tokens_details", "reasoning_tokens"]).unwrap_or_default(),
    })
}
