//! The lines of a journal.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use weft_types::{MemberOutcome, RunId, RunStop, SessionId};
use weft_workflow::RunOrigin;

use super::key::{Key, digest};

/// The version of the journals that are written.
pub(crate) const VERSION: u32 = 1;

/// The first line: what the run was started with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JournalHeader {
    pub(crate) version: u32,
    pub(crate) run: RunId,
    /// The session that it belongs to.
    pub(crate) session: SessionId,
    /// The run that was the first attempt; itself, if it was.
    pub(crate) root: RunId,
    /// Which attempt it is, from 1.
    pub(crate) attempt: u32,
    /// The run that it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resumed_from: Option<RunId>,
    pub(crate) name: String,
    /// Tells at a glance whether two runs had the same script.
    pub(crate) script_hash: String,
    pub(crate) script: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) args: Option<Value>,
    /// What its clock and its random numbers begin from.
    pub(crate) origin: RunOrigin,
}

impl JournalHeader {
    /// What is written of a script beside itself.
    pub(crate) fn hash(script: &str) -> String {
        digest(script.as_bytes())
    }
}

/// `null` is a value.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// The other lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Record {
    /// A call was accepted; its agent is about to be started.
    Call(Call),
    /// The agent exists.
    Member { seq: u64, session: SessionId },
    /// The agent has ended.
    End { seq: u64, outcome: MemberOutcome },
    /// A call was answered from what the agent of an earlier attempt said.
    Answered {
        #[serde(flatten)]
        call: Call,
        session: SessionId,
    },
    /// The run has ended.
    RunEnd { stop: RunStop },
    /// Whatever a later version writes.
    #[serde(other)]
    Unknown,
}

/// One call of the script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Call {
    /// Its number in this run.
    pub(crate) seq: u64,
    pub(crate) key: Key,
    /// How many calls of this key there were by then, itself included.
    pub(crate) nth: u32,
    pub(crate) label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<String>,
}
