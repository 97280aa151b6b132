//! What a worker needs none of, taken away for good: files, the network, other programs and processes, and every call
//! to the system that the engine does without.
//!
//! A script has no way to any of it. This is for the day on which somebody finds one through the engine.
//!
//! There are two layers, each enough for most of it: Landlock puts paths, sockets and other processes out of reach, a
//! filter of system calls leaves only those that the engine is known to make. They are entered in two steps, since the
//! one is inherited by threads and so comes before them, and the other forbids to make threads and so comes after them.
//! Both are in force before a byte of a script is read.

use std::os::fd::RawFd;
use std::{fs, io};

use rustix::process::{Resource, Rlimit, setrlimit};

use super::gauge::MemoryGauge;
use crate::sandbox::{SandboxMode, SandboxReport};

#[cfg(target_os = "linux")]
mod calls;
#[cfg_attr(target_os = "linux", path = "sandbox/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "sandbox/other.rs")]
mod system;

/// A process that has no way to files, sockets and other processes any more, and now makes its threads.
#[derive(Debug)]
pub(super) struct HalfWay {
    mode: SandboxMode,
    paths: Result<(), String>,
}

/// Closes what the process was given beside its standard descriptors: what an editor leaves open for its children, they
/// leave open for theirs. It comes before anything else, since it does not ask whose a descriptor is.
pub(super) fn drop_inherited() {
    const STANDARD: RawFd = 2;
    // Linux and macOS have this folder. Without it they stay; a filter of system calls makes them useless as well.
    let Ok(entries) = fs::read_dir("/dev/fd") else { return };
    let named = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let inherited: Vec<RawFd> = named.filter(|descriptor| *descriptor > STANDARD).collect();
    for descriptor in inherited {
        // One of them was that of the folder, and is closed already.
        let _closed_before = nix::unistd::close(descriptor);
    }
}

/// Takes the first step. The standard descriptors and the gauge stay.
pub(super) fn enter(mode: SandboxMode, gauge: &MemoryGauge) -> io::Result<HalfWay> {
    // It still needs a descriptor of its own.
    let paths = unless_off(mode, system::forbid_paths);
    forbid_new_descriptors(gauge)?;
    Ok(HalfWay { mode, paths })
}

impl HalfWay {
    /// Takes the second step, for all threads of the process.
    pub(super) fn complete(self, gauge: &MemoryGauge) -> io::Result<SandboxReport> {
        forbid_new_processes()?;
        let calls = unless_off(self.mode, || system::forbid_calls(gauge.descriptor()));
        Ok(SandboxReport::of([self.paths, calls]))
    }
}

fn unless_off(mode: SandboxMode, step: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    match mode {
        SandboxMode::Off => Err("it is switched off (workflow.sandbox)".to_owned()),
        SandboxMode::Auto | SandboxMode::Required => step(),
    }
}

/// Without a free descriptor there are no more files, sockets or pipes, whatever the system.
fn forbid_new_descriptors(gauge: &MemoryGauge) -> io::Result<()> {
    const STANDARD: RawFd = 3;
    let highest = gauge.descriptor().unwrap_or(0).max(STANDARD - 1);
    set(Resource::Nofile, u64::try_from(highest + 1).ok())
}

/// A user who is not almighty has processes enough by then.
fn forbid_new_processes() -> io::Result<()> {
    set(Resource::Nproc, Some(0))
}

fn set(resource: Resource, limit: Option<u64>) -> io::Result<()> {
    let limits = Rlimit {
        current: limit,
        maximum: limit,
    };
    setrlimit(resource, limits).map_err(Into::into)
}
