//! Systems without a sandbox that this program can set up.

use std::path::PathBuf;

use super::{Report, SandboxNetwork};

pub(super) fn report(_network: SandboxNetwork) -> Report {
    Report::none("there is a sandbox on Linux only")
}

pub(super) fn enter(_network: SandboxNetwork, _writable: &[PathBuf]) -> Result<(), String> {
    Err("there is a sandbox on Linux only".to_owned())
}
