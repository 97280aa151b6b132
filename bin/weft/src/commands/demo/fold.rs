//! What a client knows of a turn: messages and cards, folded from updates.

use serde_json::Value;

/// A turn as the demo shows it.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) items: Vec<Item>,
}

/// One thing on the screen.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// Somebody spoke.
    Said { who: &'static str, text: String },
    /// A tool card.
    Card(Card),
}

/// A tool card: an update replaces only the fields it names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Card {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) status: String,
    pub(super) text: String,
}

impl Conversation {
    pub(super) fn new(prompt: &str) -> Self {
        Self {
            items: vec![Item::Said {
                who: "you",
                text: prompt.to_owned(),
            }],
        }
    }

    /// Takes one `session/update` in.
    pub(super) fn apply(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => self.say("weft", chunk(update)),
            Some("agent_thought_chunk") => self.say("thought", chunk(update)),
            Some("tool_call" | "tool_call_update") => self.card(update),
            _ => {}
        }
    }

    fn say(&mut self, speaker: &'static str, text: &str) {
        match self.items.last_mut() {
            Some(Item::Said { who, text: said }) if *who == speaker => said.push_str(text),
            _ => self.items.push(Item::Said {
                who: speaker,
                text: text.to_owned(),
            }),
        }
    }

    fn card(&mut self, update: &Value) {
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let known = self
            .items
            .iter()
            .position(|item| matches!(item, Item::Card(card) if card.id == id));
        let at = known.unwrap_or_else(|| {
            self.items.push(Item::Card(Card {
                id: id.to_owned(),
                status: "pending".to_owned(),
                ..Card::default()
            }));
            self.items.len() - 1
        });
        let Item::Card(card) = &mut self.items[at] else { return };
        if let Some(title) = update["title"].as_str() {
            title.clone_into(&mut card.title);
        }
        if let Some(status) = update["status"].as_str() {
            status.clone_into(&mut card.status);
        }
        if let Some(content) = update["content"].as_array() {
            let texts = content.iter().filter_map(|item| item["content"]["text"].as_str());
            card.text = texts.collect::<Vec<_>>().join("\n");
        }
    }
}

fn chunk(update: &Value) -> &str {
    update["content"]["text"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn chunks_join_and_cards_keep_what_an_update_does_not_name() {
        let mut conversation = Conversation::new("go");
        for update in [
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"}}),
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "b"}}),
            json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "t", "status": "in_progress"}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1",
                   "content": [{"type": "content", "content": {"type": "text", "text": "x"}}]}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}),
        ] {
            conversation.apply(&update);
        }
        let card = Card {
            id: "1".into(),
            title: "t".into(),
            status: "completed".into(),
            text: "x".into(),
        };
        let said = |who, text: &str| Item::Said {
            who,
            text: text.to_owned(),
        };
        assert_eq!(
            conversation.items,
            [said("you", "go"), said("weft", "ab"), Item::Card(card)]
        );
    }
}
