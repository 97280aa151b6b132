//! Commands that go on while their agent does something else.
//!
//! They belong to the agent's memory and are killed with it, group and all. What they print is kept until it is asked
//! for, within the same bounds as that of any command.

use std::io;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use weft_process::ProcessGroup;
use weft_tools::{Ongoing, ToolError};

use super::decode::Decoder;
use super::output::Output;
use super::spill::Spill;
use super::{BashConfig, Exit};
use crate::scratch::Scratch;

/// How long a command may take to end by itself after it was asked to.
const GRACE: Duration = Duration::from_secs(1);
/// How long output is read after the shell has ended while others hold the pipe.
const DRAIN: Duration = Duration::from_millis(250);
/// How many commands that have ended are remembered until somebody asks for the rest of their output.
const MAX_ENDED: usize = 32;

/// The background commands of one agent.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: Mutex<Vec<Arc<Job>>>,
    next: AtomicU64,
}

/// A background command. Dropping the last one who knows it kills it.
#[derive(Debug)]
pub(super) struct Job {
    id: String,
    command: String,
    since: Instant,
    kept: Arc<Kept>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// What is kept of a command.
#[derive(Debug)]
struct Kept {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    unread: Output,
    has_unread: bool,
    /// Set when nothing is left of the command.
    exit: Option<Exit>,
}

/// How much of what a command prints is kept, and where the rest goes.
#[derive(Clone, Debug)]
pub(super) struct Keeping {
    max_chars: usize,
    spill_bytes: u64,
    scratch: Option<Arc<Scratch>>,
}

impl Keeping {
    pub(super) fn new(config: &BashConfig, scratch: Option<Arc<Scratch>>) -> Self {
        Self {
            max_chars: config.max_output_chars,
            spill_bytes: config.spill_bytes,
            scratch,
        }
    }

    fn output(&self) -> Output {
        let spill = self
            .scratch
            .clone()
            .map(|scratch| Spill::new(scratch, self.spill_bytes));
        Output::new(self.max_chars, spill)
    }
}

/// What has been asked for of a command.
#[derive(Debug)]
pub(super) struct Report {
    /// What it printed since it was asked for before.
    pub(super) output: String,
    /// How it ended; absent while it runs.
    pub(super) exit: Option<Exit>,
}

impl Jobs {
    /// Whether one more may run.
    pub(super) fn check_room(&self, most: usize) -> Result<(), ToolError> {
        let jobs = self.jobs();
        let running: Vec<String> = jobs
            .iter()
            .filter(|job| job.is_running())
            .map(|job| job.told())
            .collect();
        if running.len() < most {
            return Ok(());
        }
        Err(ToolError::new(format!(
            "the command was not run: {most} run in the background (bash.max_background), end one with bash_kill: {}",
            running.join(", ")
        )))
    }

    /// Attends to a command that has been started, for at most the time given. Gives its id.
    pub(super) fn add(
        &self,
        command: &str,
        (group, pipe): (ProcessGroup, pipe::Receiver),
        limit: Option<Duration>,
        keeping: &Keeping,
    ) -> String {
        let id = (self.next.fetch_add(1, Ordering::Relaxed) + 1).to_string();
        let kept = Arc::new(Kept {
            state: Mutex::new(State {
                unread: keeping.output(),
                has_unread: false,
                exit: None,
            }),
            changed: Notify::new(),
        });
        let stop = CancellationToken::new();
        let attendance = Attendance {
            group,
            pipe,
            decoder: Decoder::default(),
            buffer: vec![0; 64 * 1024],
            has_ended: false,
            kept: Arc::clone(&kept),
        };
        let job = Job {
            id: id.clone(),
            command: command.to_owned(),
            since: Instant::now(),
            kept,
            task: tokio::spawn(attendance.attend(stop.clone(), limit)),
            stop,
        };
        let mut jobs = self.jobs();
        jobs.push(Arc::new(job));
        let ended = jobs.iter().filter(|job| !job.is_running()).count();
        if ended > MAX_ENDED
            && let Some(oldest) = jobs.iter().position(|job| !job.is_running())
        {
            jobs.remove(oldest);
        }
        id
    }

    /// The command of that id.
    pub(super) fn find(&self, id: &str) -> Result<Arc<Job>, ToolError> {
        let jobs = self.jobs();
        let found = jobs.iter().find(|job| job.id == id).cloned();
        found.ok_or_else(|| {
            let known: Vec<String> = jobs.iter().map(|job| job.told()).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            ToolError::new(format!("there is no background command {id:?}; there are: {known}"))
        })
    }

