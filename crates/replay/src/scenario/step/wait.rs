//! Which update a step waits for.

use regex::Regex;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

/// Waits for an update that fits every key that is given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitUpdate {
    pub(crate) session: String,
    /// The value of `sessionUpdate`.
    pub(crate) kind: Option<String>,
    /// The call id.
    pub(crate) call: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) title: Option<Pattern>,
    /// Searched in the text of the update's content.
    pub(crate) content: Option<Pattern>,
}

impl WaitUpdate {
    /// Whether an `update` object fits.
    pub(crate) fn fits(&self, update: &Value) -> bool {
        let equals = |wanted: &Option<String>, key: &str| wanted.as_deref().is_none_or(|wanted| update[key] == wanted);
        let title = || update["title"].as_str().unwrap_or_default();
        equals(&self.kind, "sessionUpdate")
            && equals(&self.call, "toolCallId")
            && equals(&self.status, "status")
            && self.title.as_ref().is_none_or(|pattern| pattern.0.is_match(title()))
            && self
                .content
                .as_ref()
                .is_none_or(|pattern| pattern.0.is_match(&text_of(&update["content"])))
    }

    /// What is waited for, in words.
    pub(crate) fn describe(&self) -> String {
        let pattern = |pattern: &Option<Pattern>| pattern.as_ref().map(|pattern| pattern.0.as_str().to_owned());
        let keys = [
            ("kind", self.kind.clone()),
            ("call", self.call.clone()),
            ("status", self.status.clone()),
            ("title", pattern(&self.title)),
            ("content", pattern(&self.content)),
        ];
        let keys = keys
            .iter()
            .filter_map(|(key, value)| Some(format!(" {key} {:?}", value.as_ref()?)));
        format!("an update of session {:?}{}", self.session, keys.collect::<String>())
    }
}

/// The text of a chunk's content or of a card's, one line per block.
fn text_of(content: &Value) -> String {
    let block = |item: &Value| {
        item["text"]
            .as_str()
            .or(item["content"]["text"].as_str())
            .map(str::to_owned)
    };
    match content {
        Value::Array(items) => items.iter().filter_map(block).collect::<Vec<_>>().join("\n"),
        single => block(single).unwrap_or_default(),
    }
}

/// A regular expression that must be found somewhere in a text.
#[derive(Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    pub(crate) fn is_found_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&text).map(Self).map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            de::Error::custom(format!("found \"{text}\" ({reason}), expected a regular expression"))
        })
    }
}
