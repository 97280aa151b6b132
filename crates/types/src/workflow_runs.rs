//! Workflow runs as the records in a session's log tell them: a fold for readers.
//!
//! [`WorkflowRuns`] reads any contiguous window of a log, grows with it at both ends, and shows for equal windows
//! the same runs, however they were read. It trusts the log to keep its invariants: of a log that no session would
//! hold, it shows something, and never panics.

mod enclosure;
mod keyed;
mod navigation;
mod view;

use std::borrow::Borrow;

use crate::{Event, EventBody, MemberOutcome, RunId, RunStop, SessionId};
use enclosure::{Boundary, Enclosure};
use keyed::Keyed;

pub use navigation::ListedSession;
pub use view::{MemberView, PhaseGroup, RunStatus, RunView};

/// The runs of a window of a log.
///
/// Taking in an event costs the same however long the window is, at either end. Its memory depends on the records in
/// the window, not on the other events.
#[derive(Debug, Default)]
pub struct WorkflowRuns {
    /// The numbers of the first and the last event.
    window: Option<(u64, u64)>,
    /// Runs have their place once their start is in the window.
    runs: Keyed<RunId, Run>,
    enclosure: Enclosure,
}

/// What the window tells of a run; without its start, nothing of it is shown.
#[derive(Debug, Default)]
struct Run {
    start: Option<RunStart>,
    /// Members have their place once their start is in the window.
    members: Keyed<u64, Member>,
    stop: Option<RunStop>,
    /// Whether the step or turn that its start stands in is over.
    is_enclosure_closed: bool,
}

#[derive(Debug)]
struct RunStart {
    /// The number of the event.
    anchor: u64,
    id: RunId,
    name: String,
}

#[derive(Debug, Default)]
struct Member {
    start: Option<MemberStart>,
    outcome: Option<MemberOutcome>,
}

#[derive(Debug)]
struct MemberStart {
    seq: u64,
    label: String,
    phase: Option<String>,
    child_id: SessionId,
}

/// Events that do not join on to the window; it was left as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to read the workflow runs of a log: event {next} follows event {last}, expected the one after it")]
pub struct NotContiguous {
    last: u64,
    next: u64,
}

/// The end of the window at which an event is taken in.
#[derive(Clone, Copy, Debug)]
enum End {
    First,
    Last,
}

impl WorkflowRuns {
    /// An empty window.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything and reads this window.
    ///
    /// # Errors
    ///
    /// The numbers of the events do not ascend one by one.
    pub fn replace<E: Borrow<Event>>(&mut self, window: &[E]) -> Result<(), NotContiguous> {
        ascending(window)?;
        *self = Self::new();
        window.iter().for_each(|event| self.take(event.borrow(), End::Last));
        Ok(())
    }

    /// Takes in the event that follows the window; any event, if the window is empty.
    ///
    /// # Errors
    ///
    /// It is not the next one.
    pub fn append(&mut self, event: &Event) -> Result<(), NotContiguous> {
        if let Some((_, last)) = self.window {
            follows(last, event.seq)?;
        }
        self.take(event, End::Last);
        Ok(())
    }

    /// Takes in the page of events that stands before the window, oldest first; any page, if the window is empty.
    ///
    /// # Errors
    ///
    /// The page does not ascend one by one up to the window.
    pub fn prepend<E: Borrow<Event>>(&mut self, page: &[E]) -> Result<(), NotContiguous> {
        ascending(page)?;
        if let (Some(last), Some((first, _))) = (page.last(), self.window) {
            follows(last.borrow().seq, first)?;
        }
        page.iter()
            .rev()
            .for_each(|event| self.take(event.borrow(), End::First));
        Ok(())
    }

    /// The runs whose start is in the window, in its order.
    pub fn runs(&self) -> impl Iterator<Item = RunView> {
        self.runs.placed().filter_map(RunView::of)
    }

    fn take(&mut self, event: &Event, end: End) {
        let seq = event.seq;
        self.window = match (self.window, end) {
            (None, _) => Some((seq, seq)),
            (Some((_, last)), End::First) => Some((seq, last)),
            (Some((first, _)), End::Last) => Some((first, seq)),
        };
        match &event.body {
            EventBody::WorkflowRunStart { run_id, name } => self.run_started(seq, run_id, name, end),
            EventBody::WorkflowAgentStart {
                run_id,
                seq,
                label,
                phase,
                child_id,
            } => {
                let start = MemberStart {
                    seq: *seq,
                    label: label.clone(),
                    phase: phase.clone(),
                    child_id: child_id.clone(),
                };
                self.runs.of(run_id).member_started(start, end);
            }
            EventBody::WorkflowAgentEnd { run_id, seq, outcome } => {
                self.runs.of(run_id).members.of(seq).outcome = Some(*outcome);
            }
            EventBody::WorkflowRunEnd { run_id, stop_reason } => self.runs.of(run_id).stop = Some(*stop_reason),
            EventBody::StepStart { .. } => self.boundary(Boundary::StepStart, end),
            EventBody::StepEnd { .. } => self.boundary(Boundary::StepEnd, end),
            EventBody::TurnStart { .. } => self.boundary(Boundary::TurnStart, end),
            EventBody::TurnEnd { .. } => self.boundary(Boundary::TurnEnd, end),
            _ => {}
        }
    }

    fn run_started(&mut self, anchor: u64, id: &RunId, name: &str, end: End) {
        let run = self.runs.of(id);
        if run.start.is_some() {
            return;
        }
        run.start = Some(RunStart {
            anchor,
            id: id.clone(),
            name: name.to_owned(),
        });
        run.is_enclosure_closed = match end {
            End::First => self.enclosure.start_before(id),
            End::Last => self.enclosure.start_after(id),
        };
        self.runs.place(id, end);
    }

    fn boundary(&mut self, boundary: Boundary, end: End) {
        match end {
            End::First => self.enclosure.boundary_before(boundary),
            End::Last => {
                for id in self.enclosure.boundary_after(boundary) {
                    self.runs.of(&id).is_enclosure_closed = true;
                }
            }
        }
    }
}

impl Run {
    fn member_started(&mut self, start: MemberStart, end: End) {
        let seq = start.seq;
        let member = self.members.of(&seq);
        if member.start.is_none() {
            member.start = Some(start);
            self.members.place(&seq, end);
        }
    }
}

fn ascending<E: Borrow<Event>>(events: &[E]) -> Result<(), NotContiguous> {
    let mut pairs = events.windows(2);
    pairs.try_for_each(|pair| follows(pair[0].borrow().seq, pair[1].borrow().seq))
}

fn follows(last: u64, next: u64) -> Result<(), NotContiguous> {
    if last.checked_add(1) == Some(next) {
        return Ok(());
    }
    Err(NotContiguous { last, next })
}

#[cfg(test)]
mod tests;
