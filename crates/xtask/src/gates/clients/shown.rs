//! What a client was shown and asked for, from the lines it printed.

use anyhow::{Context, bail, ensure};
use serde_json::Value;

/// What a client was shown and asked for, in order.
#[derive(Debug, Default)]
pub(super) struct Shown {
    cards: Vec<Card>,
    /// The requests for its files, each with its method.
    pub(super) asked: Vec<(String, Value)>,
    /// What the agent said.
    pub(super) said: String,
    /// How the prompts ended.
    pub(super) stops: Vec<String>,
}

/// The card of one call.
#[derive(Debug)]
pub(super) struct Card {
    id: String,
    /// Title and text of each update while it was running.
    pub(super) running: Vec<String>,
    end: Option<End>,
}

#[derive(Debug)]
struct End {
    status: String,
    text: String,
}

impl Shown {
    /// Reads the lines of a client. Every card must begin once, end once, and have ended when its prompt is answered.
    pub(super) fn read(lines: &str) -> anyhow::Result<Self> {
        let mut shown = Self::default();
        for line in lines.lines() {
            let message: Value = serde_json::from_str(line).with_context(|| format!("a line is not JSON: {line}"))?;
            shown.take(&message).with_context(|| format!("at the line {line}"))?;
        }
        Ok(shown)
    }

    fn take(&mut self, message: &Value) -> anyhow::Result<()> {
        if let Some(stop) = message.pointer("/result/stopReason").and_then(Value::as_str) {
            let open = self.cards.iter().find(|card| card.end.is_none());
            if let Some(open) = open {
                bail!("the card {} is open at the end of the turn", open.id);
            }
            self.stops.push(stop.to_owned());
        }
        match message["method"].as_str() {
            Some("session/update") => self.update(&message["params"]["update"])?,
            Some(method) if method.starts_with("fs/") => {
                self.asked.push((method.to_owned(), message["params"].clone()));
            }
            Some(method) if method.starts_with("terminal/") => {
                bail!("{method} was asked for, and commands are not run in the client's terminal");
            }
            _ => {}
        }
        Ok(())
    }

    fn update(&mut self, update: &Value) -> anyhow::Result<()> {
        let field = |name: &str| update[name].as_str().unwrap_or_default();
        let id = field("toolCallId");
        let known = self.cards.iter_mut().find(|card| card.id == id);
        match (field("sessionUpdate"), known) {
            ("agent_message_chunk", _) => {
                self.said += update["content"]["text"].as_str().unwrap_or_default();
            }
            ("tool_call", None) => self.cards.push(Card {
                id: id.to_owned(),
                running: Vec::new(),
                end: None,
            }),
            ("tool_call", Some(_)) => bail!("the card {id} begins a second time"),
            ("tool_call_update", None) => bail!("the card {id} has not begun"),
            ("tool_call_update", Some(card)) => {
                ensure!(card.end.is_none(), "the card {id} has ended");
                match field("status") {
                    status @ ("completed" | "failed") => {
                        card.end = Some(End {
                            status: status.to_owned(),
                            text: text(update),
                        });
                    }
                    _ => card.running.push(text(update)),
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The card of a call.
    pub(super) fn card(&self, id: &str) -> anyhow::Result<&Card> {
        let card = self.cards.iter().find(|card| card.id == id);
        card.with_context(|| format!("there is no card {id}"))
    }

    /// How many cards there are.
    pub(super) fn cards(&self) -> usize {
        self.cards.len()
    }
}

impl Card {
    /// Title and text of the end of a card that has completed.
    pub(super) fn completed(&self) -> anyhow::Result<&str> {
        self.ended("completed")
    }

    /// The same of one that has failed.
    pub(super) fn failed(&self) -> anyhow::Result<&str> {
        self.ended("failed")
    }

    fn ended(&self, status: &str) -> anyhow::Result<&str> {
        match &self.end {
            Some(end) if end.status == status => Ok(&end.text),
            other => bail!("the card {} ended with {other:?}, expected {status}", self.id),
        }
    }
}

/// Title and text content of an update.
fn text(update: &Value) -> String {
    let blocks = update["content"].as_array().into_iter().flatten();
    let texts = blocks.filter_map(|block| block.pointer("/content/text")?.as_str());
    let title = update["title"].as_str();
    title.into_iter().chain(texts).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// The line of an update of the card `1`.
    pub(in super::super) fn update(kind: &str, status: &str, text: &str) -> String {
        let content = json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
        let update = json!({ "sessionUpdate": kind, "toolCallId": "1", "status": status, "content": content });
        json!({ "method": "session/update", "params": { "update": update } }).to_string()
    }

    /// The line of a prompt's answer.
    pub(in super::super) const END: &str = r#"{"result":{"stopReason":"end_turn"}}"#;

    fn whole() -> Vec<String> {
        vec![
            update("tool_call", "in_progress", ""),
            update("tool_call_update", "in_progress", "half"),
            update("tool_call_update", "completed", "all"),
            END.to_owned(),
        ]
    }

    #[track_caller]
    fn refused(lines: &[String], reason: &str) {
        let error = Shown::read(&lines.join("\n")).expect_err("the lines are not as they should be");
        let chain: Vec<_> = error.chain().map(ToString::to_string).collect();
        assert!(chain.iter().any(|text| text.contains(reason)), "{chain:?}");
    }

    #[test]
    fn a_card_is_followed_from_its_beginning_to_its_end() {
        let shown = Shown::read(&whole().join("\n")).expect("all is as it should be");
        let card = shown.card("1").expect("there is one");
        assert_eq!(card.running, ["half"]);
        assert_eq!(card.completed().expect("it has"), "all");
        assert!(card.failed().is_err() && shown.card("2").is_err());
        assert_eq!(shown.stops, ["end_turn"]);
    }

    #[test]
    fn a_card_out_of_order_is_refused() {
        let mut lines = whole();
        lines.swap(1, 2);
        refused(&lines, "the card 1 has ended");
        let mut lines = whole();
        lines.swap(0, 1);
        refused(&lines, "the card 1 has not begun");
        let mut lines = whole();
        lines[1] = lines[0].clone();
        refused(&lines, "the card 1 begins a second time");
    }

    #[test]
    fn a_card_that_outlives_its_turn_is_refused() {
        let mut lines = whole();
        lines.remove(2);
        refused(&lines, "the card 1 is open at the end of the turn");
    }

    #[test]
    fn a_request_for_a_file_is_kept_and_one_for_a_terminal_is_refused() {
        let read = json!({ "method": "fs/read_text_file", "params": { "path": "/a" } }).to_string();
        let shown = Shown::read(&read).expect("it is fine");
        assert_eq!(shown.asked, [("fs/read_text_file".to_owned(), json!({ "path": "/a" }))]);
        refused(
            &[json!({ "method": "terminal/create", "params": {} }).to_string()],
            "terminal/create",
        );
    }
}
