use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use futures::{FutureExt, StreamExt};
use tokio::time::Instant;
use weft_types::{AssistantBlock, CallId, ContentBlock, Message, SessionId, StopReason, Usage};

use super::*;
use crate::{AgentRole, ModelError, ModelErrorKind, ModelEvent, RequestOrigin};

mod errors;
mod gates;
mod matching;
mod reference;
mod replies;

/// A script without files.
#[track_caller]
fn script(text: &str) -> ScriptedModel {
    ScriptedModel::from_toml(text, Path::new("no-such-folder")).expect("a good script")
}

/// A request of the main agent in its first step.
fn ask(prompt: &str) -> ModelRequest {
    ModelRequest {
        model: "any".into(),
        system: "be brief".into(),
        messages: vec![Message::User {
            content: vec![ContentBlock::text(prompt)],
        }]
        .into(),
        tools: Arc::from([]),
        origin: RequestOrigin {
            role: AgentRole::Main,
            label: None,
            session: SessionId::new("s"),
            turn: 1,
            step: 1,
        },
    }
}

/// A request of a subagent in its first step.
fn member(label: &str, prompt: &str) -> ModelRequest {
    let mut request = ask(prompt);
    request.origin.role = AgentRole::Subagent;
    request.origin.label = Some(label.to_owned());
    request
}

fn at(mut request: ModelRequest, turn: u32, step: u32) -> ModelRequest {
    (request.origin.turn, request.origin.step) = (turn, step);
    request
}

/// The whole answer.
async fn answer(model: &ScriptedModel, request: ModelRequest) -> Vec<Result<ModelEvent, ModelError>> {
    model.stream(request).collect().await
}

/// The text of an answer that is good, or the error's message.
async fn text(model: &ScriptedModel, request: ModelRequest) -> Result<String, String> {
    let mut text = String::new();
    for item in answer(model, request).await {
        match item {
            Ok(ModelEvent::TextDelta(more)) => text.push_str(&more),
            Ok(_) => {}
            Err(error) => return Err(error.message().to_owned()),
        }
    }
    Ok(text)
}
