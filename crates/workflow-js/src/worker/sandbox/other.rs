//! Other systems than Linux: the limits and the empty environment have to do.

use std::os::fd::RawFd;

const NO_MEANS: &str = "this system has no means of it that weft knows";

pub(super) fn forbid_paths() -> Result<(), String> {
    Err(format!("files and sockets by their names: {NO_MEANS}"))
}

pub(super) fn forbid_calls(_gauge: Option<RawFd>) -> Result<(), String> {
    Err(format!("system calls that the engine does without: {NO_MEANS}"))
}
