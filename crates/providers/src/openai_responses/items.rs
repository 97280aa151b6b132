//! The items of an answer, put together from their pieces.

use serde_json::Value;

use crate::draft::WholeCall;
use crate::json::Json;

/// The items of an answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Items {
    items: Vec<Numbered>,
}

/// An item with its place in the answer.
#[derive(Debug)]
pub(super) struct Numbered {
    index: Option<u64>,
    id: String,
    pub(super) is_done: bool,
    pub(super) item: Item,
}

/// An item, or what has arrived of it.
#[derive(Debug)]
pub(super) enum Item {
    Message {
        text: String,
    },
    Reasoning {
        /// What was shown of it.
        shown: String,
    },
    Call(WholeCall),
    /// Something that is not asked for.
    Other,
}

/// Where a piece of an item belongs.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// A place with what is known of it; an empty id is none.
    pub(super) fn new(index: Option<u64>, id: Option<&'a Json<'_>>) -> Self {
        let id = id.and_then(Json::as_str).filter(|id| !id.is_empty());
        Self { index, id }
    }

    /// The place that an event of the stream names.
    pub(super) fn of_event(event: &'a Json<'_>) -> Self {
        let index = event.get("output_index").and_then(Json::as_u64);
        Self::new(index, event.get("item_id").or_else(|| event.at(&["item", "id"])))
    }
}

impl Item {
    /// An item as it begins: of its kind, and empty.
    fn begin(value: &Json<'_>) -> Self {
        match value.get("type").and_then(Json::as_str) {
            Some("message") => Self::Message { text: String::new() },
            Some("reasoning") => Self::Reasoning { shown: String::new() },
            Some("function_call") => Self::Call(WholeCall {
                id: text(value, "call_id").to_owned(),
                name: text(value, "name").to_owned(),
                ..WholeCall::default()
            }),
            _ => Self::Other,
        }
    }
}

impl Items {
    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn begin(&mut self, place: Place<'_>, value: &Json<'_>) -> &mut Numbered {
        self.items.push(Numbered {
            index: place.index,
            id: place.id.unwrap_or_default().to_owned(),
            is_done: false,
            item: Item::begin(value),
        });
        self.items.last_mut().expect("an item was added")
    }

    /// The item that a piece belongs to: by its place, else by its id; one without either goes on with the
    /// last.
    pub(super) fn get(&mut self, place: Place<'_>) -> Option<&mut Numbered> {
        let at = self.find(place)?;
        self.items.get_mut(at)
    }

    fn find(&self, place: Place<'_>) -> Option<usize> {
        match place {
            Place { index: None, id: None } => self.items.len().checked_sub(1),
            Place { index, id } => {
                let by_index = self
                    .items
                    .iter()
                    .rposition(|item| index.is_some() && item.index == index);
                by_index.or_else(|| self.items.iter().rposition(|item| id == Some(item.id.as_str())))
            }
        }
    }

    /// Whether a call began that did not end.
    pub(super) fn has_open_call(&self) -> bool {
        let is_open = |item: &Numbered| !item.is_done && matches!(item.item, Item::Call(_));
        self.items.iter().any(is_open)
    }

    /// How many calls began before the item at a place.
    pub(super) fn calls_before(&self, place: Place<'_>) -> usize {
        let before = self.find(place).unwrap_or(self.items.len());
        let is_call = |item: &&Numbered| matches!(item.item, Item::Call(_));
        self.items[..before].iter().filter(is_call).count()
    }

    /// The calls.
    pub(super) fn into_calls(self) -> Vec<WholeCall> {
        let calls = self.items.into_iter().filter_map(|item| match item.item {
            Item::Call(call) => Some(call),
            Item::Message { .. } | Item::Reasoning { .. } | Item::Other => None,
        });
        calls.collect()
    }
}

/// A reasoning item as it goes back; `None` for one that says nothing without being stored at the endpoint.
pub(super) fn sealed(item: &Json<'_>) -> Option<Value> {
    let encrypted = !text(item, "encrypted_content").is_empty();
    let open = item
        .get("content")
        .and_then(Json::as_array)
        .is_some_and(|content| !content.is_empty());
    let mut item = (encrypted || open).then(|| item.to_value())?;
    // How far the answer was is nothing that goes back.
    item.as_object_mut()?.shift_remove("status");
    Some(item)
}

/// The text of an item as it ended: that of a message with its refusals, or what a reasoning item discloses.
pub(super) fn text_of(item: &Json<'_>) -> String {
    let parts = |key: &str| item.get(key).and_then(Json::as_array).into_iter().flatten();
    let texts = |key: &str| {
        let texts = parts(key).map(|part| [text(part, "text"), text(part, "refusal")].concat());
        texts.collect::<Vec<_>>()
    };
    match item.get("type").and_then(Json::as_str) {
        Some("reasoning") => {
            let summary = texts("summary").join("\n\n");
            if summary.is_empty() {
                texts("content").concat()
            } else {
                summary
            }
        }
        _ => texts("content").concat(),
    }
}

/// Whether a message holds a refusal.
pub(super) fn is_refusal(item: &Json<'_>) -> bool {
    let parts = item.get("content").and_then(Json::as_array).into_iter().flatten();
    parts.into_iter().any(|part| !text(part, "refusal").is_empty())
}

pub(super) fn text<'a>(value: &'a Json<'_>, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}
