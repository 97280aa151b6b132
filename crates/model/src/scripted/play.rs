//! Playing a reply: from the script's words to a stream of events.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::stream;
use weft_types::{AssistantBlock, CallId, ContentBlock, Message};

use super::Script;
use super::script::{Arguments, Call, End, Reply};
use super::template::RequestText;
use crate::{ModelError, ModelEvent, ModelRequest, ModelStream};

/// One thing to do for a reply.
enum Action {
    /// Wait at a gate.
    Gate(String),
    Wait(Duration),
    Emit(ModelEvent),
    Fail(ModelError),
    Hang,
}

/// The answer to a request. The reply is chosen at the first poll.
pub(super) fn stream(script: Arc<Script>, request: ModelRequest) -> ModelStream {
    let start = Player {
        script,
        request: Some(request),
        actions: VecDeque::new(),
    };
    Box::pin(stream::unfold(start, async |mut player| {
        player.next().await.map(|item| (item, player))
    }))
}

struct Player {
    script: Arc<Script>,
    /// Taken at the first poll.
    request: Option<ModelRequest>,
    actions: VecDeque<Action>,
}

impl Player {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if let Some(request) = self.request.take() {
            match plan(&self.script, &request) {
                Ok(actions) => self.actions = actions,
                Err(error) => return Some(Err(error)),
            }
        }
        loop {
            match self.actions.pop_front()? {
                Action::Gate(name) => self.script.gates.pass(&name).await,
                Action::Wait(time) => tokio::time::sleep(time).await,
                Action::Emit(event) => return Some(Ok(event)),
                Action::Fail(error) => return Some(Err(error)),
                Action::Hang => std::future::pending().await,
            }
        }
    }
}

/// All of a reply, in the order it is played: gate, delay, reasoning, text, second gate, calls, usage, end.
fn plan(script: &Script, request: &ModelRequest) -> Result<VecDeque<Action>, ModelError> {
    let reply = script.selector.choose(request)?;
    fill(&reply, request).map_err(|why| script.selector.failed(&reply, &why))
}

fn fill(reply: &Reply, request: &ModelRequest) -> Result<VecDeque<Action>, String> {
    let text = RequestText::new(Box::new(|| text_of_request(request)));
    let mut actions = VecDeque::new();
    actions.extend(reply.gate.clone().map(Action::Gate));
    actions.extend(wait(reply.delay));
    let mut chunks = Vec::new();
    for template in &reply.reasoning {
        chunks.push(ModelEvent::ReasoningDelta(template.fill(&text)?));
    }
    for template in &reply.text {
        chunks.push(ModelEvent::TextDelta(template.fill(&text)?));
    }
    chunks.retain(
        |chunk| !matches!(chunk, ModelEvent::ReasoningDelta(text) | ModelEvent::TextDelta(text) if text.is_empty()),
    );
    for (at, chunk) in chunks.into_iter().enumerate() {
        if at > 0 {
            actions.extend(wait(reply.chunk_delay));
        }
        actions.push_back(Action::Emit(chunk));
    }
    actions.extend(reply.gate_after.clone().map(Action::Gate));
    for (at, call) in reply.calls.iter().enumerate() {
        actions.push_back(Action::Emit(fill_call(call, at + 1, request, &text)?));
    }
    actions.extend(reply.usage.map(|usage| Action::Emit(ModelEvent::Usage(usage))));
    actions.push_back(match &reply.end {
        End::Finish(stop) => Action::Emit(ModelEvent::Finish(*stop)),
        End::Fail(error) => Action::Fail(error.clone()),
        End::Hang => Action::Hang,
    });
    Ok(actions)
}

fn wait(time: Duration) -> Option<Action> {
    (!time.is_zero()).then_some(Action::Wait(time))
}

fn fill_call(call: &Call, number: usize, request: &ModelRequest, text: &RequestText<'_>) -> Result<ModelEvent, String> {
    let arguments = match &call.arguments {
        Arguments::Raw(template) => template.fill(text)?,
        Arguments::Json(template) => template.fill(text)?.to_string(),
    };
    let id = call
        .id
        .clone()
        .map_or_else(|| request.origin.mint_call_id(number), CallId::new);
    Ok(ModelEvent::ToolCall {
        id,
        name: call.name.clone(),
        arguments,
    })
}

/// The system prompt and the messages as one text, a line or more for each piece.
fn text_of_request(request: &ModelRequest) -> String {
    let mut parts = vec![request.system.to_string()];
    for message in &request.messages {
        match message {
            Message::User { content } | Message::Tool { content, .. } => parts.push(seen(content)),
            Message::Assistant { content } => parts.extend(content.iter().map(said)),
        }
    }
    parts.join("\n")
}

/// What a script matches of some content: its texts, and of each picture that it is there.
pub(super) fn seen(content: &[ContentBlock]) -> String {
    let seen = content.iter().map(|block| match block {
        ContentBlock::Text { text } => Cow::Borrowed(text.as_str()),
        ContentBlock::Image { mime_type, .. } => Cow::Owned(format!("[image {mime_type}]")),
    });
    seen.collect()
}

fn said(block: &AssistantBlock) -> String {
    match block {
        AssistantBlock::Text { text } | AssistantBlock::Reasoning { text, .. } => text.clone(),
        AssistantBlock::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
    }
}
