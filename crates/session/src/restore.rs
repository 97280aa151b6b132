//! From the events of a log to the session that goes on from them.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use weft_types::{Event, EventBody, SessionHeader, SessionId, TurnEnd, UnixMillis};

use crate::rules::Rules;
use crate::tail::Tail;
use crate::{Clock, EventLog, Invariant, Session, Violation, closing_events};

/// A session whose log is being read: it is given each event once, in order, and keeps only what goes on needs.
///
/// First [`push`](Self::push) every event, then [`close_turn`](Self::close_turn), whose events go into the log as well,
/// then [`finish`](Self::finish).
pub struct Restore {
    header: SessionHeader,
    rules: Rules,
    tail: Tail,
}

/// The first event of a log that breaks an invariant.
#[derive(Debug, thiserror::Error)]
#[error("failed to load session {session}: event {seq} is not valid: {violation}")]
pub struct LoadError {
    /// The session.
    pub session: SessionId,
    /// The event's own number.
    pub seq: u64,
    /// What it breaks.
    pub violation: Violation,
}

impl fmt::Debug for Restore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restore")
            .field("id", &self.header.id)
            .field("len", &self.tail.len)
            .finish_non_exhaustive()
    }
}

impl Restore {
    /// Nothing has been read yet. `invariants` are tested beside those that every session has.
    pub fn new(header: SessionHeader, invariants: Vec<Box<dyn Invariant>>) -> Self {
        Self {
            header,
            rules: Rules::new(invariants),
            tail: Tail::default(),
        }
    }

    /// What stands before the events.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// How many events were taken.
    pub fn len(&self) -> u64 {
        self.tail.len
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next event of the log.
    ///
    /// # Errors
    /// It breaks an invariant; it was not taken, and what was before it stays as it is.
    pub fn push(&mut self, event: &Arc<Event>) -> Result<(), LoadError> {
        self.rules.check(event).map_err(|violation| LoadError {
            session: self.header.id.clone(),
            seq: event.seq,
            violation,
        })?;
        self.commit(event);
        Ok(())
    }

    /// Takes the next event, which was [`check`](Self::check)ed.
    pub(crate) fn commit(&mut self, event: &Arc<Event>) {
        self.rules.commit(event);
        self.tail.push(event);
    }

    /// What is wrong with the JSON of an event that cannot be read as one, if an invariant can tell.
    pub(crate) fn explain(&self, event: &Value) -> Option<Violation> {
        self.rules.explain(event)
    }

    /// Whether the next event keeps the invariants; it is not taken.
    pub(crate) fn check(&self, event: &Event) -> Result<(), Violation> {
        self.rules.check(event)
    }

    /// The turn that the log ends in, if that is open.
    pub(crate) fn open_turn(&self) -> Option<u32> {
        let last = self.tail.turn.iter().rev().find_map(|event| match &event.body {
            EventBody::TurnStart { turn } => Some(Some(*turn)),
            EventBody::TurnEnd { .. } => Some(None),
            _ => None,
        });
        last.flatten()
    }

    /// What [`close_turn`](Self::close_turn) would give; nothing is taken.
    pub(crate) fn closing(&self) -> Vec<Arc<Event>> {
        let time = self.tail.turn.last().map_or(UnixMillis(0), |event| event.time);
        let closing = closing_events(&self.tail.turn, TurnEnd::Interrupted).into_iter();
        let numbered = (self.tail.len..).zip(closing);
        numbered
            .map(|(seq, body)| Arc::new(Event { seq, time, body }))
            .collect()
    }

    /// The events that close the turn which the log ends in, if it does: see [`closing_events`]. Their numbers go on
    /// from the log's and their times repeat its last. They were taken, as if they had been in the log.
    pub fn close_turn(&mut self) -> Vec<Arc<Event>> {
        let closing = self.closing();
        for event in &closing {
            self.push(event).expect("what closes a turn keeps the invariants");
        }
        closing
    }

    /// The session that goes on from here. `log` holds the events that were taken.
    pub fn finish(self, log: Box<dyn EventLog>, clock: Arc<dyn Clock>) -> Arc<Session> {
        Session::assemble(self.header, self.tail, log, clock, self.rules)
    }
}
