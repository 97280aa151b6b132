//! What is shown of a run.

use std::collections::HashMap;

use serde::Serialize;

use super::{Member, Run};
use crate::{MemberOutcome, RunId, RunStop, SessionId};

/// One run, as its records tell it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Its id, which identifies it among all runs.
    pub run_id: RunId,
    /// The number of the event that records its start: its place in the conversation, behind the tool call.
    pub anchor: u64,
    /// The workflow's name.
    pub name: String,
    /// How it stands.
    pub status: RunStatus,
    /// Its members by phase, in the order of their first members. A run without members has none.
    pub phases: Vec<PhaseGroup>,
}

/// The members of one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseGroup {
    /// Tells it from the run's other groups: [`PhaseGroup::key`] of the phase.
    pub key: String,
    /// The phase as the members name it. Absent and empty are two different phases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Its members, in the order in which they started.
    pub members: Vec<MemberView>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberView {
    /// Its number in the run.
    pub seq: u64,
    /// Its label; may be empty.
    pub label: String,
    /// Its session.
    pub child_id: SessionId,
    /// How it stands.
    pub status: RunStatus,
}

/// How a run or a member of it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It has not ended.
    Running,
    /// Its end says so.
    Completed,
    /// Its end says so.
    Failed,
    /// Its end says so.
    Cancelled,
    /// No end of it was recorded, and none will be: of a run, because the step or turn around its start is over; of
    /// a member, because its run was interrupted or has ended.
    Interrupted,
}

impl RunView {
    pub(super) fn of(run: &Run) -> Option<Self> {
        let start = run.start.as_ref()?;
        let status = run.status();
        let unended_member = match status {
            RunStatus::Running => RunStatus::Running,
            _ => RunStatus::Interrupted,
        };
        Some(Self {
            run_id: start.id.clone(),
            anchor: start.anchor,
            name: start.name.clone(),
            status,
            phases: group(run.members.placed(), unended_member),
        })
    }
}

impl Run {
    fn status(&self) -> RunStatus {
        match self.stop {
            Some(RunStop::Completed) => RunStatus::Completed,
            Some(RunStop::Error) => RunStatus::Failed,
            Some(RunStop::Cancelled) => RunStatus::Cancelled,
            None if self.is_enclosure_closed => RunStatus::Interrupted,
            None => RunStatus::Running,
        }
    }
}

fn group<'a>(members: impl Iterator<Item = &'a Member>, unended: RunStatus) -> Vec<PhaseGroup> {
    let mut groups: Vec<PhaseGroup> = Vec::new();
    let mut known: HashMap<Option<&str>, usize> = HashMap::new();
    for member in members {
        let Some(start) = &member.start else { continue };
        let phase = start.phase.as_deref();
        let index = *known.entry(phase).or_insert_with(|| {
            groups.push(PhaseGroup::empty(phase));
            groups.len() - 1
        });
        groups[index].members.push(MemberView {
            seq: start.seq,
            label: start.label.clone(),
            child_id: start.child_id.clone(),
            status: member.outcome.map_or(unended, RunStatus::from),
        });
    }
    groups
}

impl PhaseGroup {
    /// The key of a phase, compared exactly. That of the absent one cannot be the key of a text, whatever it says:
    /// those begin with a number, the text's length in UTF-16 units, which a browser can compute as well.
    pub fn key(phase: Option<&str>) -> String {
        match phase {
            None => "none".to_owned(),
            Some(phase) => format!("{}:{phase}", phase.encode_utf16().count()),
        }
    }

    fn empty(phase: Option<&str>) -> Self {
        Self {
            key: Self::key(phase),
            phase: phase.map(str::to_owned),
            members: Vec::new(),
        }
    }
}

impl From<MemberOutcome> for RunStatus {
    fn from(outcome: MemberOutcome) -> Self {
        match outcome {
            MemberOutcome::Completed => Self::Completed,
            MemberOutcome::Failed => Self::Failed,
            MemberOutcome::Cancelled => Self::Cancelled,
        }
    }
}
