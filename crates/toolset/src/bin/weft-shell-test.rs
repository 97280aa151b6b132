//! The guard process that this crate's own tests start.

use std::process::ExitCode;

fn main() -> ExitCode {
    weft_toolset::sandbox::run_guard(std::env::args_os().skip(1))
}
