//! `weft worker`: runs one workflow script for the agent that spawned it.

use std::process::ExitCode;

/// Runs until the script is over or the parent is gone.
pub(crate) fn run() -> ExitCode {
    weft_workflow_js::run_worker()
}
