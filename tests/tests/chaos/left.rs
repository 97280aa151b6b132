//! The processes that belong to a home.

use std::path::Path;
use std::time::{Duration, Instant};

/// How long processes whose agent was killed may take to notice.
const GRACE: Duration = Duration::from_secs(10);

/// Waits until no process has this `WEFT_HOME` in its environment any more, and names those that stay.
///
/// It looks again and again instead of sleeping: what it looks at costs about a millisecond.
pub(crate) fn nobody_is_left(home: &Path) -> Result<(), String> {
    let entry = [b"WEFT_HOME=", home.as_os_str().as_encoded_bytes()].concat();
    let end = Instant::now() + GRACE;
    loop {
        let left = processes_with(&entry);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("processes outlive the agent: {}", left.join("; ")));
        }
        std::thread::yield_now();
    }
}

/// The command lines of the processes with an entry in their environment; a process that has ended has none.
fn processes_with(entry: &[u8]) -> Vec<String> {
    let folders = std::fs::read_dir("/proc").expect("/proc can be read").flatten();
    let with_entry = folders.filter(|folder| {
        let environment = std::fs::read(folder.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|found| found == entry)
    });
    let command = |folder: std::fs::DirEntry| {
        let line = std::fs::read(folder.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    };
    with_entry.map(command).collect()
}
