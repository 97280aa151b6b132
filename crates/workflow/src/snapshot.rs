//! The reducer: observations of one run folded into what a live card shows.

use weft_types::{MemberOutcome, RunId};

use crate::seqs::Seqs;
use crate::{DisplayLimits, ObservationKind, RunInfo, cut_for_display};

/// What one run looks like now: complete in itself, and no history.
///
/// Its memory depends on the members that run and on the gaps in their numbers, not on how much the script tells.
/// Texts are cut for display before they are stored; the exact ones are the business of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    limits: DisplayLimits,
    run_id: RunId,
    name: String,
    phase: Option<String>,
    log: Option<String>,
    active: Vec<(u64, String)>,
    seen: Seqs,
    completed: u64,
    failed: u64,
    cancelled: u64,
    ended: bool,
}

impl Snapshot {
    /// A run of which nothing has been observed.
    pub fn new(info: &RunInfo, limits: DisplayLimits) -> Self {
        Self {
            limits,
            run_id: info.id.clone(),
            name: cut_for_display(&info.meta.name, limits.text_chars()),
            phase: None,
            log: None,
            active: Vec::new(),
            seen: Seqs::default(),
            completed: 0,
            failed: 0,
            cancelled: 0,
            ended: false,
        }
    }

    /// Takes in what happened next; says whether anything visible changed.
    ///
    /// A member's end without its start, a second start or end of a number, and everything after the run's end but
    /// the ends of members that still run are ignored.
    pub fn apply(&mut self, kind: &ObservationKind) -> bool {
        match kind {
            ObservationKind::AgentEnd { seq, outcome, .. } => self.member_ended(*seq, *outcome),
            _ if self.ended => false,
            ObservationKind::Start => false,
            ObservationKind::Phase { title } => replace(&mut self.phase, title, self.limits),
            ObservationKind::Log { message } => replace(&mut self.log, message, self.limits),
            ObservationKind::AgentStart { seq, label, .. } => self.member_started(*seq, label),
            ObservationKind::End { .. } => {
                self.ended = true;
                false
            }
        }
    }

    fn member_started(&mut self, seq: u64, label: &str) -> bool {
        if !self.seen.insert(seq) {
            return false;
        }
        let label = cut_for_display(label, self.limits.label_chars());
        self.active.push((seq, label));
        true
    }

    fn member_ended(&mut self, seq: u64, outcome: MemberOutcome) -> bool {
        let Some(index) = self.active.iter().position(|(active, _)| *active == seq) else {
            return false;
        };
        self.active.remove(index);
        match outcome {
            MemberOutcome::Completed => self.completed += 1,
            MemberOutcome::Failed => self.failed += 1,
            MemberOutcome::Cancelled => self.cancelled += 1,
        }
        true
    }

    /// The run's id.
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// The workflow's name, cut for display.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The phase the script is in, cut for display. Absent and empty are two different things.
    pub fn phase(&self) -> Option<&str> {
        self.phase.as_deref()
    }

    /// What the script told last, cut for display.
    pub fn log(&self) -> Option<&str> {
        self.log.as_deref()
    }

    /// The members that run, with their numbers and labels cut for display, in the order in which they started.
    pub fn active(&self) -> &[(u64, String)] {
        &self.active
    }

    /// How many members completed.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// How many members failed.
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// How many members were cancelled.
    pub fn cancelled(&self) -> u64 {
        self.cancelled
    }

    /// Whether the run has ended.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Whether nothing can change any more: the run has ended and none of its members runs.
    pub fn is_over(&self) -> bool {
        self.ended && self.active.is_empty()
    }
}

fn replace(shown: &mut Option<String>, text: &str, limits: DisplayLimits) -> bool {
    let text = cut_for_display(text, limits.text_chars());
    if shown.as_ref() == Some(&text) {
        return false;
    }
    *shown = Some(text);
    true
}

#[cfg(test)]
mod tests;
