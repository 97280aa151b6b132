//! The workflow engine seam, its observations and the reducer from observations to live snapshots.
//!
//! Open [`WorkflowEngine`] first: it starts a script and hands back a [`WorkflowRun`]. What a run does
//! is told to everybody as [`WorkflowObservation`]s; what it needs of the world comes in through
//! [`Members`]. [`Snapshot`] folds the observations of one run into what a live card shows, and
//! [`Capture`] is the listener that picks one run out of all, even if the engine emitted everything
//! before it told the run's id.
//!
//! The observations themselves and a run's metadata are plain data and stand in `weft_types`, with the records.
//! This crate knows no tools, no protocol and no script language.

mod capture;
mod check;
mod display;
mod engine;
mod limits;
mod member;
mod observation;
mod saved;
mod seqs;
mod snapshot;
#[cfg(any(test, feature = "test-engine"))]
mod test_engine;

pub use capture::{Capture, Captured, MemberEvent};
pub use check::{ObservationChecker, ObservationViolation};
pub use display::{DisplayLimits, DisplayLimitsError, cut_for_display};
pub use engine::{
    CANCELLED_PREFIX, Disposal, RunOrigin, RunResult, StartError, StartErrorCode, StartRequest, WorkflowEngine,
    WorkflowRun,
};
pub use limits::{Limit, RunLimits, Spent};
pub use member::{Member, MemberError, MemberRequest, MemberResult, MemberStop, Members};
pub use observation::WorkflowObservers;
pub use saved::{SavedWorkflow, SavedWorkflowError, SavedWorkflows, script_digest};
pub use snapshot::{PhaseCounts, Snapshot};
#[cfg(any(test, feature = "test-engine"))]
pub use test_engine::{TestDisposal, TestEngine, TestRun};
pub use weft_types::{MetaError, ObservationKind, PhaseMeta, RunInfo, WorkflowMeta, WorkflowObservation};
