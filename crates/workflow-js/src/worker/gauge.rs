//! The worker's view of its own memory.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, RawFd};

/// A file of the system's that tells it, opened before nothing can be opened any more.
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

    pub(super) fn descriptor(&self) -> Option<RawFd> {
        self.status.as_ref().map(AsRawFd::as_raw_fd)
    }
}
