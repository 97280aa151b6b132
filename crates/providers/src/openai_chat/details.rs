//! Reasoning in a list of details, as gateways pass on what different providers want back.

use serde_json::Value;

/// The keys whose texts come in pieces.
const TEXTS: [&str; 3] = ["text", "summary", "data"];

/// The details of an answer, put together from their pieces.
#[derive(Debug, Default)]
pub(super) struct Details {
    details: Vec<Value>,
}

impl Details {
    /// Takes one element of `reasoning_details`; gives the number of bytes it added.
    pub(super) fn take(&mut self, piece: &Value) -> usize {
        let Some(new) = piece.as_object() else { return 0 };
        let is_same = |last: &&mut Value| ["type", "index"].iter().all(|key| last.get(key) == piece.get(key));
        let Some(Value::Object(last)) = self.details.last_mut().filter(is_same) else {
            self.details.push(piece.clone());
            return piece.to_string().len();
        };
        let mut added = 0;
        for (key, value) in new {
            match (last.get_mut(key), value) {
                (_, Value::Null) => {}
                (Some(Value::String(held)), Value::String(more)) if TEXTS.contains(&key.as_str()) => {
                    held.push_str(more);
                    added += more.len();
                }
                _ => {
                    added += key.len() + value.to_string().len();
                    last.insert(key.clone(), value.clone());
                }
            }
        }
        added
    }

    /// What is there, in the order in which it began.
    pub(super) fn into_list(self) -> Vec<Value> {
        self.details
    }
}

/// What an element of `reasoning_details` discloses.
pub(super) fn disclosed(piece: &Value) -> &str {
    let shown = ["text", "summary"].iter().find_map(|key| piece.get(key)?.as_str());
    shown.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_of_one_detail_are_put_together() {
        let mut details = Details::default();
        for piece in [
            json!({ "type": "reasoning.text", "index": 0, "text": "a", "format": "f", "signature": null }),
            json!({ "type": "reasoning.text", "index": 0, "text": "b" }),
            json!({ "type": "reasoning.text", "index": 0, "signature": "sig" }),
            json!({ "type": "reasoning.encrypted", "index": 1, "data": "x", "id": "r" }),
            json!({ "type": "reasoning.encrypted", "index": 2, "data": "y" }),
            json!("rubbish"),
        ] {
            details.take(&piece);
        }
        let expected = [
            json!({ "type": "reasoning.text", "index": 0, "text": "ab", "format": "f", "signature": "sig" }),
            json!({ "type": "reasoning.encrypted", "index": 1, "data": "x", "id": "r" }),
            json!({ "type": "reasoning.encrypted", "index": 2, "data": "y" }),
        ];
        assert_eq!(details.into_list(), expected);
    }

    #[test]
    fn text_and_summary_are_shown() {
        for (piece, expected) in [
            (json!({ "text": "a" }), "a"),
            (json!({ "summary": "b" }), "b"),
            (json!({ "data": "c" }), ""),
        ] {
            assert_eq!(disclosed(&piece), expected);
        }
    }
}
