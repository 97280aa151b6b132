//! The tool card that a client has after it has applied a transcript's updates.

use serde_json::{Value, json};

/// A tool card as a client holds it, rebuilt from `tool_call` and `tool_call_update`.
///
/// Two cards are equal if an editor shows the same for both: that is how a live card is compared with
/// one that a load shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Card {
    /// Its title.
    pub title: String,
    /// Its kind; `other` when none was given.
    pub kind: String,
    /// Its status; `pending` when none was given.
    pub status: String,
    /// The raw input, if one was given.
    pub raw_input: Option<Value>,
    /// Where it works.
    pub locations: Vec<Value>,
    /// What it shows.
    pub content: Vec<Value>,
    /// The terminal it shows, from its content or from its `terminal_info`.
    pub terminal: Option<String>,
}

impl Card {
    /// The card that a `tool_call` opens.
    pub fn open(call: &Value) -> Self {
        let mut card = Self {
            kind: "other".to_owned(),
            status: "pending".to_owned(),
            ..Self::default()
        };
        card.apply(call);
        card
    }

    /// Applies a `tool_call_update`: what is absent or null stays, lists are replaced whole.
    pub fn apply(&mut self, update: &Value) {
        let text = |name: &str| update[name].as_str().map(str::to_owned);
        if let Some(title) = text("title") {
            self.title = title;
        }
        if let Some(kind) = text("kind") {
            self.kind = kind;
        }
        if let Some(status) = text("status") {
            self.status = status;
        }
        if let Some(input) = update.get("rawInput").filter(|input| !input.is_null()) {
            self.raw_input = Some(input.clone());
        }
        if let Some(locations) = update["locations"].as_array() {
            self.locations.clone_from(locations);
        }
        if let Some(content) = update["content"].as_array() {
            self.content.clone_from(content);
            self.terminal = content.iter().find_map(terminal_of);
        }
        if let Some(terminal) = update["_meta"]["terminal_info"]["terminal_id"].as_str() {
            self.terminal = Some(terminal.to_owned());
        }
    }

    /// Whether nothing of it will change any more.
    pub fn is_final(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed")
    }

    /// The names of the fields in which another card differs, with the values of both.
    pub(crate) fn differences(&self, other: &Self) -> Vec<(&'static str, Value, Value)> {
        let fields = FIELDS.into_iter().zip(self.values().into_iter().zip(other.values()));
        let differing = fields.filter(|(_, (own, others))| own != others);
        differing.map(|(name, (own, others))| (name, own, others)).collect()
    }

    /// The values of [`FIELDS`].
    fn values(&self) -> [Value; 7] {
        [
            json!(self.title),
            json!(self.kind),
            json!(self.status),
            json!(self.raw_input),
            json!(self.locations),
            json!(self.content),
            json!(self.terminal),
        ]
    }
}

/// The terminal id of a content item that embeds one.
fn terminal_of(item: &Value) -> Option<String> {
    match item["type"].as_str() {
        Some("terminal") => item["terminalId"].as_str().map(str::to_owned),
        _ => None,
    }
}

/// What a card shows.
const FIELDS: [&str; 7] = [
    "title",
    "kind",
    "status",
    "rawInput",
    "locations",
    "content",
    "terminal",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(fields: Value) -> Value {
        let mut call = fields;
        call["sessionUpdate"] = json!("tool_call");
        call["toolCallId"] = json!("c");
        call
    }

    #[test]
    fn what_an_update_leaves_out_or_nulls_stays_and_lists_are_replaced_whole() {
        let mut card = Card::open(&call(
            json!({"title": "t", "kind": "read", "rawInput": "x", "locations": [1, 2]}),
        ));
        card.apply(&json!({"status": "completed", "title": null, "locations": [3], "content": ["a"]}));
        card.apply(&json!({"content": []}));
        let expected = Card {
            title: "t".into(),
            kind: "read".into(),
            status: "completed".into(),
            raw_input: Some(json!("x")),
            locations: vec![json!(3)],
            ..Card::default()
        };
        assert_eq!(card, expected);
    }

    #[test]
    fn a_terminal_is_found_in_content_and_in_terminal_info() {
        let terminal = json!({"type": "terminal", "terminalId": "c"});
        let mut card = Card::open(&call(json!({"content": [terminal]})));
        assert_eq!(card.terminal.as_deref(), Some("c"));
        card.apply(&json!({"content": []}));
        assert_eq!(card.terminal, None);
        let card = Card::open(&call(json!({"_meta": {"terminal_info": {"terminal_id": "d"}}})));
        assert_eq!(card.terminal.as_deref(), Some("d"));
    }

    #[test]
    fn a_difference_is_named_by_its_field() {
        let card = Card::open(&call(json!({"title": "t", "kind": "read", "locations": [1]})));
        let mut other = card.clone();
        assert_eq!(card.differences(&other), []);
        other.apply(&json!({"title": "u", "status": "failed", "rawInput": {"a": 1}}));
        let expected = [
            ("title", json!("t"), json!("u")),
            ("status", json!("pending"), json!("failed")),
            ("rawInput", json!(null), json!({"a": 1})),
        ];
        assert_eq!(card.differences(&other), expected);
    }
}
