//! What the tests of every protocol share.

use std::sync::Arc;

use weft_model::{AgentRole, ModelError, ModelEvent, ModelRequest, RequestOrigin};
use weft_types::{AssistantBlock, CallId, ContentBlock, Message, SessionId};

pub(crate) const KEY: &str = "hunter2-hunter2";

pub(crate) fn ask(prompt: &str) -> ModelRequest {
    ModelRequest {
        model: "test-model".into(),
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

/// Whether an event is a seal of reasoning.
pub(crate) fn is_seal(event: &ModelEvent) -> bool {
    matches!(event, ModelEvent::ReasoningSealed(_))
}

/// The events without the seals among them.
pub(crate) fn unsealed(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    events.into_iter().filter(|event| !is_seal(event)).collect()
}

/// The conversation after an answer, as an agent makes it of the events and as its log gives it back, with a result
/// for each call.
pub(crate) fn continued(mut request: ModelRequest, events: &[ModelEvent]) -> ModelRequest {
    let (mut content, mut results) = (Vec::new(), Vec::new());
    for event in events {
        match (event, content.last_mut()) {
            (ModelEvent::TextDelta(more), Some(AssistantBlock::Text { text }))
            | (ModelEvent::ReasoningDelta(more), Some(AssistantBlock::Reasoning { text, sealed: None })) => {
                text.push_str(more);
            }
            (ModelEvent::TextDelta(more), _) => content.push(AssistantBlock::Text { text: more.clone() }),
            (ModelEvent::ReasoningDelta(text), _) => content.push(reasoning(text, None)),
            (ModelEvent::ReasoningSealed(seal), Some(AssistantBlock::Reasoning { sealed, .. })) if sealed.is_none() => {
                *sealed = Some(seal.clone());
            }
            (ModelEvent::ReasoningSealed(seal), _) => content.push(reasoning("", Some(seal.clone()))),
            (ModelEvent::ToolCall { id, name, arguments }, _) => {
                content.push(AssistantBlock::ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                });
                results.push(result(id.as_str(), vec![ContentBlock::text("ok")]));
            }
            (ModelEvent::Usage(_) | ModelEvent::Finish(_), _) => {}
        }
    }
    request.messages.push(Message::Assistant { content });
    request.messages.extend(results);
    let logged = serde_json::to_string(&request.messages.iter().collect::<Vec<_>>()).expect("messages are JSON");
    let read: Vec<Message> = serde_json::from_str(&logged).expect("messages are read back");
    request.messages = read.into();
    request
}

fn reasoning(text: &str, sealed: Option<serde_json::Value>) -> AssistantBlock {
    AssistantBlock::Reasoning {
        text: text.into(),
        sealed,
    }
}

pub(crate) fn result(id: &str, content: Vec<ContentBlock>) -> Message {
    Message::Tool {
        call_id: CallId::new(id),
        content,
        is_error: false,
    }
}

pub(crate) fn image() -> ContentBlock {
    ContentBlock::Image {
        mime_type: "image/png".into(),
        data: "QUJD".into(),
    }
}

/// A prompt with a picture, and two results of which one has a picture too.
pub(crate) fn with_images() -> ModelRequest {
    let mut request = ask("see");
    request.messages[0] = Message::User {
        content: vec![ContentBlock::text("see"), image()],
    };
    let call = |id: &str| AssistantBlock::ToolCall {
        id: CallId::new(id),
        name: "read".into(),
        arguments: "{}".into(),
    };
    let content = vec![call("x"), call("y")];
    request.messages.extend([
        Message::Assistant { content },
        result("x", vec![ContentBlock::text("a picture"), image()]),
        result("y", vec![ContentBlock::text("none")]),
    ]);
    request
}

/// Knowledge of models that take no pictures and give at most so many tokens.
pub(crate) fn blind(max_output: u64) -> weft_providers::Knowledge {
    weft_providers::Knowledge::new(move |model| weft_model::ModelInfo {
        images: Some(false),
        max_output: Some(max_output),
        ..weft_model::ModelInfo::unknown(model)
    })
}
