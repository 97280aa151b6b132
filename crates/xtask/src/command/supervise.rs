//! Waiting for a program, but not for ever: when its time is over or we are told to stop, it is killed with all
//! that it started.
//!
//! Each program leads a process group of its own, so that one signal reaches its children too. A terminal's
//! Ctrl-C does not reach that group; it is handed on here.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

/// How long what was killed may take to be gone.
const GRACE: Duration = Duration::from_secs(5);

/// Until when the programs of one gate may run, all together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    whole: Duration,
    until: Instant,
}

impl Limit {
    /// So long from now.
    pub(crate) fn of(whole: Duration) -> Self {
        let until = Instant::now() + whole;
        Self { whole, until }
    }
}

/// Runs the command to its end, or to that of its time.
pub(super) fn run(command: &mut Command, limit: Option<Limit>) -> anyhow::Result<Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let output = runtime.block_on(supervise(command, limit));
    // A child that cannot be killed must not hold us up.
    runtime.shutdown_background();
    output
}

async fn supervise(command: &mut Command, limit: Option<Limit>) -> anyhow::Result<Output> {
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let job = super::job(command);
    let spawned = command.stdin(Stdio::null()).process_group(0).spawn();
    let child = spawned.with_context(|| format!("failed to start `{}`", super::command_line(command)))?;
    let group = Pid::from_child(&child);
    let mut ended = tokio::task::spawn_blocking(|| child.wait_with_output());
    let reason = tokio::select! {
        output = &mut ended => return Ok(output??),
        whole = over(limit) => format!("did not end within {} s, the limit of its gate,", whole.as_secs_f64()),
        _ = interrupted.recv() => "was interrupted".into(),
        _ = terminated.recv() => "was told to stop".into(),
    };
    // It may have ended by itself just now.
    let _gone = kill_process_group(group, Signal::KILL);
    match tokio::time::timeout(GRACE, ended).await {
        Ok(_) => bail!("`{job}` {reason} and was killed with all that it started"),
        Err(_) => bail!("`{job}` {reason} and was killed, but something that it started lives on"),
    }
}

/// Resolves when the time is over.
async fn over(limit: Option<Limit>) -> Duration {
    let Some(limit) = limit else {
        return std::future::pending().await;
    };
    tokio::time::sleep_until(limit.until.into()).await;
    limit.whole
}

#[cfg(test)]
mod tests {
    use super::super::program;
    use super::*;

    /// Runs a shell script whose output is captured: that ends only when nobody holds it open any more.
    fn shell(script: &str, limit: Option<Limit>) -> anyhow::Result<Output> {
        run(program("sh").args(["-c", script]).stdout(Stdio::piped()), limit)
    }

    #[test]
    fn a_program_that_ends_in_time_is_left_alone() {
        let limit = Some(Limit::of(Duration::from_secs(60)));
        let output = shell("echo done; exit 3", limit).expect("it runs");
        assert_eq!(
            (output.stdout.as_slice(), output.status.code()),
            (&b"done\n"[..], Some(3))
        );
    }

    #[test]
    fn what_hangs_is_killed_with_its_children_and_the_limit_is_named() {
        let limit = Some(Limit::of(Duration::from_millis(200)));
        let error = shell("sleep 1000 & sleep 1000", limit).expect_err("it hangs");
        assert_eq!(
            error.to_string(),
            "`sh -c` did not end within 0.2 s, the limit of its gate, and was killed with all that it started"
        );
    }

    #[test]
    fn the_limit_is_that_of_all_programs_together() {
        let limit = Some(Limit::of(Duration::from_millis(500)));
        let until = Instant::now() + Duration::from_secs(20);
        while shell("sleep 0.1", limit).is_ok() {
            assert!(Instant::now() < until, "each program has the whole time for itself");
        }
    }

    #[test]
    fn a_program_has_no_input_to_wait_for() {
        let output = shell("cat; echo end", None).expect("it runs");
        assert_eq!(output.stdout, b"end\n");
    }
}
