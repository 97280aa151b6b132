//! The contract of observations as a checker, for tests of engines and of everything that plays one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use weft_types::{RunId, RunStop, SessionId};

use crate::seqs::Seqs;
use crate::{ObservationKind, RunInfo, WorkflowObservation};

/// Follows the observations of any number of runs and refuses what [`ObservationKind`] does not allow.
///
/// It is strict: a member's number is never used again in its run, and nothing follows a run's end.
#[derive(Debug, Default)]
pub struct ObservationChecker {
    runs: HashMap<RunId, Run>,
}

#[derive(Debug)]
struct Run {
    info: Arc<RunInfo>,
    used: Seqs,
    open: BTreeMap<u64, Started>,
    starts: u64,
    ended: bool,
}

#[derive(Debug, PartialEq)]
struct Started {
    label: String,
    phase: Option<String>,
    child_id: SessionId,
}

/// An observation that breaks the contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("run {run}: {problem}")]
pub struct ObservationViolation {
    run: RunId,
    problem: String,
}

impl ObservationChecker {
    /// A checker that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next observation in.
    ///
    /// # Errors
    ///
    /// The observation breaks the contract; the checker is left as it was.
    pub fn observe(&mut self, observation: &WorkflowObservation) -> Result<(), ObservationViolation> {
        let info = &observation.run;
        self.apply(info, &observation.kind)
            .map_err(|problem| ObservationViolation {
                run: info.id.clone(),
                problem,
            })
    }

    /// The runs that have started and not ended, in no particular order.
    pub fn open_runs(&self) -> Vec<RunId> {
        let open = self.runs.iter().filter(|(_, run)| !run.ended);
        open.map(|(id, _)| id.clone()).collect()
    }

    fn apply(&mut self, info: &Arc<RunInfo>, kind: &ObservationKind) -> Result<(), String> {
        if matches!(kind, ObservationKind::Start) {
            return self.start(info);
        }
        let Some(run) = self.runs.get_mut(&info.id) else {
            return Err("an observation of a run that has not started".into());
        };
        if run.ended {
            return Err(format!("{kind:?} after the end"));
        }
        if run.info.meta != info.meta {
            return Err("its metadata differ from those of its start".into());
        }
        match kind {
            ObservationKind::Start | ObservationKind::Phase { .. } | ObservationKind::Log { .. } => Ok(()),
            ObservationKind::AgentStart {
                seq,
                label,
                phase,
                child_id,
            } => run.member_start(*seq, started(label, phase.as_ref(), child_id)),
            ObservationKind::AgentEnd {
                seq,
                label,
                phase,
                child_id,
                ..
            } => run.member_end(*seq, &started(label, phase.as_ref(), child_id)),
            ObservationKind::End {
                stop,
                error,
                agents_started,
            } => run.end(*stop, error.as_deref(), *agents_started),
        }
    }

    fn start(&mut self, info: &Arc<RunInfo>) -> Result<(), String> {
        if info.id.as_str().is_empty() {
            return Err("its id is empty".into());
        }
        if info.meta.name.is_empty() || info.meta.description.is_empty() {
            return Err("its name or its description is empty".into());
        }
        if self.runs.contains_key(&info.id) {
            return Err("a second start".into());
        }
        let run = Run {
            info: Arc::clone(info),
            used: Seqs::default(),
            open: BTreeMap::new(),
            starts: 0,
            ended: false,
        };
        self.runs.insert(info.id.clone(), run);
        Ok(())
    }
}

impl Run {
    fn member_start(&mut self, seq: u64, member: Started) -> Result<(), String> {
        if seq == 0 {
            return Err("a member has the number 0".into());
        }
        if member.child_id.as_str().is_empty() {
            return Err(format!("member {seq} has an empty session id"));
        }
        if !self.used.insert(seq) {
            return Err(format!("a second start of member {seq}"));
        }
        self.starts += 1;
        self.open.insert(seq, member);
        Ok(())
    }

    fn member_end(&mut self, seq: u64, member: &Started) -> Result<(), String> {
        match self.open.get(&seq) {
            None => Err(format!("an end of member {seq}, which is not running")),
            Some(start) if start != member => {
                Err(format!("the end of member {seq} names {member:?}, its start {start:?}"))
            }
            Some(_) => {
                self.open.remove(&seq);
                Ok(())
            }
        }
    }

    fn end(&mut self, stop: RunStop, error: Option<&str>, agents_started: u64) -> Result<(), String> {
        if !self.open.is_empty() {
            let open: Vec<_> = self.open.keys().collect();
            return Err(format!("it ended while members {open:?} run"));
        }
        if agents_started < self.starts {
            let starts = self.starts;
            return Err(format!("it counts {agents_started} members of which {starts} started"));
        }
        if (stop == RunStop::Completed) != error.is_none() {
            return Err(format!("it stopped as {stop:?} with the error {error:?}"));
        }
        self.ended = true;
        Ok(())
    }
}

fn started(label: &str, phase: Option<&String>, child_id: &SessionId) -> Started {
    Started {
        label: label.to_owned(),
        phase: phase.cloned(),
        child_id: child_id.clone(),
    }
}

#[cfg(test)]
mod tests;
