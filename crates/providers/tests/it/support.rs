//! What the tests of every protocol share.

use std::sync::Arc;

use weft_model::{AgentRole, ModelError, ModelEvent, ModelRequest, RequestOrigin};
use weft_types::{CallId, ContentBlock, Message, SessionId};

pub(crate) const KEY: &str = "hunter2-hunter2";

pub(crate) fn ask(prompt: &str) -> ModelRequest {
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

/// The events of a good answer.
pub(crate) fn good(items: Vec<Result<ModelEvent, ModelError>>) -> Vec<ModelEvent> {
    items.into_iter().map(|item| item.expect("a good answer")).collect()
}

/// The events before the error, and the error, which ends the stream.
pub(crate) fn bad(mut items: Vec<Result<ModelEvent, ModelError>>) -> (Vec<ModelEvent>, ModelError) {
    let error = items.pop().expect("an item").expect_err("an error at the end");
    (
        items
            .into_iter()
            .map(|item| item.expect("only the last item is an error"))
            .collect(),
        error,
    )
}

pub(crate) fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.into())
}

pub(crate) fn thought(text: &str) -> ModelEvent {
    ModelEvent::ReasoningDelta(text.into())
}

pub(crate) fn tool_call(id: &str, name: &str, arguments: &str) -> ModelEvent {
    ModelEvent::ToolCall {
        id: CallId::new(id),
        name: name.into(),
        arguments: arguments.into(),
    }
}
