//! From the events of an answer to the events of a model.

use std::sync::Arc;

use weft_model::{ModelError, ModelErrorKind, ModelRequest};
use weft_types::{StopReason, Usage};

use super::Messages;
use super::blocks::{Block, Blocks};
use crate::dialect::{Answer, Events};
use crate::draft::{Draft, MAX_CALLS};
use crate::json::Json;
use crate::sse::SseEvent;

/// What a block counts for beside its text, so that empty ones are bounded too.
const BLOCK_BYTES: usize = 64;

/// An answer while it arrives.
#[derive(Debug)]
pub(super) struct MessagesAnswer {
    draft: Draft,
    blocks: Blocks,
    tokens: Tokens,
    stop_reason: Option<String>,
    /// Whether the end marker came.
    has_ended: bool,
}

impl Answer for MessagesAnswer {
    fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn is_whole(&self) -> bool {
        self.has_ended || self.stop_reason.is_some()
    }

    fn take_event(&mut self, event: &SseEvent, events: &mut Events) -> Result<(), ModelError> {
        // The end marker of another protocol, which some gateways add, says nothing here.
        if matches!(event.data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let value = self.draft.endpoint.parse(event)?;
        let kind = value.get("type").and_then(Json::as_str).unwrap_or(&event.kind);
        let index = value.get("index").and_then(Json::as_u64);
        match kind {
            "message_start" => self.tokens.take(value.at(&["message", "usage"])),
            "content_block_start" => {
                let block = value.get("content_block").unwrap_or(&Json::Null);
                self.begin(index, block, events)?;
            }
            "content_block_delta" => {
                let delta = value.get("delta").unwrap_or(&Json::Null);
                self.take_delta(index, delta, events)?;
            }
            "content_block_stop" => {
                self.blocks.end(index);
                self.seal(events)?;
            }
            "message_delta" => {
                self.tokens.take(value.get("usage"));
                self.take_stop_reason(value.get("delta"));
            }
            "message_stop" => self.has_ended = true,
            "error" => return Err(self.draft.endpoint.failed(&value.to_value())),
            // Such as `ping`; the protocol says that more kinds may come.
            _ if value.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(self.draft.endpoint.failed(&value.to_value()));
            }
            _ => {}
        }
        Ok(())
    }

    fn take_whole(&mut self, text: &[u8], events: &mut Events) -> Result<(), ModelError> {
        let endpoint = Arc::clone(&self.draft.endpoint);
        let value: Json<'_> = endpoint.parse_whole(text)?;
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(endpoint.failed(&value.to_value()));
        }
        let Some(content) = value.get("content").and_then(Json::as_array) else {
            return Err(endpoint.foreign("something else", &value.to_value().to_string()));
        };
        for block in content {
            self.begin(None, block, events)?;
            self.blocks.end(None);
            self.seal(events)?;
        }
        self.tokens.take(value.get("usage"));
        self.take_stop_reason(Some(&value));
        self.has_ended = true;
        Ok(())
    }

    fn finish(&mut self, events: &mut Events) -> Result<(), ModelError> {
        let stop = self.stop()?;
        if stop == StopReason::EndTurn && self.blocks.has_open_call() {
            return Err(self.draft.endpoint.incomplete("it holds a tool call that did not end"));
        }
        self.draft.usage = self.tokens.usage();
        self.blocks.end_thinking();
        self.seal(events)?;
        let calls = std::mem::take(&mut self.blocks).into_calls();
        self.draft.finish(stop, calls, events)
    }
}

impl MessagesAnswer {
    pub(super) fn new(messages: &Messages, request: &ModelRequest) -> Self {
        Self {
            draft: Draft::new(Arc::clone(&messages.endpoint), request),
            blocks: Blocks::default(),
            tokens: Tokens::default(),
            stop_reason: None,
            has_ended: false,
        }
    }

    /// Gives on the seals of the thinking that has ended.
    fn seal(&mut self, events: &mut Events) -> Result<(), ModelError> {
        for seal in self.blocks.take_seals() {
            self.draft.seal(seal.calls, seal.value, events)?;
        }
        Ok(())
    }

