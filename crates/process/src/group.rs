//! A process group that ends with its owner.

use std::io;
use std::process::Stdio;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

/// A process with its group. Dropping it kills the group.
#[derive(Debug)]
pub struct ProcessGroup {
    leader: Child,
    /// Kills the group when this process is killed and cannot do it any more; absent if it did not start.
    guard: Option<Child>,
    id: Pid,
    killed: bool,
    what: &'static str,
}

impl ProcessGroup {
    /// Starts the program as the leader of a group of its own, inside of a tokio runtime. `what` is what logs call it,
    /// such as `a command`.
    ///
    /// # Errors
    /// It could not be started; nothing is left of it.
    pub fn start(command: &mut Command, what: &'static str) -> io::Result<Self> {
        let leader = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = leader
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        let id = id.expect("a process that was not waited for has its id");
        Ok(Self {
            leader,
            guard: guard(id, what),
            id,
            killed: false,
            what,
        })
    }

    /// The program: its pipes, and its end to wait for.
    pub fn leader(&mut self) -> &mut Child {
        &mut self.leader
    }

    /// Asks all of the group to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Whether no process of the group is left.
    pub fn is_empty(&self) -> bool {
        test_kill_process_group(self.id) == Err(Errno::SRCH)
    }

    /// Kills all that is left of the group. Once: its number may then become that of another.
    pub fn kill(&mut self) {
        if !std::mem::replace(&mut self.killed, true) {
            self.signal(Signal::KILL);
            drop(self.guard.take());
        }
    }

    fn signal(&self, signal: Signal) {
        // A group that has ended by itself is no error.
        if let Err(error) = kill_process_group(self.id, signal)
            && error != Errno::SRCH
        {
            let (group, what) = (self.id.as_raw_nonzero().get(), self.what);
            tracing::warn!(group, ?signal, %error, "failed to signal the group of {what}");
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a process that waits for the end of its input, which comes with the end of this process in whatever way, and
/// then kills the group. It leads a group of its own, out of reach of the program and of who kills this one's.
fn guard(group: Pid, what: &'static str) -> Option<Child> {
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
        .inspect_err(|error| tracing::warn!(group, %error, "{what} would outlive an agent that is killed"))
        .ok()
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// Ignores SIGTERM, as does its child, and both hold the pipe.
    const STUBBORN: &str = "trap '' TERM; sh -c 'while :; do sleep 1; done' & echo ready; wait";

    /// Starts it and waits until it is ready; then `end` acts. Passes once nothing of the group holds the pipe.
    async fn check(end: impl FnOnce(ProcessGroup) -> Option<ProcessGroup>) {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", STUBBORN])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut group = ProcessGroup::start(&mut command, "a test").expect("it starts");
        let mut output = group.leader().stdout.take().expect("piped");
        let mut ready = [0; 6];
        output.read_exact(&mut ready).await.expect("it says when it is ready");
        let left = end(group);
        let mut rest = String::new();
        output.read_to_string(&mut rest).await.expect("it ends");
        assert_eq!(rest, "");
        drop(left);
    }

    #[tokio::test]
    async fn dropping_a_group_kills_all_of_it() {
        check(|group| {
            drop(group);
            None
        })
        .await;
    }

    #[tokio::test]
    async fn a_group_does_not_outlive_an_owner_that_is_killed() {
        check(|mut group| {
            // All that the guard would notice of that.
            drop(group.guard.as_mut().and_then(|guard| guard.stdin.take()));
            Some(group)
        })
        .await;
    }
}
