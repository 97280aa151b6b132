//! Signals to an agent and to its workflow workers.

use super::StepError;
use crate::scenario::SignalName;

/// Sends a signal to the agent's own process.
pub(super) fn send(agent: u32, name: SignalName) -> Result<(), StepError> {
    system::kill(agent, name).map_err(|problem| StepError::Signal {
        target: "agent",
        problem,
    })
}

/// Sends a signal to every descendant of the agent whose first argument is `worker`.
pub(super) fn send_to_workers(agent: u32, name: SignalName) -> Result<(), StepError> {
    let failed = |problem| StepError::Signal {
        target: "worker",
        problem,
    };
    let workers = system::workers_of(agent).map_err(failed)?;
    if workers.is_empty() {
        return Err(failed("none runs; wait for something that it does first".to_owned()));
    }
    workers
        .into_iter()
        .try_for_each(|worker| system::kill(worker, name).map_err(failed))
}

#[cfg(unix)]
mod system {
    use rustix::process::{Pid, Signal, kill_process};

    use super::SignalName;

    pub(super) fn kill(process: u32, name: SignalName) -> Result<(), String> {
        let signal = match name {
            SignalName::Int => Signal::INT,
            SignalName::Term => Signal::TERM,
            SignalName::Kill => Signal::KILL,
        };
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| format!("{process} is no process id"))?;
        kill_process(pid, signal).map_err(|error| error.to_string())
    }

    /// The workers among the descendants of a process, from `/proc`.
    #[cfg(target_os = "linux")]
    pub(super) fn workers_of(agent: u32) -> Result<Vec<u32>, String> {
        let mut family = vec![agent];
        let mut looked_at = 0;
        while let Some(parent) = family.get(looked_at).copied() {
            looked_at += 1;
            family.extend(children_of(parent).map_err(|error| format!("cannot read /proc: {error}"))?);
        }
        Ok(family
            .into_iter()
            .skip(1)
            .filter(|process| is_worker(*process))
            .collect())
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn workers_of(_agent: u32) -> Result<Vec<u32>, String> {
        Err("workers can only be found on Linux".to_owned())
    }

    /// The children of all threads of a process; none if it has just ended.
    #[cfg(target_os = "linux")]
    fn children_of(process: u32) -> std::io::Result<Vec<u32>> {
        let mut children = Vec::new();
        let threads = match std::fs::read_dir(format!("/proc/{process}/task")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(children),
            threads => threads?,
        };
        for thread in threads {
            let list = std::fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
            children.extend(list.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        Ok(children)
    }

    #[cfg(target_os = "linux")]
    fn is_worker(process: u32) -> bool {
        let arguments = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).nth(1) == Some(b"worker")
    }
}

#[cfg(not(unix))]
mod system {
    use super::SignalName;

    pub(super) fn kill(_process: u32, _name: SignalName) -> Result<(), String> {
        Err("this system has no signals".to_owned())
    }

    pub(super) fn workers_of(_agent: u32) -> Result<Vec<u32>, String> {
        Ok(Vec::new())
    }
}
