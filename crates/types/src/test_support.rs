//! Logs for tests.

pub(crate) mod legal;
pub(crate) mod samples;

use crate::{Event, EventBody, MemberOutcome, RunStop, UnixMillis};

/// A log of these events, from number 0.
pub(crate) fn log(bodies: impl IntoIterator<Item = EventBody>) -> Vec<Event> {
    let numbered = bodies.into_iter().zip(0..);
    numbered
        .map(|(body, seq)| Event {
            seq,
            time: UnixMillis(1_700_000_000_000 + seq),
            body,
        })
        .collect()
}

/// The same events, written as text and read again.
#[track_caller]
pub(crate) fn reloaded(log: &[Event]) -> Vec<Event> {
    let lines = log.iter().map(|event| serde_json::to_vec(event).expect("JSON"));
    lines
        .map(|line| Event::from_json(&line).expect("what was written is readable"))
        .collect()
}

pub(crate) fn run_start(run: &str) -> EventBody {
    EventBody::WorkflowRunStart {
        run_id: run.into(),
        name: format!("name of {run}"),
    }
}

pub(crate) fn agent_start(run: &str, seq: u64, phase: Option<&str>) -> EventBody {
    EventBody::WorkflowAgentStart {
        run_id: run.into(),
        seq,
        label: format!("label {seq}"),
        phase: phase.map(str::to_owned),
        child_id: format!("child-{run}-{seq}").as_str().into(),
    }
}

pub(crate) fn agent_end(run: &str, seq: u64, outcome: MemberOutcome) -> EventBody {
    EventBody::WorkflowAgentEnd {
        run_id: run.into(),
        seq,
        outcome,
    }
}

pub(crate) fn run_end(run: &str, stop_reason: RunStop) -> EventBody {
    EventBody::WorkflowRunEnd {
        run_id: run.into(),
        stop_reason,
    }
}
