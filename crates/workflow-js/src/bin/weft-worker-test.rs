//! The worker process that this crate's own tests start.

use std::process::ExitCode;

fn main() -> ExitCode {
    weft_workflow_js::run_worker()
}
