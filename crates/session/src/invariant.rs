//! What every event must satisfy.

mod enclosure;

use std::fmt;

use serde_json::Value;
use weft_types::Event;

pub(crate) use enclosure::Enclosure;

/// A rule over a whole log, folded event by event.
///
/// A session asks every invariant to check a candidate before any of them commits it, so that a
/// refused candidate leaves all of them as they were.
pub trait Invariant: Send {
    /// Tests the next event against what was committed so far.
    ///
    /// # Errors
    /// Says what the event breaks.
    fn check(&self, next: &Event) -> Result<(), Violation>;

    /// Takes an event that was checked and is now part of the log. It must not fail or panic.
    fn commit(&mut self, event: &Event);

    /// What is wrong with the JSON of a stored event that cannot be read as one, where this rule can tell it better than
    /// a reader of JSON, who knows nothing of what the event belongs to. The log is damaged there either way.
    fn explain(&self, _event: &Value) -> Option<Violation> {
        None
    }
}

/// What an event breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule, a short fixed name such as `turn-number`.
    pub rule: &'static str,
    /// What was found and what was expected.
    pub message: String,
}

impl Violation {
    /// A violation of `rule`.
    pub fn new(rule: &'static str, message: impl Into<String>) -> Self {
        Self {
            rule,
            message: message.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (rule {})", self.message, self.rule)
    }
}

impl std::error::Error for Violation {}
