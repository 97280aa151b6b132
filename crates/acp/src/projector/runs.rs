//! The workflow runs whose results are still to come, folded from their records: what the final card of each tells
//! programs, live and in a replay alike.

use std::collections::HashMap;

use serde_json::{Value, json};
use weft_types::{EventBody, MemberOutcome, RunId, RunStop, SessionId};

/// How many members and how many phases of a run are told one by one; the others are counted.
const MAX_MEMBERS: usize = 100;
const MAX_PHASES: usize = 64;

/// The runs of the turn that is open.
#[derive(Debug, Default)]
pub(super) struct Runs(HashMap<RunId, Run>);

/// One run, as far as it came.
#[derive(Debug, Default)]
pub(super) struct Run {
    name: String,
    members: Vec<Member>,
    phases: Vec<(Option<String>, Counts)>,
    all: Counts,
    /// The members that run: where each stands among the members and the phases that are told.
    open: HashMap<u64, (Option<usize>, Option<usize>)>,
    stop: Option<RunStop>,
}

#[derive(Debug)]
struct Member {
    seq: u64,
    label: String,
    phase: Option<String>,
    session: SessionId,
    outcome: Option<MemberOutcome>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    started: u64,
    completed: u64,
    failed: u64,
    cancelled: u64,
}

impl Runs {
    /// Takes the next event; all but the records of runs are passed over.
    pub(super) fn push(&mut self, body: &EventBody) {
        match body {
            EventBody::WorkflowRunStart { run_id, name } => self.run(run_id).name.clone_from(name),
            EventBody::WorkflowAgentStart {
                run_id,
                seq,
                label,
                phase,
                child_id,
            } => self.run(run_id).started(Member {
                seq: *seq,
                label: label.clone(),
                phase: phase.clone(),
                session: child_id.clone(),
                outcome: None,
            }),
            EventBody::WorkflowAgentEnd { run_id, seq, outcome } => self.run(run_id).ended(*seq, *outcome),
            EventBody::WorkflowRunEnd { run_id, stop_reason } => self.run(run_id).stop = Some(*stop_reason),
            EventBody::TurnEnd { .. } => self.0.clear(),
            _ => {}
        }
    }

    /// The run, which is told of once.
    pub(super) fn take(&mut self, run: &RunId) -> Option<Run> {
        self.0.remove(run)
    }

    fn run(&mut self, id: &RunId) -> &mut Run {
        self.0.entry(id.clone()).or_default()
    }
}

impl Run {
    fn started(&mut self, member: Member) {
        let phase = self.phase(member.phase.as_deref());
        self.count(phase, |counts| counts.started += 1);
        let (seq, place) = (member.seq, self.members.len());
        let is_told = place < MAX_MEMBERS;
        self.open.insert(seq, (is_told.then_some(place), phase));
        if is_told {
            self.members.push(member);
        }
    }

    fn ended(&mut self, seq: u64, outcome: MemberOutcome) {
        let Some((member, phase)) = self.open.remove(&seq) else {
            return;
        };
        if let Some(member) = member {
            self.members[member].outcome = Some(outcome);
        }
        self.count(phase, |counts| match outcome {
            MemberOutcome::Completed => counts.completed += 1,
            MemberOutcome::Failed => counts.failed += 1,
            MemberOutcome::Cancelled => counts.cancelled += 1,
        });
    }

    /// Where a phase stands among those that are told.
    fn phase(&mut self, title: Option<&str>) -> Option<usize> {
        let known = self.phases.iter().position(|(known, _)| known.as_deref() == title);
        if known.is_none() && self.phases.len() < MAX_PHASES {
            self.phases.push((title.map(str::to_owned), Counts::default()));
            return Some(self.phases.len() - 1);
        }
        known
    }

    fn count(&mut self, phase: Option<usize>, change: impl Fn(&mut Counts)) {
        change(&mut self.all);
        if let Some(phase) = phase {
            change(&mut self.phases[phase].1);
        }
    }

