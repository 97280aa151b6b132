//! The conversation that a request carries.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use weft_types::Message;

/// Messages in order, shared: a copy costs a pointer for each, so that a turn of many requests does not copy its whole
/// conversation for every one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages(Vec<Arc<Message>>);

impl Messages {
    /// Puts a message at the end.
    pub fn push(&mut self, message: impl Into<Arc<Message>>) {
        self.0.push(message.into());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Leaves only the first `len` messages.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// The last one.
    pub fn last(&self) -> Option<&Message> {
        self.0.last().map(|message| &**message)
    }

    /// The messages, first to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator {
        self.0.iter().map(|message| &**message)
    }
}

impl Index<usize> for Messages {
    type Output = Message;

    fn index(&self, at: usize) -> &Message {
        &self.0[at]
    }
}

impl IndexMut<usize> for Messages {
    fn index_mut(&mut self, at: usize) -> &mut Message {
        Arc::make_mut(&mut self.0[at])
    }
}

impl Extend<Message> for Messages {
    fn extend<I: IntoIterator<Item = Message>>(&mut self, messages: I) {
        self.0.extend(messages.into_iter().map(Arc::new));
    }
}

impl From<Vec<Message>> for Messages {
    fn from(messages: Vec<Message>) -> Self {
        messages.into_iter().collect()
    }
}

impl FromIterator<Message> for Messages {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        Self(messages.into_iter().map(Arc::new).collect())
    }
}

impl FromIterator<Arc<Message>> for Messages {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        Self(messages.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Message;
    type IntoIter = std::iter::Map<std::slice::Iter<'a, Arc<Message>>, fn(&'a Arc<Message>) -> &'a Message>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|message| &**message)
    }
}

impl<const N: usize> PartialEq<[Message; N]> for Messages {
    fn eq(&self, other: &[Message; N]) -> bool {
        self.iter().eq(other.iter())
    }
}
