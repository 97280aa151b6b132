//! What T-check remembers of one card.

use serde_json::Value;

use super::Rule;
use super::session::Found;
use crate::Card;

/// Fields that only the call itself may set.
const OF_THE_CALL: [&str; 4] = ["kind", "rawInput", "locations", "name"];

pub(super) struct CardState {
    /// The card as the call opened it.
    call: Card,
    /// The card now.
    live: Card,
}

impl CardState {
    pub(super) fn open(call: &Value) -> (Self, Vec<Found>) {
        let card = Card::open(call);
        let found = match card.status.as_str() {
            "pending" | "in_progress" => Vec::new(),
            status => vec![(Rule::CardOrder, format!("tool_call came with status {status}"))],
        };
        let state = Self {
            live: card.clone(),
            call: card,
        };
        (state, found)
    }

    pub(super) fn is_final(&self) -> bool {
        self.live.is_final()
    }

    pub(super) fn update(&mut self, update: &Value) -> Vec<Found> {
        if self.is_final() {
            return vec![(Rule::CardOrder, "an update came after the final one".to_owned())];
        }
        match update["status"].as_str() {
            Some("in_progress") => {
                let found = self.progress(update);
                self.live.apply(update);
                found
            }
            Some("completed" | "failed") => {
                let found = self.end(update);
                self.live.apply(update);
                found
            }
            status => {
                let status = status.unwrap_or("none");
                vec![(Rule::CardOrder, format!("an update came with status {status}"))]
            }
        }
    }

    fn progress(&self, update: &Value) -> Vec<Found> {
        let surplus = OF_THE_CALL.iter().filter(|field| update.get(**field).is_some());
        let mut found: Vec<_> = surplus
            .map(|field| (Rule::ProgressFields, format!("a progress update carries {field}")))
            .collect();
        if let Some(content) = update["content"].as_array() {
            let call = &self.call.content;
            if call.iter().any(is_block) && !content.starts_with(call) {
                let message = "progress does not begin with the blocks that the call shows";
                found.push((Rule::CardBlocks, message.to_owned()));
            }
        }
        found
    }

    fn end(&self, update: &Value) -> Vec<Found> {
        let mut found = Vec::new();
        if update["title"].is_null() && self.live.title != self.call.title {
            let (left, due) = (&self.live.title, &self.call.title);
            found.push((
                Rule::CardRestored,
                format!("the card ends as {left:?}, which progress had put in place of {due:?}"),
            ));
        }
        match update["content"].as_array() {
            None if self.live.content != self.call.content => {
                let message = "the card ends with the content of its last progress update";
                found.push((Rule::CardRestored, message.to_owned()));
            }
            Some(content)
                if self
                    .call
                    .content
                    .iter()
                    .any(|item| is_terminal(item) && !content.contains(item)) =>
            {
                found.push((Rule::CardBlocks, "the end takes the card's terminal away".to_owned()));
            }
            _ => {}
        }
        found
    }
}

fn is_block(item: &Value) -> bool {
    is_terminal(item) || item["type"] == "diff"
}

fn is_terminal(item: &Value) -> bool {
    item["type"] == "terminal"
}