    /// The sessions of its first members.
    pub(super) fn sessions(&self) -> impl Iterator<Item = &SessionId> {
        self.members.iter().map(|member| &member.session)
    }

    /// All of it, bounded. Its status is absent if it did not become quiet.
    pub(super) fn raw(&self, id: &RunId) -> Value {
        let phases = self.phases.iter();
        let phases = phases.map(|(title, counts)| json!({ "phase": title, "agents": counts.raw() }));
        json!({
            "runId": id,
            "name": self.name,
            "status": self.stop,
            "agents": self.all.raw(),
            "phases": phases.collect::<Vec<_>>(),
            "members": self.members.iter().map(Member::raw).collect::<Vec<_>>(),
            "membersLeftOut": self.all.started - self.members.len() as u64,
        })
    }
}

impl Member {
    fn raw(&self) -> Value {
        json!({
            "seq": self.seq,
            "label": self.label,
            "phase": self.phase,
            "sessionId": self.session,
            "outcome": self.outcome,
        })
    }
}

impl Counts {
    fn raw(self) -> Value {
        let Self {
            started,
            completed,
            failed,
            cancelled,
        } = self;
        json!({ "started": started, "completed": completed, "failed": failed, "cancelled": cancelled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(seq: u64, phase: Option<&str>) -> EventBody {
        EventBody::WorkflowAgentStart {
            run_id: "r".into(),
            seq,
            label: format!("m{seq}"),
            phase: phase.map(str::to_owned),
            child_id: SessionId::new(format!("s{seq}")),
        }
    }

    fn end(seq: u64, outcome: MemberOutcome) -> EventBody {
        EventBody::WorkflowAgentEnd {
            run_id: "r".into(),
            seq,
            outcome,
        }
    }

    fn folded(events: impl IntoIterator<Item = EventBody>) -> Value {
        let mut runs = Runs::default();
        runs.push(&EventBody::WorkflowRunStart {
            run_id: "r".into(),
            name: "demo".into(),
        });
        events.into_iter().for_each(|event| runs.push(&event));
        let run = runs.take(&"r".into()).expect("it began");
        assert!(runs.take(&"r".into()).is_none(), "once");
        run.raw(&"r".into())
    }

    #[test]
    fn a_run_is_told_with_its_members_and_phases() {
        let raw = folded([
            start(1, Some("Scan")),
            start(2, None),
            end(1, MemberOutcome::Failed),
            EventBody::WorkflowRunEnd {
                run_id: "r".into(),
                stop_reason: RunStop::Error,
            },
        ]);
        let counts = |started, failed| json!({ "started": started, "completed": 0, "failed": failed, "cancelled": 0 });
        let expected = json!({
            "runId": "r",
            "name": "demo",
            "status": "error",
            "agents": counts(2, 1),
            "phases": [{ "phase": "Scan", "agents": counts(1, 1) }, { "phase": null, "agents": counts(1, 0) }],
            "members": [
                { "seq": 1, "label": "m1", "phase": "Scan", "sessionId": "s1", "outcome": "failed" },
                { "seq": 2, "label": "m2", "phase": null, "sessionId": "s2", "outcome": null },
            ],
            "membersLeftOut": 0,
        });
        assert_eq!(raw, expected);
    }

    #[test]
    fn many_members_are_counted() {
        let member = |seq| {
            let phase = format!("p{seq}");
            [start(seq, Some(&phase)), end(seq, MemberOutcome::Completed)]
        };
        let raw = folded((1..=1_000).flat_map(member));
        assert_eq!(
            (&raw["agents"]["completed"], &raw["membersLeftOut"]),
            (&json!(1_000), &json!(900))
        );
        assert_eq!(raw["members"][99]["outcome"], "completed");
        assert_eq!(raw["phases"].as_array().map(Vec::len), Some(MAX_PHASES));
        assert!(raw.to_string().len() < 20_000, "{}", raw.to_string().len());
    }
}
