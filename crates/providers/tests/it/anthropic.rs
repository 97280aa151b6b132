//! The Messages adapter against an endpoint on loopback.

mod calls;
mod errors;
mod requests;
mod streams;
mod thinking;

use futures::StreamExt;
use weft_model::{Model, ModelError, ModelEvent, ModelRequest};
use weft_providers::{Anthropic, AnthropicConfig, Secret, Thinking};
use weft_types::{CallId, ContentBlock, Message, StopReason, Usage};

use crate::server::{self, End, Reply, Server};
use crate::support::{self, KEY, ask, text, thought, tool_call};

fn config(server: &Server) -> AnthropicConfig {
    let mut config = AnthropicConfig::new(server.url());
    config.endpoint.api_key = Some(Secret::new(KEY));
    config
}

fn model(server: &Server) -> Anthropic {
    Anthropic::new(config(server)).expect("a good configuration")
}

async fn answer(reply: Reply) -> Vec<Result<ModelEvent, ModelError>> {
    let server = Server::start([reply]).await;
    model(&server).stream(ask("go")).collect().await
}

/// A good answer.
async fn good(reply: Reply) -> Vec<ModelEvent> {
    support::good(answer(reply).await)
}

/// The events before the error, and the error, which ends the stream.
async fn bad(reply: Reply) -> (Vec<ModelEvent>, ModelError) {
    support::bad(answer(reply).await)
}

/// An event as the endpoint writes it: its type stands in it twice.
fn event(kind: &str, rest: &str) -> String {
    format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n")
}

fn start() -> String {
    let usage = "\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":70,\
                 \"output_tokens\":1}";
    event(
        "message_start",
        &format!(
            ",\"message\":{{\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[],\"stop_reason\":null,{usage}}}"
        ),
    )
}

fn begin(index: u64, block: &str) -> String {
    event(
        "content_block_start",
        &format!(",\"index\":{index},\"content_block\":{block}"),
    )
}

fn delta(index: u64, delta: &str) -> String {
    event("content_block_delta", &format!(",\"index\":{index},\"delta\":{delta}"))
}

fn end(index: u64) -> String {
    event("content_block_stop", &format!(",\"index\":{index}"))
}

fn stop(reason: &str) -> String {
    event(
        "message_delta",
        &format!(
            ",\"delta\":{{\"stop_reason\":\"{reason}\",\"stop_sequence\":null}},\"usage\":{{\"output_tokens\":5}}"
        ),
    )
}

fn over() -> String {
    event("message_stop", "")
}

const TEXT: &str = "{\"type\":\"text\",\"text\":\"\"}";

fn say(index: u64, text: &str) -> String {
    delta(index, &format!("{{\"type\":\"text_delta\",\"text\":{text:?}}}"))
}

/// A whole block of text.
fn said(index: u64, text: &str) -> String {
    begin(index, TEXT) + &say(index, text) + &end(index)
}

fn begin_call(index: u64, id: &str, name: &str) -> String {
    begin(
        index,
        &format!("{{\"type\":\"tool_use\",\"id\":{id:?},\"name\":{name:?},\"input\":{{}}}}"),
    )
}

fn json(index: u64, part: &str) -> String {
    delta(
        index,
        &format!("{{\"type\":\"input_json_delta\",\"partial_json\":{part:?}}}"),
    )
}

/// A whole call.
fn called(index: u64, id: &str, name: &str, arguments: &str) -> String {
    begin_call(index, id, name) + &json(index, arguments) + &end(index)
}

/// A whole block of signed thinking.
fn thinks(index: u64, text: &str, signature: &str) -> String {
    [
        begin(index, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"),
        delta(index, &format!("{{\"type\":\"thinking_delta\",\"thinking\":{text:?}}}")),
        delta(
            index,
            &format!("{{\"type\":\"signature_delta\",\"signature\":{signature:?}}}"),
        ),
        end(index),
    ]
    .concat()
}

/// A whole answer with these blocks.
fn whole(blocks: &str, reason: &str) -> String {
    start() + blocks + &stop(reason) + &over()
}

fn usage() -> ModelEvent {
    ModelEvent::Usage(Usage {
        input_tokens: 100,
        output_tokens: 5,
        cached_input_tokens: 70,
        reasoning_tokens: 0,
    })
}

/// The events that end a good answer.
fn finished(stop: StopReason) -> [ModelEvent; 2] {
    [usage(), ModelEvent::Finish(stop)]
}
