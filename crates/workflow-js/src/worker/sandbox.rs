//! What a worker needs none of, taken away for good: files, the network, other programs.
//!
//! A script has no way to any of it. This is for the day on which somebody finds one through the engine.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsRawFd, RawFd};

use rustix::process::{Resource, Rlimit, setrlimit};

/// The worker's view of its own memory, opened before nothing can be opened any more.
#[derive(Debug)]
pub(super) struct MemoryGauge {
    status: Option<File>,
}

impl MemoryGauge {
    pub(super) fn open() -> Self {
        Self {
            status: File::open("/proc/self/status").ok(),
        }
    }

    /// The most memory that the process has ever used, in bytes; 0 where that cannot be told.
    pub(super) fn peak(&self) -> usize {
        let Some(mut status) = self.status.as_ref() else {
            return 0;
        };
        let mut text = String::new();
        let read = status.rewind().and_then(|()| status.read_to_string(&mut text));
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        read.ok().and(kib).unwrap_or(0) * 1024
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.status.as_ref().map(AsRawFd::as_raw_fd)
    }
}

/// Shuts this process in. Its standard descriptors and the gauge stay.
pub(super) fn enter(gauge: &MemoryGauge) -> io::Result<()> {
    // The first still needs a descriptor of its own.
    forbid_paths_and_programs();
    forbid_new_descriptors(gauge)
}

/// Without a free descriptor there are no more files, sockets or pipes, whatever the system.
fn forbid_new_descriptors(gauge: &MemoryGauge) -> io::Result<()> {
    const STANDARD: RawFd = 3;
    let highest = gauge.descriptor().unwrap_or(0).max(STANDARD - 1);
    let limit = u64::try_from(highest + 1).ok();
    let limits = Rlimit {
        current: limit,
        maximum: limit,
    };
    setrlimit(Resource::Nofile, limits).map_err(Into::into)
}

/// What needs no descriptor: running programs, removing and renaming files, signals to strangers. As far as this
/// kernel knows how.
#[cfg(target_os = "linux")]
fn forbid_paths_and_programs() {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope,
    };
    let restrict = || {
        let abi = ABI::V6;
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(abi))?
            .handle_access(AccessNet::from_all(abi))?
            .scope(Scope::from_all(abi))?
            .create()?
            .restrict_self()?;
        Ok::<(), RulesetError>(())
    };
    if let Err(error) = restrict() {
        super::complain(&format!("the worker is not shut in: {error}"));
    }
}

/// Elsewhere the empty environment and the limits have to do.
#[cfg(not(target_os = "linux"))]
fn forbid_paths_and_programs() {}
