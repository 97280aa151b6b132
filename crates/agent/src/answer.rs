//! Receiving one answer of a model.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::{FutureExt, StreamExt, stream};
use tokio::task::coop::consume_budget;
use tokio_util::sync::CancellationToken;
use weft_model::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use weft_observe::panic_text;
use weft_session::{Delta, DeltaKind, Session};
use weft_types::{AssistantBlock, StopReason, Usage};

use crate::turn::Place;

/// As much of an answer as arrived.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) blocks: Vec<AssistantBlock>,
    pub(crate) usage: Option<Usage>,
    /// Whether a part of it was shown.
    pub(crate) shown: bool,
    bytes: usize,
}

/// How it stopped arriving.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It is whole.
    Finished(StopReason),
    /// The turn was stopped.
    Cancelled,
    /// The model failed.
    Failed(ModelError),
}

/// Who receives, and how much.
pub(crate) struct Receiver<'a> {
    /// Where it is shown as it comes; absent for an answer that is not for the user.
    pub(crate) shown: Option<&'a Session>,
    pub(crate) place: Place,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) answer_bytes: usize,
}

impl Receiver<'_> {
    /// Sends a request and receives its answer; text is published as it comes. When this returns the
    /// request is over: its stream is dropped.
    pub(crate) async fn receive(&self, model: Arc<dyn Model>, request: ModelRequest) -> (Received, Ended) {
        let mut stream = stream::once(async move { model.stream(request) }).flatten().boxed();
        let mut received = Received::default();
        loop {
            let next = AssertUnwindSafe(stream.next()).catch_unwind();
            let event = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return (received, Ended::Cancelled),
                event = next => event,
            };
            let ended = match event {
                Ok(Some(Ok(ModelEvent::Finish(stop)))) => Some(Ended::Finished(stop)),
                Ok(Some(Ok(event))) => self.take(&mut received, event),
                Ok(Some(Err(error))) => Some(Ended::Failed(error)),
                Ok(None) => Some(Ended::Failed(cut_off())),
                Err(panic) => Some(Ended::Failed(panicked(panic_text(&*panic)))),
            };
            if let Some(ended) = ended {
                return (received, ended);
            }
            // A model that is never short of events must not keep the thread for itself.
            consume_budget().await;
        }
    }

    fn take(&self, received: &mut Received, event: ModelEvent) -> Option<Ended> {
        match event {
            ModelEvent::TextDelta(text) => self.take_text(received, DeltaKind::Text, text),
            ModelEvent::ReasoningDelta(text) => self.take_text(received, DeltaKind::Reasoning, text),
            ModelEvent::ReasoningSealed(seal) => {
                received.bytes += seal.to_string().len();
                received.seal(seal);
            }
            ModelEvent::ToolCall { id, name, arguments } => {
                // The sum of the parts plus something for the call itself, so that empty ones are bounded too.
                received.bytes += id.as_str().len() + name.len() + arguments.len() + 64;
                received.blocks.push(AssistantBlock::ToolCall { id, name, arguments });
            }
            ModelEvent::Usage(usage) => received.usage = Some(usage),
            ModelEvent::Finish(stop) => return Some(Ended::Finished(stop)),
        }
        (received.bytes > self.answer_bytes).then(|| Ended::Failed(too_long(self.answer_bytes)))
    }

    fn take_text(&self, received: &mut Received, kind: DeltaKind, text: String) {
        if text.is_empty() {
            return;
        }
        received.bytes += text.len();
        received.shown = true;
        received.append(kind, &text);
        let Place { turn, step } = self.place;
        if let Some(session) = self.shown {
            session.delta(Delta { turn, step, kind, text });
        }
    }
}

impl Received {
    fn append(&mut self, kind: DeltaKind, more: &str) {
        match (kind, self.blocks.last_mut()) {
            (DeltaKind::Text, Some(AssistantBlock::Text { text }))
            | (DeltaKind::Reasoning, Some(AssistantBlock::Reasoning { text, sealed: None })) => text.push_str(more),
            (DeltaKind::Text, _) => self.blocks.push(AssistantBlock::Text { text: more.to_owned() }),
            (DeltaKind::Reasoning, _) => self.blocks.push(AssistantBlock::Reasoning {
                text: more.to_owned(),
                sealed: None,
            }),
        }
    }

    /// Closes the open block of reasoning, or adds one without text.
    fn seal(&mut self, seal: serde_json::Value) {
        match self.blocks.last_mut() {
            Some(AssistantBlock::Reasoning { sealed, .. }) if sealed.is_none() => *sealed = Some(seal),
            _ => self.blocks.push(AssistantBlock::Reasoning {
                text: String::new(),
                sealed: Some(seal),
            }),
        }
    }

    /// Whether there is neither text nor a call. Reasoning alone answers nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.iter().all(|block| match block {
            AssistantBlock::Text { text } => text.trim().is_empty(),
            AssistantBlock::Reasoning { .. } => true,
            AssistantBlock::ToolCall { .. } => false,
        })
    }

    pub(crate) fn drop_calls(&mut self) {
        self.blocks
            .retain(|block| !matches!(block, AssistantBlock::ToolCall { .. }));
    }
}

fn cut_off() -> ModelError {
    ModelError::new(ModelErrorKind::Incomplete, "the model's answer stopped without an end")
}

fn too_long(limit: usize) -> ModelError {
    let message = format!("the model's answer is longer than the limit answer_bytes, {limit} bytes");
    ModelError::new(ModelErrorKind::Protocol, message)
}

fn panicked(text: &str) -> ModelError {
    ModelError::new(
        ModelErrorKind::Protocol,
        format!("the model's adapter panicked: {text}"),
    )
}