    fn begin(&mut self, index: Option<u64>, value: &Json<'_>, events: &mut Events) -> Result<(), ModelError> {
        self.blocks.end_thinking();
        self.seal(events)?;
        let block = Block::read(value);
        match &block {
            Block::Text(text) => self.draft.text(text, events)?,
            Block::Thinking { thinking, signature } => {
                self.draft.reasoning(thinking, events)?;
                self.draft.count(signature.len())?;
            }
            Block::Call { .. } if self.blocks.calls_begun() == MAX_CALLS => {
                let endpoint = &self.draft.endpoint;
                return Err(endpoint.too_long(format!("more than {MAX_CALLS} tool calls")));
            }
            Block::Call { .. } | Block::Redacted { .. } | Block::Other => self.draft.count(block.len())?,
        }
        self.draft.count(BLOCK_BYTES)?;
        self.blocks.begin(index, block);
        Ok(())
    }

    fn take_delta(&mut self, index: Option<u64>, delta: &Json<'_>, events: &mut Events) -> Result<(), ModelError> {
        let text = |key: &str| delta.get(key).and_then(Json::as_str).unwrap_or_default();
        let kind = delta.get("type").and_then(Json::as_str).unwrap_or_default();
        match (kind, self.blocks.get(index)) {
            ("text_delta", Some(Block::Text(held))) => {
                held.push_str(text("text"));
                self.draft.text(text("text"), events)
            }
            ("thinking_delta", Some(Block::Thinking { thinking, .. })) => {
                thinking.push_str(text("thinking"));
                self.draft.reasoning(text("thinking"), events)
            }
            ("signature_delta", Some(Block::Thinking { signature, .. })) => {
                signature.push_str(text("signature"));
                self.draft.count(text("signature").len())
            }
            ("input_json_delta", Some(Block::Call { call, .. })) => {
                call.arguments.push_str(text("partial_json"));
                self.draft.count(text("partial_json").len())
            }
            // The input of a tool that the endpoint runs itself, and what later versions add.
            (_, Some(Block::Other)) => Ok(()),
            ("text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta", _) => {
                let why = format!("a {kind} belongs to no block of its kind");
                Err(self.draft.endpoint.incomplete(why))
            }
            _ => Ok(()),
        }
    }

    fn take_stop_reason(&mut self, value: Option<&Json<'_>>) {
        let reason = value.and_then(|value| value.get("stop_reason")?.as_str());
        if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
            self.stop_reason = Some(reason.to_owned());
        }
    }

    /// Why the model stopped, tool calls left aside.
    fn stop(&self) -> Result<StopReason, ModelError> {
        match self.stop_reason.as_deref() {
            None => Err(self.draft.endpoint.incomplete("it just stops")),
            Some("max_tokens" | "model_context_window_exceeded") => Ok(StopReason::MaxTokens),
            Some("refusal") => Ok(StopReason::Refusal),
            Some("pause_turn") => {
                let message = format!(
                    "{} paused the turn (pause_turn), as endpoints do that run tools of their own; none was asked for",
                    self.draft.endpoint.name
                );
                Err(ModelError::new(ModelErrorKind::Protocol, message))
            }
            Some(_) => Ok(StopReason::EndTurn),
        }
    }
}

/// Tokens as the endpoint counts them; every count grows while the answer comes.
#[derive(Debug, Default)]
struct Tokens {
    /// Those of the request that were neither written to the cache nor read from it.
    input: Option<u64>,
    cache_written: Option<u64>,
    cache_read: Option<u64>,
    output: Option<u64>,
}

impl Tokens {
    /// Takes counts; those that are absent stay as they are.
    fn take(&mut self, usage: Option<&Json<'_>>) {
        let Some(usage) = usage else { return };
        let counts = [
            ("input_tokens", &mut self.input),
            ("cache_creation_input_tokens", &mut self.cache_written),
            ("cache_read_input_tokens", &mut self.cache_read),
            ("output_tokens", &mut self.output),
        ];
        for (key, count) in counts {
            *count = usage.get(key).and_then(Json::as_u64).max(*count);
        }
    }

    /// The tokens of the request, those of the cache included; `None` unless there is a number at all.
    fn usage(&self) -> Option<Usage> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        let count = |count: Option<u64>| count.unwrap_or_default();
        let input = count(self.input)
            .saturating_add(count(self.cache_written))
            .saturating_add(count(self.cache_read));
        Some(Usage {
            input_tokens: input,
            output_tokens: count(self.output),
            cached_input_tokens: count(self.cache_read),
            // Part of the output, and not told apart.
            reasoning_tokens: 0,
        })
    }
}
