//! What a session keeps of its events in memory.

use std::sync::Arc;

use weft_types::{Event, EventBody};

/// The number of events, and those of the last turn: what closing it, and looking at its outcome, takes.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    pub(crate) len: u64,
    /// From the last `turn/start` on.
    pub(crate) turn: Vec<Arc<Event>>,
}

impl Tail {
    pub(crate) fn push(&mut self, event: &Arc<Event>) {
        self.len += 1;
        if matches!(event.body, EventBody::TurnStart { .. }) {
            self.turn.clear();
        }
        self.turn.push(Arc::clone(event));
    }
}
