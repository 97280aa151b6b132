//! The tool card that a client has after it has applied a transcript's updates.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Direction, Row};

/// A tool card as a client holds it, rebuilt from `tool_call` and `tool_call_update`.
///
/// Two cards are equal if an editor shows the same for both: that is how a live card is compared with
/// one replayed from the log.
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
}

/// The terminal id of a content item that embeds one.
fn terminal_of(item: &Value) -> Option<String> {
    match item["type"].as_str() {
        Some("terminal") => item["terminalId"].as_str().map(str::to_owned),
        _ => None,
    }
}

/// Every card of a transcript as it stands at the end, by session id and call id.
///
/// A `tool_call` for an id that exists opens the card anew, as a replay of its session does. Updates
/// of a card that was never opened are left out; [`t_check`](crate::t_check) reports them.
pub fn cards(rows: &[Row]) -> BTreeMap<(String, String), Card> {
    let mut cards = BTreeMap::new();
    for row in rows {
        let Row::Line {
            dir: Direction::Received,
            line,
        } = row
        else {
            continue;
        };
        let (params, update) = (&line["params"], &line["params"]["update"]);
        let (Some(session), Some(call)) = (params["sessionId"].as_str(), update["toolCallId"].as_str()) else {
            continue;
        };
        let key = (session.to_owned(), call.to_owned());
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => drop(cards.insert(key, Card::open(update))),
            Some("tool_call_update") => {
                cards.entry(key).and_modify(|card| card.apply(update));
            }
            _ => {}
        }
    }
    cards
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn received(session: &str, update: &Value) -> Row {
        Row::Line {
            dir: Direction::Received,
            line: json!({"jsonrpc": "2.0", "method": "session/update",
                "params": {"sessionId": session, "update": update}}),
        }
    }

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
    fn cards_of_two_sessions_with_one_id_stay_apart_and_a_replay_starts_anew() {
        let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "live"});
        let rows = [
            received("a", &call(json!({"title": "a"}))),
            received("b", &call(json!({"title": "b"}))),
            received("a", &update),
            received("b", &call(json!({"title": "again"}))),
        ];
        let titles: Vec<_> = cards(&rows).into_values().map(|card| card.title).collect();
        assert_eq!(titles, ["live", "again"]);
    }
}
