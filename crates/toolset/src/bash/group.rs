//! The process group of one command: everything it starts, unless it leaves the group on purpose.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::launch::Launch;

/// A shell with its group. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Group {
    /// The shell, which leads the group.
    pub(super) shell: Child,
    /// Kills the group when this process is killed and cannot do it any more; absent if it did not start.
    pub(super) guard: Option<Child>,
    id: Pid,
    killed: bool,
}

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("failed to run the command in {folder}: {reason}")]
    Folder { folder: String, reason: String },
    #[error("failed to open a pipe for the command's output")]
    Pipe(#[source] io::Error),
    #[error("failed to start {shell}")]
    Shell {
        shell: String,
        #[source]
        source: io::Error,
    },
}

impl Group {
    /// Starts the command, with a null input and both outputs in one pipe.
    pub(super) fn start(command: &str, launch: &Launch) -> Result<(Self, pipe::Receiver), StartError> {
        check_folder(&launch.folder)?;
        // One pipe for both, so that their output stays in the order in which it was written.
        let (output, input) = io::pipe().map_err(StartError::Pipe)?;
        let second = input.try_clone().map_err(StartError::Pipe)?;
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(output)).map_err(StartError::Pipe)?;
        let (program, arguments) = launch.words.split_first().expect("a launch names its program");
        let child = Command::new(program)
            .args(arguments)
            .arg(OsStr::new(command))
            .current_dir(&launch.folder)
            .env_clear()
            .envs(launch.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(input)
            .stderr(second)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| StartError::Shell {
                shell: program.display().to_string(),
                source,
            })?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let id = id.expect("a process that was not waited for has its id");
        let group = Self {
            shell: child,
            guard: guard(id),
            id,
            killed: false,
        };
        Ok((group, output))
    }

    /// Asks all of the group to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Whether no process of the group is left.
    pub(super) fn is_empty(&self) -> bool {
        test_kill_process_group(self.id) == Err(rustix::io::Errno::SRCH)
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
            tracing::warn!(group = self.id.as_raw_nonzero().get(), ?signal, %error, "failed to signal a command's group");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a process that waits for the end of its input, which comes with the end of this process in whatever way, and
/// then kills the group. It leads a group of its own, out of reach of the command and of who kills this one's.
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
        .inspect_err(|error| tracing::warn!(group, %error, "a command would outlive an agent that is killed"))
        .ok()
}

/// Says what is wrong with the folder, which the error of a failed start does not tell.
fn check_folder(folder: &Path) -> Result<(), StartError> {
    let refused = |reason: String| StartError::Folder {
        folder: folder.display().to_string(),
        reason,
    };
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(refused("it is not a folder".into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(refused("the folder does not exist".into())),
        Err(error) => Err(refused(error.to_string())),
    }
}