    /// Forgets a command of which everything has been told.
    pub(super) fn forget(&self, id: &str) {
        self.jobs().retain(|job| job.id != id);
    }

    fn jobs(&self) -> MutexGuard<'_, Vec<Arc<Job>>> {
        // The list is sound after every single operation.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ongoing for Jobs {
    fn lines(&self) -> Vec<String> {
        let jobs = self.jobs();
        let running = jobs.iter().filter(|job| job.is_running());
        let line = |job: &Arc<Job>| format!("{}, for {}", job.told(), age(job.since.elapsed()));
        running.map(line).collect()
    }
}

/// A time as people tell it: seconds, or else minutes, or hours and minutes.
fn age(time: Duration) -> String {
    let (minutes, seconds) = (time.as_secs() / 60, time.as_secs() % 60);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

impl Job {
    /// Waits until there is something new to tell, at most for that time, and tells it.
    pub(super) async fn report(&self, keeping: &Keeping, wait: Duration) -> Report {
        // To go on without anything new is right.
        let _late = timeout(wait, self.kept.until(|state| state.has_unread || state.exit.is_some())).await;
        let mut state = self.kept.state();
        let output = std::mem::replace(&mut state.unread, keeping.output());
        state.has_unread = false;
        Report {
            output: output.into_text(),
            exit: state.exit.clone(),
        }
    }

    /// Ends the command: asks it to and, a second later, kills it.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        self.kept.until(|state| state.exit.is_some()).await;
    }

    fn is_running(&self) -> bool {
        self.kept.state().exit.is_none()
    }

    /// Its id and the beginning of its command.
    fn told(&self) -> String {
        let line = self.command.lines().next().unwrap_or_default();
        let short: String = line.chars().take(60).collect();
        format!("{} ({short})", self.id)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // The task owns the group, which is killed when it is dropped.
        self.task.abort();
    }
}

impl Kept {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until(&self, is_so: impl Fn(&State) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no change is missed.
            changed.as_mut().enable();
            if is_so(&self.state()) {
                return;
            }
            changed.await;
        }
    }
}

/// The one who reads what a command prints, and ends it.
struct Attendance {
    group: ProcessGroup,
    pipe: pipe::Receiver,
    decoder: Decoder,
    buffer: Vec<u8>,
    has_ended: bool,
    kept: Arc<Kept>,
}

impl Attendance {
    async fn attend(mut self, stop: CancellationToken, limit: Option<Duration>) {
        let out_of_time = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let ended = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            status = self.shell_ended() => Some(status),
            () = out_of_time => None,
        };
        if ended.is_none() {
            self.group.terminate();
            // One that does not end by itself is killed.
            let _late = timeout(GRACE, self.shell_ended()).await;
            self.group.kill();
        }
        let _late = timeout(DRAIN, self.read_to_end()).await;
        self.group.kill();
        let status = match ended {
            Some(status) => status,
            None => self.group.leader().wait().await,
        };
        let mut rest = String::new();
        self.decoder.finish(&mut rest);
        self.keep(&rest);
        self.kept.state().exit = Some(status.map_or(Exit::Signal("an unknown cause".to_owned()), Exit::of));
        self.kept.changed.notify_waiters();
    }

    /// Reads until the shell has ended.
    async fn shell_ended(&mut self) -> io::Result<ExitStatus> {
        loop {
            tokio::select! {
                biased;
                status = self.group.leader().wait() => return status,
                read = self.pipe.read(&mut self.buffer), if !self.has_ended => self.take(read),
            }
        }
    }

    async fn read_to_end(&mut self) {
        while !self.has_ended {
            let read = self.pipe.read(&mut self.buffer).await;
            self.take(read);
        }
    }

    fn take(&mut self, read: io::Result<usize>) {
        let length = read.unwrap_or(0);
        self.has_ended = length == 0;
        let mut text = String::new();
        self.decoder.push(&self.buffer[..length], &mut text);
        self.keep(&text);
    }

    fn keep(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut state = self.kept.state();
        state.unread.push(text);
        state.has_unread = true;
        drop(state);
        self.kept.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_as_roughly_as_people_would() {
        for (seconds, expected) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h 0 min"),
            (100_000, "27 h 46 min"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), expected);
        }
    }
}
