//! Limits that the operating system keeps.

use std::io;

use rustix::process::{Resource, Rlimit, chdir, nice, setrlimit};

use crate::protocol::Setup;

/// Limits this process for good. Nothing of a script has been read yet.
pub(super) fn apply(setup: &Setup) -> io::Result<()> {
    chdir("/")?;
    limit(Resource::Core, 0, 0)?;
    // No file gets a byte more by it, whatever it has open.
    limit(Resource::Fsize, 0, 0)?;
    // At the first limit the process gets a signal that says why, at the second it is killed.
    limit(Resource::Cpu, setup.max_cpu_seconds, setup.max_cpu_seconds + 1)?;
    if setup.max_address_space_bytes > 0 {
        let bytes = setup.max_address_space_bytes;
        limit(Resource::As, bytes, bytes)?;
    }
    if setup.niceness > 0 {
        // A priority that cannot be lowered is no reason to fail.
        nice(i32::from(setup.niceness)).ok();
    }
    Ok(())
}

fn limit(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    let limits = Rlimit {
        current: Some(soft),
        maximum: Some(hard),
    };
    setrlimit(resource, limits).map_err(Into::into)
}
