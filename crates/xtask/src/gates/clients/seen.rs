//! What a client was shown of one workflow, and whether it was shown it live and whole.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

/// Different texts of the card between its beginning and its end that a person needs to follow the run.
const LEAST_STATES: usize = 4;

/// What the client was shown.
pub(super) struct Seen {
    updates: usize,
    states: usize,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} updates of the running workflow, {} of them different",
            self.updates, self.states
        )
    }
}

/// Reads the lines of a client and follows the one card among them to the end of the turn.
pub(super) fn check(lines: &str) -> anyhow::Result<Seen> {
    let mut card = Card::Absent;
    let mut running = Vec::new();
    let mut answer = None;
    for line in lines.lines() {
        let message: Value = serde_json::from_str(line).with_context(|| format!("a line is not JSON: {line}"))?;
        if let Some(reason) = message.pointer("/result/stopReason") {
            answer = Some(reason.as_str().unwrap_or_default().to_owned());
        }
        let Some(update) = message.pointer("/params/update") else {
            continue;
        };
        card = card.after(update, &mut running)?;
    }
    ensure!(answer.as_deref() == Some("end_turn"), "the turn ended with {answer:?}");
    let Card::Completed { text } = card else {
        bail!("the card is {card:?} at the end of the turn")
    };
    ensure!(text.contains("three of three"), "the result is not in the card: {text}");
    for phase in ["Look", "Sum up"] {
        ensure!(
            running.iter().any(|text| text.contains(phase)),
            "the phase {phase} was never shown"
        );
    }
    let states = running.iter().collect::<BTreeSet<_>>().len();
    ensure!(
        states >= LEAST_STATES,
        "only {states} states of the run were shown, {LEAST_STATES} are owed"
    );
    Ok(Seen {
        updates: running.len(),
        states,
    })
}

/// The card of the workflow's call.
#[derive(Debug)]
enum Card {
    Absent,
    Open { id: String },
    Completed { text: String },
}

impl Card {
    /// The card after an update; the text of one that runs on is kept in `running`.
    fn after(self, update: &Value, running: &mut Vec<String>) -> anyhow::Result<Self> {
        let field = |name: &str| update.get(name).and_then(Value::as_str).unwrap_or_default();
        let id = field("toolCallId");
        match (self, field("sessionUpdate"), field("status")) {
            (Self::Absent, "tool_call", _) => Ok(Self::Open { id: id.to_owned() }),
            (Self::Open { id: known }, "tool_call_update", status) if known == id => match status {
                "completed" => Ok(Self::Completed { text: text(update) }),
                "failed" => bail!("the workflow failed: {}", text(update)),
                _ => {
                    running.push(text(update));
                    Ok(Self::Open { id: known })
                }
            },
            (card, "tool_call" | "tool_call_update", _) => bail!("an update of {id} while the card is {card:?}"),
            (card, _, _) => Ok(card),
        }
    }
}

/// Title and text content of an update.
fn text(update: &Value) -> String {
    let blocks = update.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = blocks.filter_map(|block| block.pointer("/content/text")?.as_str());
    let title = update.get("title").and_then(Value::as_str);
    title.into_iter().chain(texts).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(kind: &str, status: &str, text: &str) -> String {
        let content = serde_json::json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
        let update =
            serde_json::json!({ "sessionUpdate": kind, "toolCallId": "1", "status": status, "content": content });
        serde_json::json!({ "method": "session/update", "params": { "update": update } }).to_string()
    }

    fn live() -> Vec<String> {
        let states = ["Look", "Look 1", "Look 2", "Sum up"];
        let mut lines = vec![update("tool_call", "in_progress", "")];
        lines.extend(states.map(|state| update("tool_call_update", "in_progress", state)));
        lines.push(update("tool_call_update", "completed", "three of three"));
        lines.push(r#"{"result":{"stopReason":"end_turn"}}"#.into());
        lines
    }

    #[track_caller]
    fn refused(lines: &[String], reason: &str) {
        let error = check(&lines.join("\n"))
            .err()
            .expect("the lines are not as they should be");
        assert!(error.to_string().contains(reason), "{error}");
    }

    #[test]
    fn a_workflow_that_was_shown_live_passes() {
        let seen = check(&live().join("\n")).expect("all is as it should be");
        assert_eq!((seen.updates, seen.states), (4, 4));
    }

    #[test]
    fn a_card_that_changes_only_at_its_end_is_refused() {
        let mut lines = live();
        lines.drain(2..5);
        refused(&lines, "the phase Sum up was never shown");
        let mut lines = live();
        lines[2] = lines[1].clone();
        lines[3] = lines[1].clone();
        refused(&lines, "states of the run");
    }

    #[test]
    fn an_update_after_the_end_and_before_the_beginning_are_refused() {
        let mut lines = live();
        lines.swap(4, 5);
        refused(&lines, "while the card is Completed");
        let mut lines = live();
        lines.swap(0, 1);
        refused(&lines, "while the card is Absent");
    }

    #[test]
    fn a_turn_that_does_not_end_well_is_refused() {
        let mut lines = live();
        lines.pop();
        refused(&lines, "the turn ended with None");
        let mut lines = live();
        lines.remove(5);
        refused(&lines, "the card is Open");
        let mut lines = live();
        lines[5] = update("tool_call_update", "failed", "no luck");
        refused(&lines, "the workflow failed: no luck");
    }
}
