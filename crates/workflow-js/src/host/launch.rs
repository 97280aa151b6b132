//! Starting a worker and having it parse the script, before `start()` returns.

use std::io;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use weft_workflow::{StartError, StartErrorCode};

use super::exit::{Exit, last_line};
use crate::frames::{Decoder, FrameError, encode};
use crate::protocol::{EXIT_STUCK, FromWorker, Load, Rejection, Setup, ToWorker};
use crate::rejection::explain;
use crate::{EngineConfig, SandboxLevel, SandboxMode, SandboxReport, WorkerCommand};

/// A worker that has parsed its script and waits.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    /// What has been read of its output so far.
    pub(super) decoder: Decoder,
}

/// How long a worker may take to start and to parse, on a machine that is busy with other things. It takes a few
/// milliseconds; what a hostile script can add is limited by the worker itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a worker is not ready.
#[derive(Debug, thiserror::Error)]
enum LaunchError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("it did not answer within {PATIENCE:?}")]
    Late,
    #[error("it closed its output")]
    Closed,
    #[error("it answered something else")]
    Confused,
}

/// What a worker says to its script.
#[derive(Debug)]
enum Verdict {
    /// It parses, and the worker is shut in as far as this tells.
    Ready(SandboxReport),
    Rejected(Rejection),
}

/// Starts a worker with a script, and tells how far it is shut in.
///
/// # Errors
///
/// The script does not parse, or there is no worker to be had.
pub(super) fn launch(config: &EngineConfig, file: String, body: &str) -> Result<(Launched, SandboxReport), StartError> {
    let failed = |message: String| StartError::new(StartErrorCode::Worker, message);
    let mut worker = spawn(&config.worker, config.max_frame_bytes).map_err(|error| {
        let program = config.worker.program.display();
        failed(format!("failed to start the worker process {program}: {error}"))
    })?;
    let load = Load {
        file,
        body: body.to_owned(),
    };
    match worker.hand_over(setup(config), load) {
        Ok(Verdict::Ready(report)) if is_enough(config.sandbox, &report) => Ok((worker, report)),
        Ok(Verdict::Ready(report)) => Err(failed(format!(
            "the run was not started: workflow.sandbox is \"required\", and here is missing: {}\n\
             hint: set workflow.sandbox to \"auto\"",
            report.reasons.join("; ")
        ))),
        Ok(Verdict::Rejected(rejection)) => {
            Err(StartError::new(StartErrorCode::ScriptParse, explain(&rejection, body)))
        }
        Err(error) => Err(worker.post_mortem(&error).map_or_else(
            || {
                StartError::new(
                    StartErrorCode::ScriptParse,
                    "script does not parse: parsing it takes too long",
                )
            },
            failed,
        )),
    }
}

fn is_enough(mode: SandboxMode, report: &SandboxReport) -> bool {
    mode != SandboxMode::Required || report.level == SandboxLevel::Full
}

fn setup(config: &EngineConfig) -> Setup {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Setup {
        sandbox: config.sandbox,
        max_address_space_bytes: config.max_address_space_bytes as u64,
        max_cpu_seconds: config.max_cpu.as_secs(),
        niceness: config.niceness,
        max_heap_bytes: config.max_heap_bytes,
        max_stack_bytes: config.max_stack_bytes,
        max_slice_ms: ms(config.max_slice),
        max_frame_bytes: config.max_frame_bytes,
        max_calls_in_flight: config.max_calls_in_flight,
        max_items_per_call: config.max_items_per_call,
        max_log_bytes: config.max_log_bytes,
        max_phase_chars: config.max_phase_chars,
        max_narration_per_second: config.max_narration_per_second,
        max_prompt_bytes: config.max_prompt_bytes,
        max_options_bytes: config.max_options_bytes,
        max_result_bytes: config.max_result_bytes,
        max_args_bytes: config.max_args_bytes,
    }
}

