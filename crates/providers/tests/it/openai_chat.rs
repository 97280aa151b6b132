//! The chat-completions adapter against an endpoint on loopback.

mod calls;
mod errors;
mod limits;
mod options;
mod requests;
mod stopping;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use weft_model::{Model, ModelError, ModelEvent, ModelRequest};
use weft_providers::{EndpointConfig, OpenAiChat, Secret};
use weft_types::{CallId, ContentBlock, Message, StopReason, Usage};

use crate::server::{self, Reply, Server};
use crate::support::{self, KEY, ask, text, tool_call};

fn config(server: &Server) -> EndpointConfig {
    let mut config = EndpointConfig::new(server.url());
    config.api_key = Some(Secret::new(KEY));
    config
}

fn model(server: &Server) -> OpenAiChat {
    OpenAiChat::new(config(server)).expect("a good configuration")
}

/// What one request gets from an endpoint that answers like this.
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

/// A chunk of a stream with one delta.
fn delta(delta: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n")
}

fn say(text: &str) -> String {
    delta(&format!("{{\"content\":{text:?}}}"))
}

fn call(index: u64, id: &str, name: &str, arguments: &str) -> String {
    let function = format!("{{\"name\":{name:?},\"arguments\":{arguments:?}}}");
    delta(&format!(
        "{{\"tool_calls\":[{{\"index\":{index},\"id\":{id:?},\"function\":{function}}}]}}"
    ))
}

fn finish(reason: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n")
}

const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn usage() -> ModelEvent {
    ModelEvent::Usage(Usage {
        input_tokens: 10,
        output_tokens: 5,
        ..Usage::default()
    })
}
