//! Linux: this process is a subreaper, and `/proc` lists its children.

use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait, waitpid};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Survivors;

pub(super) const CONTAINED: bool = true;

#[derive(Debug)]
pub(super) struct Orphans {
    reaper: JoinHandle<()>,
    /// Tells of ended children once the reaper is gone.
    ended: SignalStream,
}

impl Orphans {
    pub(super) fn adopt() -> io::Result<Self> {
        let reaped = signal(SignalKind::child())?;
        let ended = signal(SignalKind::child())?;
        set_child_subreaper(Some(getpid()))?;
        Ok(Self {
            reaper: tokio::spawn(reap(reaped)),
            ended,
        })
    }

    pub(super) async fn end(mut self, limit: Duration) -> Result<(), Survivors> {
        self.reaper.abort();
        match (&mut self.reaper).await {
            Ok(()) | Err(_) => {}
        }
        match timeout(limit, kill_all(&mut self.ended)).await {
            Ok(()) => Ok(()),
            Err(_) => Err(Survivors {
                pids: children().iter().map(|child| child.as_raw_nonzero().get()).collect(),
                waited: limit,
            }),
        }
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        self.reaper.abort();
    }
}

/// Waits for each orphan that has ended, whenever a child of this process has.
async fn reap(mut ended: SignalStream) {
    loop {
        for child in children().into_iter().filter(|child| is_ended_orphan(*child)) {
            if let Err(error) = waitpid(Some(child), WaitOptions::NOHANG) {
                tracing::debug!(child = child.as_raw_nonzero().get(), %error, "failed to wait for an orphan");
            }
        }
        if ended.recv().await.is_none() {
            return;
        }
    }
}

/// Kills all children and waits for them, again and again: the children of the dead become ours.
async fn kill_all(ended: &mut SignalStream) {
    loop {
        for child in children() {
            // It may have ended just now.
            let _gone = kill_process(child, Signal::KILL);
        }
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // There is no child left, alive or dead.
                Err(_) => return,
            }
        }
        if ended.recv().await.is_none() {
            return;
        }
    }
}

/// The children of this process: of all its threads, since a child belongs to the thread that began it.
fn children() -> Vec<Pid> {
    let mut children = Vec::new();
    for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        // A thread that has just ended has none.
        let list = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(
            list.split_whitespace()
                .filter_map(|pid| Pid::from_raw(pid.parse().ok()?)),
        );
    }
    children
}

/// Whether the child has ended and is none that this program started itself.
///
/// Those lead a group or belong to the program's own, and are of its session.
fn is_ended_orphan(child: Pid) -> bool {
    let Some(status) = Status::of(child) else { return false };
    // Not the system calls: both ids are 0 where their leader is outside the PID namespace, as in a container, and
    // rustix panics at that.
    let Some(own) = Status::of(getpid()) else { return false };
    let started_here = status.group == child.as_raw_nonzero().get() || status.group == own.group;
    status.ended && (status.session != own.session || !started_here)
}

/// What `/proc` says of a process.
#[derive(Debug, PartialEq, Eq)]
struct Status {
    ended: bool,
    group: i32,
    session: i32,
}

impl Status {
    fn of(process: Pid) -> Option<Self> {
        let path = format!("/proc/{}/stat", process.as_raw_nonzero());
        Self::parse(&std::fs::read_to_string(path).ok()?)
    }

    /// The name comes second, in parentheses, and may hold anything: what follows it counts.
    fn parse(stat: &str) -> Option<Self> {
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let ended = fields.next()? == "Z";
        let mut numbers = fields.map(|field| field.parse::<i32>());
        let _parent = numbers.next()?.ok()?;
        Some(Self {
            ended,
            group: numbers.next()?.ok()?,
            session: numbers.next()?.ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_may_hold_parentheses_and_spaces() {
        let stat = "42 (a) Z 1 (b) Z 7 40 39 0 -1 4194304";
        let expected = Status {
            ended: true,
            group: 40,
            session: 39,
        };
        assert_eq!(Status::parse(stat), Some(expected));
        assert_eq!(Status::parse("42 (a) S"), None);
    }
}
