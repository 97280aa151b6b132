//! Who is told what a run does.

use weft_observe::Observers;
use weft_types::{RunId, WorkflowObservation};

/// The observers of an engine's runs, scoped by run id; subscribe with `None` to see every run.
pub type WorkflowObservers = Observers<RunId, WorkflowObservation>;
