//! A session's updates as words.

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use weft_observe::Subscription;
use weft_session::{DeltaKind, Session, SessionUpdate};
use weft_types::{AbortCause, AssistantBlock, EventBody, HeaderReason, TurnEnd, text_of};

/// Everything that a session published since, in order.
pub(crate) struct Watch {
    seen: Arc<Seen>,
    _subscription: Subscription,
}

#[derive(Default)]
struct Seen {
    words: Mutex<Vec<String>>,
    changed: Notify,
}

impl Seen {
    fn push(&self, word: String) {
        self.words.lock().expect("no test panics under it").push(word);
        self.changed.notify_waiters();
    }
}

impl Watch {
    pub(crate) fn new(session: &Session) -> Self {
        let seen = Arc::<Seen>::default();
        let into = Arc::clone(&seen);
        Self {
            _subscription: session.observe(move |update| into.push(word(update))),
            seen,
        }
    }

    pub(crate) fn words(&self) -> Vec<String> {
        self.seen.words.lock().expect("no test panics under it").clone()
    }

    /// The words, forgotten from now on.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.words.lock().expect("no test panics under it"))
    }

    /// Adds a word of the test's own.
    pub(crate) fn note(&self) -> impl Fn(&str) + Send + Sync + 'static + use<> {
        let seen = Arc::clone(&self.seen);
        move |word| seen.push(word.to_owned())
    }

    /// Waits until a word has been seen.
    pub(crate) async fn until(&self, word: &str) {
        loop {
            let changed = self.seen.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.words().iter().any(|seen| seen == word) {
                return;
            }
            changed.await;
        }
    }
}

fn word(update: &SessionUpdate) -> String {
    let event = match update {
        SessionUpdate::Event(event) => event,
        SessionUpdate::Delta(delta) => {
            let kind = match delta.kind {
                DeltaKind::Text => "text",
                DeltaKind::Reasoning => "reasoning",
            };
            return format!("delta {kind} {}", delta.text);
        }
    };
    match &event.body {
        EventBody::TurnStart { turn } => format!("turn/start {turn}"),
        EventBody::UserMessage { content, .. } => format!("user {}", text_of(content)),
        EventBody::SessionTitle { title } => format!("title {title}"),
        EventBody::ToolContext { content, .. } => format!("context {}", text_of(content)),
        EventBody::SessionNotice { message } => format!("notice {message}"),
        EventBody::SessionCompaction {
            reason,
            summary,
            kept_from,
            ..
        } => format!("compaction {reason:?} from {kept_from}: {summary}"),
        EventBody::StepStart { step, .. } => format!("step/start {step}"),
        EventBody::RequestHeader { reason, model, .. } => match reason {
            HeaderReason::Initial => format!("header initial {model}"),
            HeaderReason::Changed => format!("header changed {model}"),
        },
        EventBody::ModelRetry {
            attempt,
            delay_ms,
            message,
            ..
        } => format!("retry {attempt} {delay_ms} {message}"),
        EventBody::AssistantMessage {
            content, interrupted, ..
        } => {
            let parts = content.iter().map(|block| match block {
                AssistantBlock::Text { text } => format!(" {text}"),
                AssistantBlock::Reasoning { text, .. } => format!(" ({text})"),
                AssistantBlock::ToolCall { id, name, .. } => format!(" [{id} {name}]"),
            });
            let kind = if *interrupted { "interrupted" } else { "answer" };
            format!("{kind}{}", parts.collect::<String>())
        }
        EventBody::ToolCall {
            call_id,
            name,
            needs_approval,
            ..
        } => format!("call {call_id} {name}{}", if *needs_approval { " ask" } else { "" }),
        EventBody::ToolResult { call_id, error, .. } => match error {
            None => format!("result {call_id} ok"),
            Some(error) => format!("result {call_id} {}", error.code.as_deref().unwrap_or(&error.message)),
        },
        EventBody::StepEnd { step, .. } => format!("step/end {step}"),
        EventBody::TurnEnd { reason, .. } => format!("turn/end {}", end(reason)),
        other => format!("{other:?}"),
    }
}

/// A turn's end as one word, or the error's text.
pub(crate) fn end(reason: &TurnEnd) -> String {
    match reason {
        TurnEnd::Completed => "completed".to_owned(),
        TurnEnd::Aborted { by: AbortCause::User } => "aborted user".to_owned(),
        TurnEnd::Aborted { by: AbortCause::Parent } => "aborted parent".to_owned(),
        TurnEnd::Aborted { by: AbortCause::Closed } => "aborted closed".to_owned(),
        TurnEnd::Error { message } => format!("error: {message}"),
        other => format!("{other:?}"),
    }
}
