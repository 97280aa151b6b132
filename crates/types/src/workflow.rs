//! What is said of workflow runs and their members, live and in records.

mod meta;
mod observation;

use serde::{Deserialize, Serialize};

pub use meta::{MetaError, PhaseMeta, WorkflowMeta};
pub use observation::{ObservationKind, RunInfo, WorkflowObservation};

/// How one member of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MemberOutcome {
    /// It answered.
    Completed,
    /// It could not answer, or not in the form asked for.
    Failed,
    /// The run was cancelled, died or ended before it did.
    Cancelled,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RunStop {
    /// The script returned.
    Completed,
    /// The run was cancelled.
    Cancelled,
    /// The script or its worker failed.
    Error,
}
