//! Showing a client what is in a log.

use std::sync::Arc;

use weft_types::Event;

use crate::outbox::{BATCH_BYTES, Outbox};
use crate::projector::{Note, Projector};
use crate::sdk::schema;
use crate::wire::{self, text_update};

/// One session's history on its way to the client, by pages.
///
/// The lines of a page are enqueued in batches as large as those that are written, and the last of them with its end:
/// of a page that was shown nothing is held back.
#[derive(Debug)]
pub(crate) struct Replay {
    session: Arc<str>,
    projector: Projector,
    outbox: Outbox,
    /// What is not enqueued yet; empty between two calls.
    lines: Vec<u8>,
}

impl Replay {
    /// A replay from the start, through a projector that has seen nothing.
    pub(crate) fn new(session: Arc<str>, projector: Projector, outbox: Outbox) -> Self {
        Self {
            session,
            projector,
            outbox,
            lines: Vec::with_capacity(BATCH_BYTES),
        }
    }

    /// Shows the next events.
    pub(crate) fn show(&mut self, events: &[Arc<Event>]) {
        let Self {
            session,
            projector,
            outbox,
            lines,
        } = self;
        for event in events {
            projector.event(event, &mut |update| write(lines, session, update));
            if lines.len() >= BATCH_BYTES {
                enqueue(outbox, lines);
            }
        }
        enqueue(outbox, lines);
    }

    /// Says something that is in no event.
    pub(crate) fn say(&mut self, text: &str) {
        let update = text_update("log-note".into(), false, text);
        write(&mut self.lines, &self.session, update);
        enqueue(&self.outbox, &mut self.lines);
    }

    /// What still waits for a turn.
    pub(crate) fn into_notes(self) -> Vec<Note> {
        self.projector.into_notes()
    }

    /// Whether the client can be given more without the outbox growing beyond its bound by more than a page.
    pub(crate) fn has_room(&self) -> bool {
        self.outbox.has_room()
    }
}

fn write(lines: &mut Vec<u8>, session: &Arc<str>, update: schema::SessionUpdate) {
    wire::write_update(lines, &schema::SessionNotification::new(Arc::clone(session), update));
}

fn enqueue(outbox: &Outbox, lines: &mut Vec<u8>) {
    if !lines.is_empty() {
        outbox.update(lines);
        lines.clear();
    }
}
