//! The Responses adapter against an endpoint on loopback.

mod calls;
mod errors;
mod requests;
mod streams;

use futures::StreamExt;
use weft_model::{Model, ModelError, ModelEvent, ModelRequest};
use weft_providers::{OpenAiResponses, OpenAiResponsesConfig, Secret};
use weft_types::{CallId, ContentBlock, Message, StopReason, Usage};

use crate::server::{self, End, Reply, Server};
use crate::support::{self, KEY, ask, text, thought, tool_call};

fn config(server: &Server) -> OpenAiResponsesConfig {
    let mut config = OpenAiResponsesConfig::new(server.url());
    config.endpoint.api_key = Some(Secret::new(KEY));
    config
}

fn model(server: &Server) -> OpenAiResponses {
    OpenAiResponses::new(config(server)).expect("a good configuration")
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
    format!("event: response.{kind}\ndata: {{\"type\":\"response.{kind}\"{rest}}}\n\n")
}

fn start() -> String {
    event(
        "created",
        ",\"response\":{\"status\":\"in_progress\",\"output\":[],\"error\":null}",
    ) + &event(
        "in_progress",
        ",\"response\":{\"status\":\"in_progress\",\"output\":[],\"error\":null}",
    )
}

fn added(index: u64, item: &str) -> String {
    event(
        "output_item.added",
        &format!(",\"output_index\":{index},\"item\":{item}"),
    )
}

fn done(index: u64, item: &str) -> String {
    event(
        "output_item.done",
        &format!(",\"output_index\":{index},\"item\":{item}"),
    )
}

/// A piece of an item.
fn piece(kind: &str, index: u64, delta: &str) -> String {
    event(
        kind,
        &format!(",\"item_id\":\"i{index}\",\"output_index\":{index},\"delta\":{delta:?}"),
    )
}

fn say(index: u64, text: &str) -> String {
    piece("output_text.delta", index, text)
}

fn message(index: u64, text: &str) -> String {
    let content = format!("[{{\"type\":\"output_text\",\"text\":{text:?},\"annotations\":[]}}]");
    format!("{{\"type\":\"message\",\"id\":\"i{index}\",\"role\":\"assistant\",\"content\":{content}}}")
}

fn begin_message(index: u64) -> String {
    added(
        index,
        &format!("{{\"type\":\"message\",\"id\":\"i{index}\",\"role\":\"assistant\",\"content\":[]}}"),
    )
}

/// A whole message.
fn said(index: u64, text: &str) -> String {
    begin_message(index) + &say(index, text) + &done(index, &message(index, text))
}

fn call(index: u64, id: &str, name: &str, arguments: &str) -> String {
    format!(
        "{{\"type\":\"function_call\",\"id\":\"i{index}\",\"call_id\":{id:?},\"name\":{name:?},\"arguments\":{arguments:?}}}"
    )
}

/// A whole call.
fn called(index: u64, id: &str, name: &str, arguments: &str) -> String {
    added(index, &call(index, id, name, ""))
        + &piece("function_call_arguments.delta", index, arguments)
        + &done(index, &call(index, id, name, arguments))
}

const USAGE: &str = "\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":70},\
                     \"output_tokens\":5,\"output_tokens_details\":{\"reasoning_tokens\":3}}";

/// The last event of a good answer.
fn completed() -> String {
    event(
        "completed",
        &format!(",\"response\":{{\"status\":\"completed\",\"error\":null,{USAGE}}}"),
    )
}

/// The last event of an answer that was cut off.
fn incomplete(reason: &str) -> String {
    let details = format!("\"incomplete_details\":{{\"reason\":{reason:?}}}");
    event(
        "incomplete",
        &format!(",\"response\":{{\"status\":\"incomplete\",\"error\":null,{details},{USAGE}}}"),
    )
}

fn usage() -> ModelEvent {
    ModelEvent::Usage(Usage {
        input_tokens: 100,
        output_tokens: 5,
        cached_input_tokens: 70,
        reasoning_tokens: 3,
    })
}

/// The events that end a good answer.
fn finished(stop: StopReason) -> [ModelEvent; 2] {
    [usage(), ModelEvent::Finish(stop)]
}
