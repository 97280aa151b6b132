//! What a client shows of a session after it has applied a transcript's updates.

mod build;
mod compare;
#[cfg(test)]
mod tests;

pub use build::conversations;
pub use compare::Difference;

use crate::Card;

/// A session as a client shows it: its title, and what was said and done in it, in order.
///
/// [`Conversation::differences`] tells what a load shows otherwise than the live session did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// The title, once the agent has told one.
    pub title: Option<String>,
    /// What was said and done.
    pub items: Vec<Item>,
}

/// One thing that a conversation shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Text.
    Text(Text),
    /// A tool card, boxed as it is large.
    Call(Box<Call>),
    /// Here the agent was killed in the middle of a turn. What it had written down of the turn by then, and not shown,
    /// is part of the session.
    Cut,
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Who said it.
    pub from: Speaker,
    /// The agent's id for it; what the user says has none before a load.
    pub id: Option<String>,
    /// The text: all pieces of it.
    pub text: String,
    /// Whether it is whole and the agent has written it down, as far as a client can tell. What is said before the agent
    /// is killed may come to nothing.
    pub certain: bool,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user.
    User,
    /// The agent, in its answer.
    Agent,
    /// The agent, thinking.
    Thought,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// Its card.
    pub card: Card,
}

impl Conversation {
    /// Its tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.items.iter().filter_map(|item| match item {
            Item::Call(call) => Some(&**call),
            Item::Text(_) | Item::Cut => None,
        })
    }

    fn call_mut(&mut self, id: &str) -> Option<&mut Call> {
        self.items.iter_mut().find_map(|item| match item {
            Item::Call(call) if call.id == id => Some(&mut **call),
            _ => None,
        })
    }
}
