//! The process group of one server: everything it starts, unless it leaves the group on purpose.

use std::io;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::Launch;

/// A process with its group. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Group {
    /// The server, which leads the group.
    pub(super) leader: Child,
    /// Kills the group when this process is killed and cannot do it any more; absent if it did not start.
    guard: Option<Child>,
    id: Pid,
    killed: bool,
}

impl Group {
    /// Starts the program with pipes of its own and no environment but the given one.
    pub(super) fn start(launch: &Launch<'_>) -> io::Result<Self> {
        let leader = Command::new(launch.command)
            .args(launch.args)
            .env_clear()
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .current_dir(launch.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let id = leader
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let id = id.expect("a process that was not waited for has its id");
        Ok(Self {
            leader,
            guard: guard(id),
            id,
            killed: false,
        })
    }

    /// Asks all of the group to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills all that is left of the group. Once: its number may then become that of another.
    pub(super) fn kill(&mut self) {
        if !std::mem::replace(&mut self.killed, true) {
            self.signal(Signal::KILL);
            drop(self.guard.take());
        }
    }

    fn signal(&self, signal: Signal) {
        // A group that has ended by itself is no error.
        if let Err(error) = kill_process_group(self.id, signal)
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(group = self.id.as_raw_nonzero().get(), ?signal, %error, "failed to signal an MCP server");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a process that waits for the end of its input, which comes with the end of this process in whatever way, and
/// then kills the group. It leads a group of its own, out of reach of the server and of who kills this one's.
fn guard(group: Pid) -> Option<Child> {
    let group = group.as_raw_nonzero().get().to_string();
    let guard = Command::new("/bin/sh")
        .args(["-c", "read -r end; kill -s KILL -- \"-$0\"", &group])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    guard
        .inspect_err(|error| tracing::warn!(group, %error, "an MCP server would outlive an agent that is killed"))
        .ok()
}
