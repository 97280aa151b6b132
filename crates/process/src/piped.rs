//! A program with pipes, from its start until nothing of its group is left.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::tail::Tail;
use crate::{Mask, ProcessGroup};

/// How long a program may take to end by itself after its input has ended.
const LEAVE: Duration = Duration::from_secs(2);
/// How long it may take after it was asked to end; then it is killed.
const TERMINATE: Duration = Duration::from_millis(500);
/// How long stderr is read after the end of the process while others hold the pipe.
const DRAIN: Duration = Duration::from_millis(250);

/// What a process is started with.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// What logs call one of its kind, such as `an MCP server`.
    pub what: &'static str,
    /// What logs call this one.
    pub name: &'a str,
    /// The program: a path, or a name that is looked up in the `PATH` of its environment.
    pub command: &'a Path,
    /// Its arguments.
    pub args: &'a [String],
    /// All of its environment.
    pub env: &'a [(OsString, OsString)],
    /// The folder it runs in.
    pub folder: &'a Path,
    /// Keeps secrets out of what is told of it.
    pub mask: &'a Mask,
}

/// Why a program could not be started. It names the program and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartError {
    /// The program.
    pub command: String,
    /// Why.
    pub reason: String,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its status in words, such as `exit status 1` or `killed by signal 9`.
    pub status: String,
    /// The end of what it wrote to stderr, on one line; empty if it wrote nothing.
    pub stderr: String,
}

impl Launch<'_> {
    /// Starts the program with pipes of its own and no environment but the given one.
    fn start(&self) -> io::Result<ProcessGroup> {
        let mut command = Command::new(self.command);
        command
            .args(self.args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        ProcessGroup::start(&mut command, self.what)
    }
}

/// A running process. Dropping it kills its group at once; [`end`](Self::end) is the polite way.
#[derive(Debug)]
pub struct PipedProcess {
    vitals: Arc<Vitals>,
    /// Asks the keeper to end the process, whose input has been closed.
    stop: CancellationToken,
    /// Owns the group.
    keeper: JoinHandle<()>,
}

/// What those who speak with a process may know of it.
#[derive(Debug)]
pub struct Vitals {
    status: OnceLock<String>,
    ended: CancellationToken,
    tail: Tail,
}

impl PipedProcess {
    /// Starts the program, inside of a tokio runtime. Its stderr is read from here on.
    ///
    /// # Errors
    /// It could not be started; nothing is left of it.
    pub fn start(launch: &Launch<'_>) -> Result<(Self, ChildStdin, ChildStdout), StartError> {
        let failed = |reason: String| StartError {
            command: launch.mask.apply(&launch.command.display().to_string()),
            reason,
        };
        if !launch.folder.is_dir() {
            return Err(failed(format!("its folder {} is not there", launch.folder.display())));
        }
        let mut group = launch.start().map_err(|error| failed(error.to_string()))?;
        let leader = group.leader();
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (leader.stdin.take(), leader.stdout.take(), leader.stderr.take())
        else {
            return Err(failed("its pipes are missing".to_owned()));
        };
        let vitals = Arc::new(Vitals {
            status: OnceLock::new(),
            ended: CancellationToken::new(),
            tail: Tail::new(launch.mask.clone()),
        });
        let stop = CancellationToken::new();
        let keeper = keep(
            group,
            stderr,
            Arc::clone(&vitals),
            stop.clone(),
            (launch.what, launch.name.to_owned()),
        );
        let process = Self {
            vitals,
            stop,
            keeper: tokio::spawn(keeper),
        };
        Ok((process, stdin, stdout))
    }

    /// What others may know of it, also when it has ended.
    pub fn vitals(&self) -> &Arc<Vitals> {
        &self.vitals
    }

    /// Ends it, after its input was closed: it may leave by itself, is asked to, and is killed, all within two seconds.
    pub async fn end(mut self) {
        self.stop.cancel();
        if let Err(error) = (&mut self.keeper).await {
            tracing::warn!(%error, "the keeper of a process broke off");
        }
    }
}

impl Drop for PipedProcess {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Vitals {
    /// Resolves when the process has ended, and all of its group.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// How it ended, if it ends soon.
    pub async fn exited_within(&self, wait: Duration) -> Option<Exit> {
        timeout(wait, self.ended()).await.ok()?;
        self.exited()
    }

    /// How it ended, if it has.
    pub fn exited(&self) -> Option<Exit> {
        let status = self.status.get()?.clone();
        Some(Exit {
            status,
            stderr: self.tail.text(),
        })
    }

    /// The end of what it wrote to stderr.
    pub fn stderr(&self) -> String {
        self.tail.text()
    }
}

/// Waits for the end of the process, or brings it about, and kills what is left of its group.
async fn keep(
    mut group: ProcessGroup,
    stderr: tokio::process::ChildStderr,
    vitals: Arc<Vitals>,
    stop: CancellationToken,
    (what, name): (&'static str, String),
) {
    // However this task ends, nobody waits for the end of a process that nobody watches.
    let _told = vitals.ended.clone().drop_guard();
    let life = async {
        let status = tokio::select! {
            status = group.leader().wait() => status,
            () = stop.cancelled() => leave(&mut group).await,
        };
        group.kill();
        let told = status.map_or_else(|error| error.to_string(), describe);
        tracing::debug!(name, status = told, "{what} ended");
        // Before its last words are read: from here on no call is made.
        vitals.status.get_or_init(|| told);
    };
    let reading = vitals.tail.read(stderr, &name);
    tokio::pin!(life, reading);
    let is_read = tokio::select! {
        () = &mut life => false,
        () = &mut reading => {
            life.await;
            true
        }
    };
    if !is_read && timeout(DRAIN, reading).await.is_err() {
        tracing::debug!(name, "others hold the stderr of {what} that has ended");
    }
}

/// Gives the process time to leave, then asks it to, then kills it.
async fn leave(group: &mut ProcessGroup) -> io::Result<ExitStatus> {
    if let Ok(status) = timeout(LEAVE, group.leader().wait()).await {
        return status;
    }
    group.terminate();
    if let Ok(status) = timeout(TERMINATE, group.leader().wait()).await {
        return status;
    }
    group.kill();
    group.leader().wait().await
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}
