//! All invariants of one session as one.

use serde_json::Value;
use weft_types::Event;

use crate::invariant::Enclosure;
use crate::{Invariant, Violation};

/// The session's own invariants, then the plugged-in ones.
pub(crate) struct Rules {
    enclosure: Enclosure,
    plugged: Vec<Box<dyn Invariant>>,
}

impl Rules {
    pub(crate) fn new(plugged: Vec<Box<dyn Invariant>>) -> Self {
        Self {
            enclosure: Enclosure::default(),
            plugged,
        }
    }

    pub(crate) fn check(&self, next: &Event) -> Result<(), Violation> {
        self.enclosure.check(next)?;
        self.plugged.iter().try_for_each(|invariant| invariant.check(next))
    }

    /// What is wrong with an event that cannot be read, if a rule can tell.
    pub(crate) fn explain(&self, event: &Value) -> Option<Violation> {
        self.plugged.iter().find_map(|invariant| invariant.explain(event))
    }

    pub(crate) fn commit(&mut self, event: &Event) {
        self.enclosure.commit(event);
        for invariant in &mut self.plugged {
            invariant.commit(event);
        }
    }
}
