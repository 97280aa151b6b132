//! One call of an agent of others, as its updates have made it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weft_tools::{FileDiff, Location, PlanEntry};

use crate::sdk::schema;

/// The longest title, in characters.
const TITLE_CHARS: usize = 300;
/// The largest input that a card shows, in bytes of JSON.
const INPUT_BYTES: usize = 32 << 10;
/// How many places a card names.
const MAX_PLACES: usize = 100;

/// What the log holds of a call from its start: the arguments that stand for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Arguments {
    /// The agent's own id of the call; empty for a plan.
    pub(super) call: String,
    pub(super) title: String,
    /// What it does, in the protocol's word.
    #[serde(default)]
    pub(super) kind: schema::ToolKind,
    /// The agent's own name of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) places: Vec<Place>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<Change>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) plan: Vec<PlanEntry>,
}

impl Arguments {
    /// As a log holds them.
    pub(super) fn to_json(&self) -> String {
        // Plain data with text keys.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A place that a call works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u32>,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) old: Option<String>,
    pub(super) new: String,
}

impl From<Place> for Location {
    fn from(Place { path, line }: Place) -> Self {
        Self { path, line }
    }
}

impl From<Change> for FileDiff {
    fn from(Change { path, old, new }: Change) -> Self {
        Self {
            path,
            old_text: old,
            new_text: new,
        }
    }
}

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Card {
    id: String,
    title: String,
    name: Option<String>,
    kind: schema::ToolKind,
    status: schema::ToolCallStatus,
    content: Vec<schema::ToolCallContent>,
    places: Vec<Place>,
    input: Option<Value>,
    output: Option<Value>,
    /// What it printed, from an agent that tells so piece by piece.
    printed: String,
    /// How much text is kept, in bytes.
    limit: usize,
}

impl Card {
    /// A call of which nothing is known but its id.
    pub(super) fn new(id: &str, limit: usize) -> Self {
        Self {
            id: id.to_owned(),
            title: String::new(),
            name: None,
            kind: schema::ToolKind::Other,
            status: schema::ToolCallStatus::Pending,
            content: Vec::new(),
            places: Vec::new(),
            input: None,
            output: None,
            printed: String::new(),
            limit,
        }
    }

    /// Takes in an update; what it leaves out stays.
    pub(super) fn apply(&mut self, fields: schema::ToolCallUpdateFields, meta: Option<&schema::Meta>) {
        if let Some(title) = fields.title.filter(|title| !title.trim().is_empty()) {
            self.title = title.chars().take(TITLE_CHARS).collect();
        }
        self.name = fields.name.or(self.name.take());
        self.kind = fields.kind.unwrap_or(self.kind);
        self.status = fields.status.unwrap_or(self.status);
        if let Some(content) = fields.content {
            self.content = content;
        }
        if let Some(places) = fields.locations {
            let place = |place: schema::ToolCallLocation| Place {
                path: shown(&place.path),
                line: place.line,
            };
            self.places = places.into_iter().take(MAX_PLACES).map(place).collect();
        }
        self.input = fields.raw_input.or(self.input.take());
        self.output = fields.raw_output.or(self.output.take());
        let printed = meta.and_then(|meta| meta.get("terminal_output")?.get("data")?.as_str());
        if let Some(printed) = printed {
            self.printed.push_str(printed);
            self.printed = ends_of(std::mem::take(&mut self.printed), self.limit);
        }
    }

