//! The processes that an agent has started, and theirs.

use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The descendants of an agent at one moment.
pub(crate) struct Family(Vec<Process>);

struct Process {
    id: u32,
    /// When it began, in ticks: an id is given again, both are not.
    began: String,
    command: String,
}

impl Family {
    /// Kills an agent and tells whom it leaves behind: it is stopped first, so that it starts nobody meanwhile.
    pub(crate) fn bereave(agent: u32) -> rustix::io::Result<Self> {
        let pid = i32::try_from(agent).ok().and_then(Pid::from_raw);
        let pid = pid.expect("a process has an id");
        kill_process(pid, Signal::STOP)?;
        let family = Self::of(agent);
        kill_process(pid, Signal::KILL)?;
        Ok(family)
    }

    fn of(agent: u32) -> Self {
        let mut ids = vec![agent];
        let mut looked_at = 0;
        while let Some(parent) = ids.get(looked_at).copied() {
            looked_at += 1;
            ids.extend(children_of(parent));
        }
        let alive = ids.into_iter().skip(1).filter_map(Process::look);
        Self(alive.collect())
    }

    /// Whether there were none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits until all of them have ended, and names those that have not within `grace`.
    ///
    /// It looks again and again instead of sleeping: as a rule they have ended at the second look.
    pub(crate) fn ends(&self, grace: Duration) -> Result<(), String> {
        let end = Instant::now() + grace;
        loop {
            let left: Vec<_> = self.0.iter().filter(|process| process.is_alive()).collect();
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                let left: Vec<_> = left.into_iter().map(Process::to_string).collect();
                return Err(format!("processes outlive the agent: {}", left.join("; ")));
            }
            std::thread::yield_now();
        }
    }
}

impl Process {
    /// The process with an id; none if it has ended, waited for or not.
    fn look(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name may hold anything, blanks and brackets too; after it come the state and, 19 fields on, the beginning.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let began = fields.nth(18)?.to_owned();
        let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        (!matches!(state, "Z" | "X")).then(|| Self {
            id,
            began,
            command: String::from_utf8_lossy(&command).replace('\0', " "),
        })
    }

    fn is_alive(&self) -> bool {
        Self::look(self.id).is_some_and(|process| process.began == self.began)
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.command.trim_end())
    }
}

/// The children of all threads of a process; none if it has just ended.
fn children_of(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let parse = |list: String| {
        list.split_whitespace()
            .filter_map(|child| child.parse().ok())
            .collect::<Vec<_>>()
    };
    lists.flat_map(parse).collect()
}

#[tokio::test]
async fn who_outlives_an_agent_is_named() {
    // The shell waits for its child, and tells that the child runs.
    let mut agent = tokio::process::Command::new("sh")
        .args(["-c", "sleep 300 & echo; wait"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut told = [0];
    let mut pipe = agent.stdout.take().expect("a pipe");
    tokio::io::AsyncReadExt::read_exact(&mut pipe, &mut told)
        .await
        .expect("it runs");
    let family = Family::bereave(agent.id().expect("it lives")).expect("it lives");
    let left = family.ends(Duration::ZERO).expect_err("nobody tells the child");
    assert!(left.starts_with("processes outlive the agent: "), "{left}");
    for process in &family.0 {
        let pid = i32::try_from(process.id).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("an id"), Signal::KILL).expect("it lives");
    }
    assert_eq!(family.ends(Duration::from_secs(10)), Ok(()));
    agent.wait().await.expect("a child");
}
