//! What records of workflow runs may look like.

mod json;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;
use weft_session::{Invariant, Violation};
use weft_types::{Event, EventBody, RunId};

use json::check_record_json;

/// The largest member number, so that every reader of JSON can hold it.
const MAX_SEQ: u64 = (1 << 53) - 1;

/// How many running members a refusal lists.
const LISTED: usize = 20;

/// The invariant of `tool-workflow/*` events, folded over a whole log, with constant work for each event
/// that passes.
///
/// A log may stop anywhere: a run that has not ended and a member that has not are the beginning of a record, not a
/// broken one. Runs may interleave, and stand inside of turns or outside.
#[derive(Debug, Default)]
pub struct RecordInvariant {
    runs: Runs,
}

/// The fold. How its maps are hashed is open so that a test can count what an event costs.
#[derive(Debug, Default)]
struct Runs<S = RandomState>(HashMap<RunId, Run<S>, S>);

#[derive(Debug)]
enum Run<S> {
    Open(OpenRun<S>),
    Ended,
}

#[derive(Debug, Default)]
struct OpenRun<S> {
    /// Every number that was used, and whether its member still runs.
    members: HashMap<u64, bool, S>,
    running: usize,
}

impl RecordInvariant {
    /// The invariant of an empty log.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Invariant for RecordInvariant {
    fn check(&self, next: &Event) -> Result<(), Violation> {
        self.runs.check(&next.body)
    }

    fn commit(&mut self, event: &Event) {
        self.runs.commit(&event.body);
    }

    fn explain(&self, event: &Value) -> Option<Violation> {
        check_record_json(event).err()
    }
}

impl<S: BuildHasher + Default> Runs<S> {
    fn open(&self, run: &RunId) -> Result<&OpenRun<S>, Violation> {
        match self.0.get(run) {
            None => Err(refuse("run-known", run, "an update of a run that has not started")),
            Some(Run::Ended) => Err(refuse("run-open", run, "an update of a run that has ended")),
            Some(Run::Open(open)) => Ok(open),
        }
    }

    fn check(&self, next: &EventBody) -> Result<(), Violation> {
        match next {
            EventBody::WorkflowRunStart { run_id, name } => {
                check_run_id(run_id)?;
                if name.is_empty() {
                    return Err(refuse("run-name", run_id, "its name is empty"));
                }
                if self.0.contains_key(run_id) {
                    return Err(refuse("run-start-once", run_id, "a second start"));
                }
                Ok(())
            }
            EventBody::WorkflowAgentStart {
                run_id, seq, child_id, ..
            } => {
                check_run_id(run_id)?;
                check_seq(run_id, *seq)?;
                if child_id.as_str().is_empty() {
                    let problem = format!("member {seq} has an empty session id");
                    return Err(refuse("member-session", run_id, problem));
                }
                self.open(run_id)?.check_start(run_id, *seq)
            }
            EventBody::WorkflowAgentEnd { run_id, seq, .. } => {
                check_run_id(run_id)?;
                check_seq(run_id, *seq)?;
                self.open(run_id)?.check_end(run_id, *seq)
            }
            EventBody::WorkflowRunEnd { run_id, .. } => {
                check_run_id(run_id)?;
                self.open(run_id)?.check_run_end(run_id)
            }
            _ => Ok(()),
        }
    }

    fn commit(&mut self, event: &EventBody) {
        match event {
            EventBody::WorkflowRunStart { run_id, .. } => {
                self.0.insert(run_id.clone(), Run::Open(OpenRun::default()));
            }
            EventBody::WorkflowAgentStart { run_id, seq, .. } => {
                if let Some(Run::Open(run)) = self.0.get_mut(run_id) {
                    run.members.insert(*seq, true);
                    run.running += 1;
                }
            }
            EventBody::WorkflowAgentEnd { run_id, seq, .. } => {
                if let Some(Run::Open(run)) = self.0.get_mut(run_id) {
                    run.members.insert(*seq, false);
                    run.running -= 1;
                }
            }
            EventBody::WorkflowRunEnd { run_id, .. } => {
                self.0.insert(run_id.clone(), Run::Ended);
            }
            _ => {}
        }
    }
}

impl<S: BuildHasher> OpenRun<S> {
    fn check_start(&self, run: &RunId, seq: u64) -> Result<(), Violation> {
        if self.members.contains_key(&seq) {
            return Err(refuse(
                "member-start-once",
                run,
                format!("a second start of member {seq}"),
            ));
        }
        Ok(())
    }

    fn check_end(&self, run: &RunId, seq: u64) -> Result<(), Violation> {
        match self.members.get(&seq) {
            Some(true) => Ok(()),
            Some(false) => Err(refuse("member-end-once", run, format!("a second end of member {seq}"))),
            None => Err(refuse(
                "member-end-paired",
                run,
                format!("an end of member {seq}, which has not started"),
            )),
        }
    }

    fn check_run_end(&self, run: &RunId) -> Result<(), Violation> {
        if self.running == 0 {
            return Ok(());
        }
        let running = self.members.iter().filter(|(_, running)| **running);
        let mut running: Vec<_> = running.map(|(seq, _)| *seq).collect();
        running.sort_unstable();
        let more = running.len().saturating_sub(LISTED);
        running.truncate(LISTED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        Err(refuse(
            "run-end-closed",
            run,
            format!("it ends while members {running:?}{more} run"),
        ))
    }
}

fn check_run_id(run: &RunId) -> Result<(), Violation> {
    if run.as_str().is_empty() {
        return Err(Violation::new("run-id", "the id of a workflow run is empty"));
    }
    Ok(())
}

fn check_seq(run: &RunId, seq: u64) -> Result<(), Violation> {
    if !(1..=MAX_SEQ).contains(&seq) {
        let problem = format!("a member has the number {seq}, expected 1 to {MAX_SEQ}");
        return Err(refuse("member-seq", run, problem));
    }
    Ok(())
}

fn refuse(rule: &'static str, run: &RunId, problem: impl std::fmt::Display) -> Violation {
    Violation::new(rule, format!("workflow run {run}: {problem}"))
}

#[cfg(test)]
mod tests;