    pub(super) fn title(&self) -> &str {
        match (self.title.as_str(), &self.name) {
            ("", Some(name)) => name,
            ("", None) => "tool call",
            (title, _) => title,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(
            self.status,
            schema::ToolCallStatus::Completed | schema::ToolCallStatus::Failed
        )
    }

    pub(super) fn has_failed(&self) -> bool {
        self.status == schema::ToolCallStatus::Failed
    }

    pub(super) fn kind(&self) -> schema::ToolKind {
        self.kind
    }

    pub(super) fn input(&self) -> Option<&Value> {
        self.input.as_ref()
    }

    /// The arguments that stand for it now.
    pub(super) fn arguments(&self) -> Arguments {
        let is_short = |input: &Value| input.to_string().len() <= INPUT_BYTES;
        Arguments {
            call: self.id.clone(),
            title: self.title().to_owned(),
            kind: self.kind,
            name: self.name.clone(),
            input: self.input.clone().filter(is_short),
            places: self.places.clone(),
            changes: self.changes(),
            plan: Vec::new(),
        }
    }

    /// The changes of files that it shows, unless they are too large to be kept.
    pub(super) fn changes(&self) -> Vec<Change> {
        let changes = self.content.iter().filter_map(|item| match item {
            schema::ToolCallContent::Diff(diff) => Some(Change {
                path: shown(&diff.path),
                old: diff.old_text.clone(),
                new: diff.new_text.clone(),
            }),
            _ => None,
        });
        let changes: Vec<Change> = changes.collect();
        let size = |change: &Change| change.new.len() + change.old.as_ref().map_or(0, String::len);
        if changes.iter().map(size).sum::<usize>() > 4 * self.limit {
            return Vec::new();
        }
        changes
    }

    /// What it shows or gave, as text: its beginning and its end.
    pub(super) fn text(&self) -> String {
        let blocks = self.content.iter().filter_map(|item| match item {
            schema::ToolCallContent::Content(content) => Some(text_of(&content.content)),
            _ => None,
        });
        let text = blocks.collect::<Vec<_>>().join("\n");
        let text = match (text.trim().is_empty(), &self.output) {
            (false, _) => text,
            (true, _) if !self.printed.is_empty() => self.printed.clone(),
            (true, Some(Value::String(output))) => output.clone(),
            (true, Some(output)) if self.changes().is_empty() => output.to_string(),
            (true, _) => String::new(),
        };
        ends_of(text, self.limit)
    }
}

/// A block of content as text.
pub(super) fn text_of(block: &schema::ContentBlock) -> String {
    match block {
        schema::ContentBlock::Text(text) => text.text.clone(),
        schema::ContentBlock::Image(image) => format!("[a picture, {}]", image.mime_type),
        schema::ContentBlock::Audio(audio) => format!("[a recording, {}]", audio.mime_type),
        schema::ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        schema::ContentBlock::Resource(resource) => match &resource.resource {
            schema::EmbeddedResourceResource::TextResourceContents(text) => text.text.clone(),
            _ => "[a resource]".to_owned(),
        },
        _ => String::new(),
    }
}

fn shown(path: &std::path::Path) -> String {
    PathBuf::from(path).to_string_lossy().into_owned()
}

/// The text, or its two ends if it has more than `limit` bytes.
pub(super) fn ends_of(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let head = text.floor_char_boundary(limit / 2);
    let tail = text.ceil_char_boundary(text.len() - limit / 2);
    let left_out = tail - head;
    format!("{}\n[… {left_out} bytes left out …]\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(fields: Value) -> schema::ToolCallUpdateFields {
        serde_json::from_value(fields).expect("fields of an update")
    }

    #[test]
    fn an_update_changes_only_what_it_names() {
        let mut card = Card::new("c", 1_000);
        assert_eq!(card.title(), "tool call");
        card.apply(
            fields(json!({"title": "Read a", "kind": "read", "status": "in_progress",
            "locations": [{"path": "/a", "line": 3}], "rawInput": {"path": "/a"}})),
            None,
        );
        card.apply(
            fields(json!({"status": "completed", "title": " ",
            "content": [{"type": "content", "content": {"type": "text", "text": "hello"}}]})),
            None,
        );
        let arguments = serde_json::to_value(card.arguments()).expect("plain data");
        assert_eq!(
            arguments,
            json!({"call": "c", "title": "Read a", "kind": "read", "input": {"path": "/a"},
                "places": [{"path": "/a", "line": 3}]})
        );
        assert!(card.is_over() && !card.has_failed());
        assert_eq!(card.text(), "hello");
    }

    #[test]
    fn what_is_printed_piece_by_piece_stands_for_the_content_and_is_bounded() {
        let mut card = Card::new("c", 20);
        let piece = |text: &str| schema::Meta::from_iter([("terminal_output".to_owned(), json!({ "data": text }))]);
        card.apply(fields(json!({})), Some(&piece("one\n")));
        card.apply(fields(json!({"rawOutput": {"exit": 0}})), Some(&piece("two\n")));
        assert_eq!(card.text(), "one\ntwo\n");
        card.apply(fields(json!({})), Some(&piece(&"é".repeat(50))));
        let text = card.text();
        assert!(text.starts_with("one\ntwo\n") && text.ends_with("éé"), "{text}");
        assert!(text.contains("bytes left out"), "{text}");
    }

    #[test]
    fn changes_are_kept_unless_they_are_too_large() {
        let mut card = Card::new("c", 10);
        let diff = |new: &str| json!({"content": [{"type": "diff", "path": "/a", "newText": new}]});
        card.apply(fields(diff("new")), None);
        assert_eq!(card.changes()[0].new, "new");
        card.apply(fields(diff(&"x".repeat(41))), None);
        assert!(card.changes().is_empty());
    }
}