fn spawn(command: &WorkerCommand, max_frame_bytes: usize) -> io::Result<Launched> {
    let mut child = Command::new(&command.program)
        .args(&command.args)
        .env_clear()
        // Local time is the same wherever the run is resumed.
        .env("TZ", "UTC0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let missing = || io::Error::other("a pipe is missing");
    Ok(Launched {
        stdin: stdin.ok_or_else(missing)?,
        stdout: stdout.ok_or_else(missing)?,
        stderr: stderr.ok_or_else(missing)?,
        child,
        decoder: Decoder::new(max_frame_bytes),
    })
}

impl Launched {
    /// Gives the worker its limits and its script and waits for its verdict.
    fn hand_over(&mut self, setup: Setup, load: Load) -> Result<Verdict, LaunchError> {
        let deadline = Instant::now() + PATIENCE;
        for message in [ToWorker::Setup(setup), ToWorker::Load(load)] {
            // One that does not read may have answered all the same.
            match write_all(&self.stdin, &encode(&message, usize::MAX)?, deadline) {
                Err(LaunchError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => break,
                other => other?,
            }
        }
        let mut chunk = [0; 4096];
        loop {
            match self.decoder.next()? {
                Some(FromWorker::Loaded(report)) => return Ok(Verdict::Ready(report)),
                Some(FromWorker::Rejected(rejection)) => return Ok(Verdict::Rejected(rejection)),
                Some(_) => return Err(LaunchError::Confused),
                None => {}
            }
            let n = read_some(&self.stdout, &mut chunk, deadline)?;
            self.decoder.push(&chunk[..n]);
        }
    }

    /// What became of a worker that is not ready. Nothing, if it ended itself because parsing takes too long.
    fn post_mortem(mut self, error: &LaunchError) -> Option<String> {
        const MOMENT: Duration = Duration::from_millis(250);
        // One that is exiting by itself, as it closes its pipes, keeps the status it exits with.
        let killed = self.child.start_kill();
        let mut said = [0; 2048];
        let n = read_some(&self.stderr, &mut said, Instant::now() + MOMENT).unwrap_or(0);
        let exit = killed.ok().and_then(|()| self.wait_for_exit(MOMENT));
        if exit == Some(Exit::Code(i32::from(EXIT_STUCK))) {
            return None;
        }
        let exit = exit.map(|exit| format!(" ({exit})")).unwrap_or_default();
        let said = last_line(&said[..n])
            .map(|line| format!(": {line}"))
            .unwrap_or_default();
        Some(format!("the worker process is of no use: {error}{exit}{said}"))
    }

    fn wait_for_exit(&mut self, patience: Duration) -> Option<Exit> {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().ok()? {
                return Some(Exit::of(status));
            }
            thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

fn write_all(pipe: &impl AsFd, mut bytes: &[u8], deadline: Instant) -> Result<(), LaunchError> {
    while !bytes.is_empty() {
        match rustix::io::write(pipe, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::AGAIN) => wait(pipe, PollFlags::OUT, deadline)?,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(LaunchError::Io(error.into())),
        }
    }
    Ok(())
}

fn read_some(pipe: &impl AsFd, chunk: &mut [u8], deadline: Instant) -> Result<usize, LaunchError> {
    loop {
        match rustix::io::read(pipe, &mut *chunk) {
            Ok(0) => return Err(LaunchError::Closed),
            Ok(n) => return Ok(n),
            Err(rustix::io::Errno::AGAIN) => wait(pipe, PollFlags::IN, deadline)?,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(LaunchError::Io(error.into())),
        }
    }
}

fn wait(pipe: &impl AsFd, what: PollFlags, deadline: Instant) -> Result<(), LaunchError> {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).map_err(|_| LaunchError::Late)?;
    match poll(&mut [PollFd::new(pipe, what)], Some(&timeout)) {
        Ok(0) => Err(LaunchError::Late),
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(LaunchError::Io(error.into())),
    }
}
