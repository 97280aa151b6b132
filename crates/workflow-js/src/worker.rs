//! The worker's side: one script in one process.

use std::process::ExitCode;

/// Runs one script as the engine's worker process: all of what the hidden `worker` command does.
///
/// It speaks over stdin and stdout, and must be called before any other thread or runtime of the process exists.
pub fn run_worker() -> ExitCode {
    ExitCode::FAILURE
}
