//! How messages look as lines. Everything here appends one line, its newline included.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use weft_tools::{PlanEntry, PlanPriority, PlanStatus};
use weft_types::{ContentBlock, UnixMillis};

use crate::outbox::TextRun;
use crate::sdk::schema;

#[derive(Serialize)]
struct Notification<'a, P> {
    jsonrpc: &'static str,
    method: &'static str,
    params: &'a P,
}

/// Appends any message.
pub(crate) fn write_message(line: &mut Vec<u8>, message: &impl Serialize) {
    let start = line.len();
    match serde_json::to_writer(&mut *line, message) {
        Ok(()) => line.push(b'\n'),
        Err(error) => {
            // The messages are plain data with text keys, and memory does not fail to take bytes.
            debug_assert!(false, "a message could not be written: {error}");
            tracing::error!(%error, "a message could not be written as JSON and is left out");
            line.truncate(start);
        }
    }
}

/// Appends a `session/update`.
pub(crate) fn write_update(line: &mut Vec<u8>, update: &schema::SessionNotification) {
    let notification = Notification {
        jsonrpc: "2.0",
        method: "session/update",
        params: update,
    };
    write_message(line, &notification);
}

/// Appends a piece of a message of the model.
pub(crate) fn write_text(line: &mut Vec<u8>, run: &TextRun, text: &str) {
    let update = text_update(Arc::clone(&run.message), run.reasoning, text);
    write_update(
        line,
        &schema::SessionNotification::new(Arc::clone(&run.session), update),
    );
}

/// A piece of a message of the model.
pub(crate) fn text_update(message: Arc<str>, reasoning: bool, text: &str) -> schema::SessionUpdate {
    let chunk = schema::ContentChunk::new(text.into()).message_id(schema::MessageId::new(message));
    if reasoning {
        schema::SessionUpdate::AgentThoughtChunk(chunk)
    } else {
        schema::SessionUpdate::AgentMessageChunk(chunk)
    }
}

/// A block of content.
pub(crate) fn content(block: &ContentBlock) -> schema::ContentBlock {
    match block {
        ContentBlock::Text { text } => text.as_str().into(),
        ContentBlock::Image { mime_type, data } => {
            schema::ContentBlock::Image(schema::ImageContent::new(data.clone(), mime_type.clone()))
        }
    }
}

/// A time as ISO 8601; `None` for one that no calendar has, which only a log made elsewhere can hold.
pub(crate) fn timestamp(time: UnixMillis) -> Option<String> {
    let millis = i64::try_from(time.0).ok()?;
    let timestamp = Timestamp::from_millisecond(millis).ok()?;
    Some(timestamp.to_string())
}

/// A task of a plan.
pub(crate) fn plan_entry(entry: PlanEntry) -> schema::PlanEntry {
    let priority = match entry.priority {
        PlanPriority::High => schema::PlanEntryPriority::High,
        PlanPriority::Medium => schema::PlanEntryPriority::Medium,
        PlanPriority::Low => schema::PlanEntryPriority::Low,
    };
    let status = match entry.status {
        PlanStatus::Pending => schema::PlanEntryStatus::Pending,
        PlanStatus::InProgress => schema::PlanEntryStatus::InProgress,
        PlanStatus::Completed => schema::PlanEntryStatus::Completed,
    };
    schema::PlanEntry::new(entry.content, priority, status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_iso_8601_and_impossible_ones_nothing() {
        let shown = |millis| timestamp(UnixMillis(millis));
        assert_eq!(shown(0).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(shown(1_732_973_412_345).as_deref(), Some("2024-11-30T13:30:12.345Z"));
        assert_eq!(shown(u64::MAX), None);
        assert_eq!(shown(i64::MAX as u64), None);
    }
}
