//! The process of a server, from its start until nothing of its group is left.

mod stderr;

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use weft_process::ProcessGroup;

use crate::Failure;
use crate::mask::Mask;
use stderr::Tail;

/// How long a server may take to end by itself after its input has ended.
const LEAVE: Duration = Duration::from_secs(1);
/// How long it may take after it was asked to end; then it is killed.
const TERMINATE: Duration = Duration::from_millis(500);
/// How long stderr is read after the end of the process while others hold the pipe.
const DRAIN: Duration = Duration::from_millis(250);

/// What a process is started with.
pub(crate) struct Launch<'a> {
    pub(crate) server: &'a str,
    pub(crate) command: &'a Path,
    pub(crate) args: &'a [String],
    pub(crate) env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    pub(crate) folder: &'a Path,
    pub(crate) mask: &'a Mask,
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
        ProcessGroup::start(&mut command, "an MCP server")
    }
}

/// A running process. Dropping it kills its group at once; [`end`](Self::end) is the polite way.
#[derive(Debug)]
pub(crate) struct Process {
    vitals: Arc<Vitals>,
    /// Asks the keeper to end the process, whose input has been closed.
    stop: CancellationToken,
    /// Owns the group.
    keeper: JoinHandle<()>,
}

/// What calls may know of a process.
#[derive(Debug)]
pub(crate) struct Vitals {
    status: OnceLock<String>,
    ended: CancellationToken,
    tail: Tail,
}

impl Process {
    pub(crate) fn start(launch: &Launch<'_>) -> Result<(Self, ChildStdin, ChildStdout), Failure> {
        let failed = |reason: String| Failure::Start {
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
            launch.server.to_owned(),
        );
        let process = Self {
            vitals,
            stop,
            keeper: tokio::spawn(keeper),
        };
        Ok((process, stdin, stdout))
    }

    pub(crate) fn vitals(&self) -> &Arc<Vitals> {
        &self.vitals
    }

    /// Ends it, after its input was closed: it may leave by itself, is asked to, and is killed, all within two seconds.
    pub(crate) async fn end(mut self) {
        self.stop.cancel();
        if let Err(error) = (&mut self.keeper).await {
            tracing::warn!(%error, "the keeper of an MCP server's process broke off");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Vitals {
    /// Resolves when the process has ended, and all of its group.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Why the server is gone, if its process ends soon.
    pub(crate) async fn exited_within(&self, wait: Duration) -> Option<Failure> {
        timeout(wait, self.ended()).await.ok()?;
        self.exited()
    }

    /// Why the server is gone, if its process has ended.
    pub(crate) fn exited(&self) -> Option<Failure> {
        let status = self.status.get()?.clone();
        Some(Failure::Exited {
            status,
            stderr: self.tail.text(),
        })
    }

    /// The end of what it wrote to stderr.
    pub(crate) fn stderr(&self) -> String {
        self.tail.text()
    }
}

/// Waits for the end of the process, or brings it about, and kills what is left of its group.
async fn keep(
    mut group: ProcessGroup,
    stderr: tokio::process::ChildStderr,
    vitals: Arc<Vitals>,
    stop: CancellationToken,
    server: String,
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
        tracing::debug!(server, status = told, "an MCP server ended");
        // Before its last words are read: from here on no call is made.
        vitals.status.get_or_init(|| told);
    };
    let reading = vitals.tail.read(stderr, &server);
    tokio::pin!(life, reading);
    let is_read = tokio::select! {
        () = &mut life => false,
        () = &mut reading => {
            life.await;
            true
        }
    };
    if !is_read && timeout(DRAIN, reading).await.is_err() {
        tracing::debug!(server, "others hold the stderr of an MCP server that has ended");
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
