//! One agent process: its streams, its group and its end.

use std::collections::VecDeque;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::{WireCommand, WireError};
use crate::Exit;

/// An agent process and everything in its process group; dropping it kills the group.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pid: u32,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    drain: JoinHandle<()>,
    exit: Option<Exit>,
}

impl Process {
    pub(super) fn spawn(command: &WireCommand) -> Result<(Self, ChildStdin, ChildStdout), WireError> {
        let mut spawning = Command::new(&command.program);
        spawning.args(&command.args);
        if !command.inherit_env {
            spawning.env_clear();
        }
        spawning.envs(command.env.iter().map(|(name, value)| (name, value)));
        if let Some(cwd) = &command.cwd {
            spawning.current_dir(cwd);
        }
        spawning
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        spawning.kill_on_drop(true);
        #[cfg(unix)]
        spawning.process_group(0);
        let mut child = spawning.spawn().map_err(|source| WireError::Spawn {
            program: command.program.display().to_string(),
            source,
        })?;
        let pid = child.id().expect("a child that was not waited for has an id");
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = Arc::default();
        let pipe = child.stderr.take().expect("stderr is piped");
        let drain = tokio::spawn(keep_tail(pipe, Arc::clone(&stderr), command.limits.stderr));
        let process = Self {
            child,
            pid,
            stderr,
            drain,
            exit: None,
        };
        Ok((process, stdin, stdout))
    }

    /// The id of the process; it stays its own until the exit was waited for.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The end of what it has written to stderr so far.
    pub(super) fn stderr(&self) -> String {
        let mut tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(tail.make_contiguous()).into_owned()
    }

    /// Waits for the exit until `end`, which is `grace` after the agent was asked, and then kills the group.
    ///
    /// The flag tells whether others of its group were still there when it had ended; they are killed.
    pub(super) async fn wait(&mut self, end: Instant, grace: Duration) -> Result<(Exit, bool), WireError> {
        let Ok(status) = timeout_at(end, self.child.wait()).await else {
            self.kill_group();
            return Err(WireError::DidNotExit { grace });
        };
        let exit = exit_of(status.map_err(|source| WireError::Read { source })?);
        self.exit = Some(exit);
        let survivors = group::exists(self.pid);
        self.kill_group();
        self.last_words().await;
        Ok((exit, survivors))
    }

    /// Waits a moment until stderr was read to its end, which may come later than that of stdout. It
    /// does not come while someone else holds the pipe.
    pub(super) async fn last_words(&mut self) {
        const MOMENT: Duration = Duration::from_secs(1);
        if !self.drain.is_finished() {
            drop(timeout(MOMENT, &mut self.drain).await);
        }
    }

    fn kill_group(&mut self) {
        group::kill(self.pid);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.drain.abort();
        if self.exit.is_none() {
            self.kill_group();
        }
    }
}

async fn keep_tail(mut pipe: ChildStderr, tail: Arc<Mutex<VecDeque<u8>>>, limit: usize) {
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = pipe.read(&mut piece).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&piece[..read]);
        let surplus = tail.len().saturating_sub(limit);
        tail.drain(..surplus);
    }
}

#[cfg(unix)]
fn exit_of(status: ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or_default()),
    }
}

#[cfg(not(unix))]
fn exit_of(status: ExitStatus) -> Exit {
    Exit::Code(status.code().unwrap_or_default())
}

#[cfg(unix)]
mod group {
    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

    fn of(leader: u32) -> Option<Pid> {
        i32::try_from(leader).ok().and_then(Pid::from_raw)
    }

    pub(super) fn kill(leader: u32) {
        // The only failure is that nobody is left to be killed.
        let _ = of(leader).map(|group| kill_process_group(group, Signal::KILL));
    }

    pub(super) fn exists(leader: u32) -> bool {
        of(leader).is_some_and(|group| test_kill_process_group(group).is_ok())
    }
}

#[cfg(not(unix))]
mod group {
    /// Without process groups the child alone is killed, by the drop of its handle.
    pub(super) fn kill(_leader: u32) {}

    pub(super) fn exists(_leader: u32) -> bool {
        false
    }
}
