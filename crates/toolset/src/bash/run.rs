//! The life of one command, from its start until nothing of its group is left.

use std::future::Future;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use weft_process::ProcessGroup;

use super::console::Console;

/// How long the group may take to end by itself after it was asked to.
const GRACE: Duration = Duration::from_secs(1);

/// How long output is read after the shell has ended, or was killed, while others hold the pipe.
const DRAIN: Duration = Duration::from_millis(250);

/// How a command ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// By itself.
    Exited(ExitStatus),
    /// It was killed when its time was over.
    TimedOut,
    /// It was killed because the call was cancelled.
    Cancelled,
}

/// Runs the command to its end and reads its output meanwhile.
///
/// When the shell ends, the rest of its group is killed: nothing runs on in the background. On a cancel
/// or a timeout the group is asked to end, and killed a second later. Both are over within two seconds.
pub(super) async fn to_end(
    mut group: ProcessGroup,
    console: &mut Console,
    limit: Duration,
    cancel: &CancellationToken,
) -> io::Result<Ending> {
    let ending = {
        let shell = group.leader().wait();
        console.read_until(first_of(shell, limit, cancel)).await?
    };
    if !matches!(ending, Ending::Exited(_)) {
        group.terminate();
        within(GRACE, async {
            shell_ended(&mut group, console).await;
            // Who left the group may hold the pipe for ever, and is not waited for.
            if !group.is_empty() {
                console.read_to_end().await;
            }
        })
        .await;
        group.kill();
    }
    within(DRAIN, async {
        shell_ended(&mut group, console).await;
        console.read_to_end().await;
    })
    .await;
    group.kill();
    Ok(ending)
}

/// Reads until the shell has ended.
async fn shell_ended(group: &mut ProcessGroup, console: &mut Console) {
    if let Err(error) = console.read_until(group.leader().wait()).await {
        tracing::warn!(%error, "failed to wait for a shell");
    }
}

async fn first_of(
    shell: impl Future<Output = io::Result<ExitStatus>>,
    limit: Duration,
    cancel: &CancellationToken,
) -> io::Result<Ending> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Ok(Ending::Cancelled),
        status = shell => status.map(Ending::Exited),
        () = sleep(limit) => Ok(Ending::TimedOut),
    }
}

/// Waits for the event, but no longer than the time given: going on without it is right.
async fn within(time: Duration, event: impl Future<Output = ()>) {
    match timeout(time, event).await {
        Ok(()) | Err(_) => {}
    }
}
