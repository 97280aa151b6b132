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
    phases: Vec<PhaseCounts>,
    /// The members of phases that are not kept apart any more.
    earlier_phases: PhaseCounts,
    seen: Seqs,
    ended: bool,
}

/// How many phases are counted one by one.
const MAX_PHASES: usize = 64;

/// How the members of one phase stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseCounts {
    /// The phase, cut for display. Absent and empty are two different things.
    pub title: Option<String>,
    /// How many of its members run.
    pub running: u64,
    /// How many completed.
    pub completed: u64,
    /// How many failed.
    pub failed: u64,
    /// How many were cancelled.
    pub cancelled: u64,
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
            phases: Vec::new(),
            earlier_phases: PhaseCounts::default(),
            seen: Seqs::default(),
            ended: false,
        }
    }

    /// Takes in what happened next; says whether anything visible changed.
    ///
    /// A member's end without its start, a second start or end of a number, and everything after the run's end but
    /// the ends of members that still run are ignored.
    pub fn apply(&mut self, kind: &ObservationKind) -> bool {
        match kind {
            ObservationKind::AgentEnd {
                seq, phase, outcome, ..
            } => self.member_ended(*seq, phase.as_deref(), *outcome),
            _ if self.ended => false,
            ObservationKind::Start => false,
            ObservationKind::Phase { title } => replace(&mut self.phase, title, self.limits),
            ObservationKind::Log { message } => replace(&mut self.log, message, self.limits),
            ObservationKind::AgentStart { seq, label, phase, .. } => self.member_started(*seq, label, phase.as_deref()),
            ObservationKind::End { .. } => {
                self.ended = true;
                false
            }
        }
    }

    fn member_started(&mut self, seq: u64, label: &str, phase: Option<&str>) -> bool {
        if !self.seen.insert(seq) {
            return false;
        }
        let label = cut_for_display(label, self.limits.label_chars());
        self.active.push((seq, label));
        self.phase_counts(phase).running += 1;
        true
    }

    fn member_ended(&mut self, seq: u64, phase: Option<&str>, outcome: MemberOutcome) -> bool {
        let Some(index) = self.active.iter().position(|(active, _)| *active == seq) else {
            return false;
        };
        self.active.remove(index);
        let counts = self.phase_counts(phase);
        counts.running = counts.running.saturating_sub(1);
        match outcome {
            MemberOutcome::Completed => counts.completed += 1,
            MemberOutcome::Failed => counts.failed += 1,
            MemberOutcome::Cancelled => counts.cancelled += 1,
        }
        true
    }

    /// The counts of a phase, by the title as it is shown.
    fn phase_counts(&mut self, title: Option<&str>) -> &mut PhaseCounts {
        let title = title.map(|title| cut_for_display(title, self.limits.label_chars()));
        let known = self.phases.iter().position(|phase| phase.title == title);
        if let Some(index) = known {
            return &mut self.phases[index];
        }
        if self.phases.len() >= MAX_PHASES {
            let Some(quiet) = self.phases.iter().position(|phase| phase.running == 0) else {
                return &mut self.earlier_phases;
            };
            let quiet = self.phases.remove(quiet);
            self.earlier_phases.completed += quiet.completed;
            self.earlier_phases.failed += quiet.failed;
            self.earlier_phases.cancelled += quiet.cancelled;
        }
        self.phases.push(PhaseCounts {
            title,
            ..PhaseCounts::default()
        });
        self.phases.last_mut().expect("one was just put there")
    }

    fn sum(&self, count: impl Fn(&PhaseCounts) -> u64) -> u64 {
        self.phases.iter().chain([&self.earlier_phases]).map(count).sum()
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

    /// The phases of the members that have started, in the order of their first ones. Beyond a limit those in which
    /// nobody runs are not kept apart; [`earlier_phases`](Self::earlier_phases) counts their members.
    pub fn phases(&self) -> &[PhaseCounts] {
        &self.phases
    }

    /// The members of all phases that are not kept apart; without a title.
    pub fn earlier_phases(&self) -> &PhaseCounts {
        &self.earlier_phases
    }

    /// How many members completed.
    pub fn completed(&self) -> u64 {
        self.sum(|phase| phase.completed)
    }

    /// How many members failed.
    pub fn failed(&self) -> u64 {
        self.sum(|phase| phase.failed)
    }

    /// How many members were cancelled.
    pub fn cancelled(&self) -> u64 {
        self.sum(|phase| phase.cancelled)
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
