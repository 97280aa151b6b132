//! What the model gets of a run.

use std::fmt::Write as _;
use std::io;

use serde_json::{Value, json};
use weft_tools::ToolError;
use weft_types::{RunId, RunStop};
use weft_workflow::{CANCELLED_PREFIX, RunInfo, RunResult, cut_for_display};

/// How many notes of a run are told, and how many characters of each.
const NOTES: usize = 20;
const NOTE_CHARS: usize = 500;
/// How much is told of a run's name: as much as a card's title shows by default.
const NAME_CHARS: usize = 200;

/// The JSON Schema of the canonical value.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["runId", "name", "agentsStarted", "result"],
        "properties": {
            "runId": { "type": "string", "minLength": 1 },
            "name": { "type": "string", "minLength": 1 },
            "agentsStarted": { "type": "integer", "minimum": 0 },
            "result": {},
            "notes": { "type": "array", "items": { "type": "string" } }
        }
    })
}

/// What the model is told of a canonical value, with at most so many characters of what the script returned.
pub(crate) fn render(outcome: &Value, result_chars: usize) -> String {
    let text_of = |field: &str| outcome[field].as_str().unwrap_or_default();
    let agents = outcome["agentsStarted"].as_u64().unwrap_or_default();
    let mut text = format!(
        "workflow \"{}\" completed ({agents} agent{}).\nrun id: {}\nReturn value:\n",
        cut_for_display(text_of("name"), NAME_CHARS),
        plural(agents),
        text_of("runId"),
    );
    let mut value = Beginning::new(result_chars);
    serde_json::to_writer_pretty(&mut value, &outcome["result"]).expect("a value is JSON and the writer takes it all");
    text.push_str(&value.into_text());
    let notes = outcome["notes"].as_array().into_iter().flatten();
    push_notes(&mut text, notes.filter_map(Value::as_str));
    text
}

/// The canonical value of a settled run, or why there is none.
pub(crate) fn of_result(info: &RunInfo, result: &RunResult, limit: usize) -> Result<Value, ToolError> {
    let run = &info.id;
    match result.stop {
        RunStop::Completed => completed(info, result).map_err(|error| failed(run, result, &error, limit)),
        RunStop::Error => {
            let error = result.error.as_deref().filter(|error| !error.is_empty());
            Err(failed(run, result, error.unwrap_or("unknown error"), limit))
        }
        RunStop::Cancelled => {
            let error = result.error.as_deref().unwrap_or_default();
            let reason = error.strip_prefix(CANCELLED_PREFIX).unwrap_or(error);
            Err(cancelled(run, reason, &result.notes))
        }
    }
}

/// The error of a cancelled run.
pub(crate) fn cancelled(run: &RunId, reason: &str, notes: &[String]) -> ToolError {
    let reason = match reason {
        "" => String::new(),
        reason => format!(" ({})", cut_for_display(reason, NOTE_CHARS)),
    };
    let mut text = format!("workflow run was cancelled{reason}\nrun id: {run}");
    push_notes(&mut text, notes.iter().map(String::as_str));
    ToolError::new(text)
}

fn completed(info: &RunInfo, result: &RunResult) -> Result<Value, String> {
    let value = match &result.value {
        None => Value::Null,
        Some(json) => serde_json::from_str(json.get())
            .map_err(|error| format!("the script finished, but its return value cannot be passed on: {error}"))?,
    };
    // Put together by hand: through serde the value would be copied.
    let mut outcome = serde_json::Map::new();
    outcome.insert("runId".to_owned(), info.id.as_str().into());
    outcome.insert("name".to_owned(), info.meta.name.as_str().into());
    outcome.insert("agentsStarted".to_owned(), result.agents_started.into());
    outcome.insert("result".to_owned(), value);
    if !result.notes.is_empty() {
        outcome.insert("notes".to_owned(), result.notes.as_slice().into());
    }
    Ok(Value::Object(outcome))
}

fn failed(run: &RunId, result: &RunResult, error: &str, limit: usize) -> ToolError {
    let mut beginning = Beginning::new(limit);
    beginning.take(error.as_bytes());
    let mut text = format!("workflow run failed: {}\nrun id: {run}", beginning.into_text());
    push_notes(&mut text, result.notes.iter().map(String::as_str));
    ToolError::new(text)
}

fn push_notes<'a>(text: &mut String, notes: impl Iterator<Item = &'a str>) {
    let mut left_out = 0_u64;
    for (index, note) in notes.enumerate() {
        if index == 0 {
            text.push_str("\nNotes:");
        }
        if index < NOTES {
            text.push_str("\n- ");
            text.push_str(&cut_for_display(note, NOTE_CHARS));
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        write!(text, "\n- … and {left_out} more").expect("a string takes everything");
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Keeps the first characters of a text and counts the others, so that a long one is never held twice.
struct Beginning {
    limit: u64,
    chars: u64,
    kept: Vec<u8>,
}

impl Beginning {
    fn new(limit: usize) -> Self {
        Self {
            limit: limit as u64,
            chars: 0,
            kept: Vec::new(),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            // Every byte of UTF-8 but a continuation begins a character.
            self.chars += u64::from(byte & 0xC0 != 0x80);
            if self.chars <= self.limit {
                self.kept.push(*byte);
            }
        }
    }

    fn into_text(self) -> String {
        let mut text = String::from_utf8(self.kept).expect("whole characters of a text");
        let more = self.chars.saturating_sub(self.limit);
        if more > 0 {
            write!(text, "\n… {more} more character{} not shown", plural(more)).expect("a string takes everything");
        }
        text
    }
}

impl io::Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
