//! The chat-completions adapter against an endpoint on loopback.

mod calls;
mod errors;
mod limits;
mod requests;
mod server;
mod stopping;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use server::{Reply, Server};
use weft_model::{AgentRole, Model, ModelError, ModelEvent, ModelRequest, RequestOrigin};
use weft_providers::{EndpointConfig, OpenAiChat, Secret};
use weft_types::{CallId, ContentBlock, Message, SessionId, StopReason, Usage};

const KEY: &str = "hunter2-hunter2";

fn config(server: &Server) -> EndpointConfig {
    let mut config = EndpointConfig::new(server.url());
    config.api_key = Some(Secret::new(KEY));
    config
}

fn model(server: &Server) -> OpenAiChat {
    OpenAiChat::new(config(server)).expect("a good configuration")
}

fn ask(prompt: &str) -> ModelRequest {
    ModelRequest {
        model: "test-model".into(),
        system: "be brief".into(),
        messages: vec![Message::User {
            content: vec![ContentBlock::text(prompt)],
        }],
        tools: Arc::from([]),
        origin: RequestOrigin {
            role: AgentRole::Main,
            label: None,
            session: SessionId::new("s"),
            turn: 3,
            step: 2,
        },
    }
}

/// What one request gets from an endpoint that answers like this.
async fn answer(reply: Reply) -> Vec<Result<ModelEvent, ModelError>> {
    let server = Server::start([reply]).await;
    model(&server).stream(ask("go")).collect().await
}

/// A good answer.
async fn good(reply: Reply) -> Vec<ModelEvent> {
    let items = answer(reply).await;
    items.into_iter().map(|item| item.expect("a good answer")).collect()
}

/// The events before the error, and the error, which ends the stream.
async fn bad(reply: Reply) -> (Vec<ModelEvent>, ModelError) {
    let mut items = answer(reply).await;
    let error = items.pop().expect("an item").expect_err("an error at the end");
    (
        items
            .into_iter()
            .map(|item| item.expect("only the last item is an error"))
            .collect(),
        error,
    )
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

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.into())
}

fn tool_call(id: &str, name: &str, arguments: &str) -> ModelEvent {
    ModelEvent::ToolCall {
        id: CallId::new(id),
        name: name.into(),
        arguments: arguments.into(),
    }
}

fn usage() -> ModelEvent {
    ModelEvent::Usage(Usage {
        input_tokens: 10,
        output_tokens: 5,
        ..Usage::default()
    })
}
