//! What the model gets of a run.

use std::fmt::Write as _;
use std::io;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use weft_tools::ToolError;
use weft_types::{RunId, RunStop};
use weft_workflow::{CANCELLED_PREFIX, RunInfo, RunResult, cut_for_display};

use crate::journal::Ledger;

/// How many notes of a run are told, and how many characters of each.
const NOTES: usize = 20;
const NOTE_CHARS: usize = 500;
/// How much is told of a run's name: as much as a card's title shows by default.
const NAME_CHARS: usize = 200;

/// What was kept of a run beside its result.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// How many calls earlier attempts had answered.
    answered: u64,
    /// Whether the run can be resumed.
    resumable: bool,
    notes: Vec<String>,
    /// What its members returned, for the case that it returns nothing itself.
    finished: Option<String>,
}

impl Kept {
    /// Ends the journal, and says what is in it.
    pub(crate) fn of(ledger: &Ledger, stop: RunStop) -> Self {
        ledger.end_run(stop);
        Self {
            answered: ledger.answered().load(Ordering::Acquire),
            resumable: ledger.is_resumable(),
            notes: ledger.notes(),
            finished: None,
        }
    }

    /// With what its members returned, and more notes.
    pub(crate) fn and(self, finished: Option<String>, notes: impl Iterator<Item = String>) -> Self {
        Self {
            notes: self.notes.into_iter().chain(notes).collect(),
            finished,
            ..self
        }
    }

    /// The run's id, and how to go on from a run that did not complete.
    fn way_on(&self, run: &RunId) -> String {
        let hint = format!(
            "\nTo go on from here, call workflow with {{\"resume\": \"{run}\"}}: agents that have answered do not work \
             again. In a shell: weft workflow resume {run}"
        );
        format!("\nrun id: {run}{}", if self.resumable { &hint } else { "" })
    }
}

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
            "agentsAnswered": { "type": "integer", "minimum": 1 },
            "resumable": { "type": "boolean" },
            "result": {},
            "notes": { "type": "array", "items": { "type": "string" } }
        }
    })
}

/// What the model is told of a canonical value, with at most so many characters of what the script returned.
pub(crate) fn render(outcome: &Value, result_chars: usize) -> String {
    let text_of = |field: &str| outcome[field].as_str().unwrap_or_default();
    let agents = outcome["agentsStarted"].as_u64().unwrap_or_default();
    let answered = match outcome["agentsAnswered"].as_u64() {
        Some(answered) => format!(", {answered} of them answered in an earlier run"),
        None => String::new(),
    };
    let hint = match outcome["resumable"] {
        Value::Bool(true) => " (`resume` takes an edited script through the same answers)",
        _ => "",
    };
    let mut text = format!(
        "workflow \"{}\" completed ({agents} agent{}{answered}).\nrun id: {}{hint}\nReturn value:\n",
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
pub(crate) fn of_result(info: &RunInfo, result: &RunResult, kept: &Kept, limit: usize) -> Result<Value, ToolError> {
    let run = &info.id;
    match result.stop {
        RunStop::Completed => completed(info, result, kept).map_err(|error| failed(run, result, kept, (&error, limit))),
        RunStop::Error => {
            let error = result.error.as_deref().filter(|error| !error.is_empty());
            Err(failed(run, result, kept, (error.unwrap_or("unknown error"), limit)))
        }
        RunStop::Cancelled => {
            let error = result.error.as_deref().unwrap_or_default();
            let reason = error.strip_prefix(CANCELLED_PREFIX).unwrap_or(error);
            Err(cancelled(run, reason, &result.notes, kept))
        }
    }
}

/// The error of a cancelled run.
pub(crate) fn cancelled(run: &RunId, reason: &str, notes: &[String], kept: &Kept) -> ToolError {
    let reason = match reason {
        "" => String::new(),
        reason => format!(" ({})", cut_for_display(reason, NOTE_CHARS)),
    };
    let mut text = format!("workflow run was cancelled{reason}{}", kept.way_on(run));
    push_notes(&mut text, all_notes(notes, kept));
    push_finished(&mut text, kept);
    ToolError::new(text)
}

fn completed(info: &RunInfo, result: &RunResult, kept: &Kept) -> Result<Value, String> {
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
    if kept.answered > 0 {
        outcome.insert("agentsAnswered".to_owned(), kept.answered.into());
    }
    if kept.resumable {
        outcome.insert("resumable".to_owned(), true.into());
    }
    outcome.insert("result".to_owned(), value);
    let notes: Vec<Value> = all_notes(&result.notes, kept).map(Value::from).collect();
    if !notes.is_empty() {
        outcome.insert("notes".to_owned(), notes.into());
    }
    Ok(Value::Object(outcome))
}

fn failed(run: &RunId, result: &RunResult, kept: &Kept, (error, limit): (&str, usize)) -> ToolError {
    let mut beginning = Beginning::new(limit);
    beginning.take(error.as_bytes());
    let how = match result.exhausted {
        Some(limit) => format!("ended by its limit on {limit}"),
        None => "failed".to_owned(),
    };
    let mut text = format!("workflow run {how}: {}{}", beginning.into_text(), kept.way_on(run));
    push_notes(&mut text, all_notes(&result.notes, kept));
    push_finished(&mut text, kept);
    ToolError::new(text)
}

/// What was kept comes first: it is what the next call depends on.
fn all_notes<'a>(notes: &'a [String], kept: &'a Kept) -> impl Iterator<Item = &'a str> {
    kept.notes.iter().chain(notes).map(String::as_str)
}

fn push_finished(text: &mut String, kept: &Kept) {
    if let Some(finished) = &kept.finished {
        text.push('\n');
        text.push_str(finished);
    }
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
