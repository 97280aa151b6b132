//! What a load shows otherwise than the live session did.

use std::fmt;

use serde_json::{Value, json};

use super::{Call, Conversation, Item, Speaker, Text};

/// One thing that a load shows otherwise than the live session did.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What it is: a call and its field, the title, or a place in the conversation.
    pub what: String,
    /// How it was live; null if it was not there.
    pub live: Value,
    /// How it is after the load; null if it is not there.
    pub loaded: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: live {}, loaded {}", self.what, self.live, self.loaded)
    }
}

impl Conversation {
    /// What a load of the session shows otherwise than this, which was put together live.
    ///
    /// Where an agent was killed, the load may show more than the client has seen, and less of a message that was under
    /// way; a call that was under way must have ended.
    pub fn differences(&self, loaded: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        let was_cut = self.items.contains(&Item::Cut);
        if self.title != loaded.title && (self.title.is_some() || !was_cut) {
            found.push(difference("title", json!(self.title), json!(loaded.title)));
        }
        for call in self.calls() {
            let other = loaded.calls().find(|other| other.id == call.id);
            found.extend(other.into_iter().flat_map(|other| of_call(call, other)));
        }
        found.extend(first_out_of_place(&self.items, &loaded.items));
        found
    }
}

fn of_call(live: &Call, loaded: &Call) -> Vec<Difference> {
    let mut expected = live.card.clone();
    if !expected.is_final() {
        // Its agent died: with its end untold if there was one, and else it has failed.
        expected.title.clone_from(&loaded.card.title);
        expected.content.clone_from(&loaded.card.content);
        let end = if loaded.card.is_final() {
            &loaded.card.status
        } else {
            "failed"
        };
        end.clone_into(&mut expected.status);
    }
    let name = |field: &str| format!("call {}, {field}", live.id);
    let fields = expected.differences(&loaded.card).into_iter();
    fields
        .map(|(field, live, loaded)| difference(&name(field), live, loaded))
        .collect()
}

/// The first item that does not stand where it should; what comes after it is not looked at.
fn first_out_of_place(live: &[Item], loaded: &[Item]) -> Option<Difference> {
    let mut rest = loaded.iter().peekable();
    let mut may_skip = false;
    for (at, item) in live.iter().enumerate() {
        if *item == Item::Cut {
            may_skip = true;
            continue;
        }
        if may_skip {
            while rest.next_if(|loaded| !fits(item, loaded)).is_some() {}
            may_skip = false;
        }
        if rest.next_if(|loaded| fits(item, loaded)).is_none() && !may_be_missing(item) {
            let what = format!("item {}", at + 1);
            return Some(difference(&what, shown(Some(item)), shown(rest.next())));
        }
    }
    match rest.next() {
        Some(surplus) if !may_skip => Some(difference("after the end", Value::Null, shown(Some(surplus)))),
        _ => None,
    }
}

/// Whether the loaded item is the live one, as far as their places go: a call's card is compared apart.
fn fits(live: &Item, loaded: &Item) -> bool {
    match (live, loaded) {
        (Item::Call(live), Item::Call(loaded)) => live.id == loaded.id,
        (Item::Text(live), Item::Text(loaded)) => {
            let is_user = live.from == Speaker::User;
            let same = live.from == loaded.from && (is_user || live.id == loaded.id);
            same && match live.certain {
                true => loaded.text == live.text,
                false => loaded.text.starts_with(&live.text),
            }
        }
        _ => false,
    }
}

fn may_be_missing(item: &Item) -> bool {
    matches!(item, Item::Text(Text { certain: false, .. }))
}

fn shown(item: Option<&Item>) -> Value {
    match item {
        Some(Item::Text(message)) => json!(format!("{:?} says {:?}", message.from, message.text)),
        Some(Item::Call(call)) => json!(format!("call {}", call.id)),
        Some(Item::Cut) | None => Value::Null,
    }
}

fn difference(what: &str, live: Value, loaded: Value) -> Difference {
    Difference {
        what: what.to_owned(),
        live,
        loaded,
    }
}
