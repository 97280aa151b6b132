//! What a run tells about itself while it runs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{MemberOutcome, RunId, RunStop, SessionId, WorkflowMeta, optional};

/// Which run an observation is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct RunInfo {
    /// Its id.
    pub id: RunId,
    /// Its metadata.
    pub meta: Arc<WorkflowMeta>,
}

/// One thing that happened in a run. Observed only: never stored, never shown to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct WorkflowObservation {
    /// The run.
    pub run: Arc<RunInfo>,
    /// What happened.
    #[serde(flatten)]
    pub kind: ObservationKind,
}

/// What happened in a run.
///
/// A run begins with `Start` and ends with exactly one `End`, after which nothing follows. Every member that
/// started has one end before that; ends forced by a cancel or by the death of the worker are made up by the
/// engine. Members start in the order in which they were published, not in that of their numbers.
/// The seam's checker tests all this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "bindings", ts(optional_fields))]
#[serde(tag = "type", content = "data", rename_all_fields = "camelCase")]
pub enum ObservationKind {
    /// The run was accepted.
    #[serde(rename = "workflow/start")]
    Start,
    /// The script entered a phase.
    #[serde(rename = "workflow/phase")]
    Phase {
        /// Its title, as the script gave it.
        title: String,
    },
    /// The script told something.
    #[serde(rename = "workflow/log")]
    Log {
        /// One line as a rule; as the script gave it.
        message: String,
    },
    /// A member started; its session exists.
    #[serde(rename = "workflow/agent-start")]
    AgentStart {
        /// Its number, from 1, in call order; numbers of refused starts are missing.
        seq: u64,
        /// Its label; may be empty.
        label: String,
        /// Its phase. Absent and empty are two different things.
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        /// Its session.
        child_id: SessionId,
    },
    /// A member ended.
    #[serde(rename = "workflow/agent-end")]
    AgentEnd {
        /// Its number.
        seq: u64,
        /// Its label, as at its start.
        label: String,
        /// Its phase, as at its start.
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        /// Its session, as at its start.
        child_id: SessionId,
        /// How it ended.
        outcome: MemberOutcome,
    },
    /// The run has settled.
    #[serde(rename = "workflow/end")]
    End {
        /// How.
        stop: RunStop,
        /// Why it did not complete; present exactly if it did not.
        #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// How many members the script asked for and the engine accepted.
        agents_started: u64,
    },
}
