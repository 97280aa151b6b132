//! Records as raw JSON, before they are read as typed events.

use serde_json::{Map, Value};
use weft_session::Violation;

use super::MAX_SEQ;

/// Checks the form of an event's JSON, of type and data: what is under `tool-workflow/` must be one of the four
/// records, with fields of the right types. Other events pass, and so do unknown further fields.
///
/// Reading the event as a typed one refuses the same, only that the reason then speaks of types and not of runs. What
/// depends on the events before it is the business of [`RecordInvariant`](super::RecordInvariant).
///
/// # Errors
///
/// The first thing that is wrong, with the run if there is one.
pub(crate) fn check_record_json(event: &Value) -> Result<(), Violation> {
    let Some(kind) = event.get("type").and_then(Value::as_str) else {
        return Ok(());
    };
    let Some(kind) = kind.strip_prefix("tool-workflow/") else {
        return Ok(());
    };
    let known = ["run-start", "agent-start", "agent-end", "run-end"];
    if !known.contains(&kind) {
        let message = format!(
            "tool-workflow/{kind} is no workflow record, expected one of {}",
            known.join(", ")
        );
        return Err(Violation::new("record-type", message));
    }
    let Some(Value::Object(fields)) = event.get("data") else {
        let message = format!("the data of tool-workflow/{kind} are no object");
        return Err(Violation::new("record-data", message));
    };
    let record = Record {
        run: filled_text(fields, "runId"),
        fields,
    };
    record.text("run-id", "runId", true)?;
    match kind {
        "run-start" => record.text("run-name", "name", true),
        "agent-start" => record.member_start(),
        "agent-end" => {
            record.seq()?;
            record.one_of("member-outcome", "outcome", &["completed", "failed", "cancelled"])
        }
        _ => record.one_of("run-stop", "stopReason", &["completed", "cancelled", "error"]),
    }
}

struct Record<'a> {
    run: Option<&'a str>,
    fields: &'a Map<String, Value>,
}

impl Record<'_> {
    fn member_start(&self) -> Result<(), Violation> {
        self.seq()?;
        self.text("member-label", "label", false)?;
        if self.fields.contains_key("phase") {
            self.text("member-phase", "phase", false)?;
        }
        self.text("member-session", "childId", true)
    }

    fn text(&self, rule: &'static str, field: &str, filled: bool) -> Result<(), Violation> {
        match self.fields.get(field) {
            Some(Value::String(text)) if !(filled && text.is_empty()) => Ok(()),
            _ if filled => Err(self.refuse(rule, field, "a text that is not empty")),
            _ => Err(self.refuse(rule, field, "a text")),
        }
    }

    fn seq(&self) -> Result<(), Violation> {
        let seq = self.fields.get("seq").and_then(Value::as_u64);
        if seq.is_some_and(|seq| (1..=MAX_SEQ).contains(&seq)) {
            return Ok(());
        }
        Err(self.refuse("member-seq", "seq", &format!("a whole number from 1 to {MAX_SEQ}")))
    }

    fn one_of(&self, rule: &'static str, field: &str, known: &[&str]) -> Result<(), Violation> {
        match filled_text(self.fields, field) {
            Some(text) if known.contains(&text) => Ok(()),
            _ => Err(self.refuse(rule, field, &format!("one of {}", known.join(", ")))),
        }
    }

    fn refuse(&self, rule: &'static str, field: &str, expected: &str) -> Violation {
        let run = self.run.unwrap_or("without an id");
        let found = self.fields.get(field).map_or("nothing".to_owned(), Value::to_string);
        Violation::new(
            rule,
            format!("workflow run {run}: {field} is {found}, expected {expected}"),
        )
    }
}

fn filled_text<'a>(fields: &'a Map<String, Value>, field: &str) -> Option<&'a str> {
    fields.get(field)?.as_str().filter(|text| !text.is_empty())
}
