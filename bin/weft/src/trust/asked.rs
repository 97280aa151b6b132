//! Whether it is the user who says something, or a program that works for an agent.
//!
//! Whatever an agent starts has the mark of agents in its environment, and the agent among its ancestors: what a command
//! leaves behind falls to the agent, not to the system. A program can take the mark away; it cannot choose its ancestors.

use weft_toolset::AGENT_MARK;

/// By what this process is known to work for an agent; nothing for one that does not, as far as can be told.
pub(super) fn works_for_agent() -> Option<String> {
    if std::env::var_os(AGENT_MARK).is_some() {
        return Some(format!("the variable {AGENT_MARK} is set"));
    }
    agent_above().map(|pid| format!("weft, process {pid}, started it"))
}

/// The nearest ancestor that is a weft.
#[cfg(target_os = "linux")]
fn agent_above() -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |of: &str| {
        let found = std::fs::metadata(format!("/proc/{of}/exe")).ok()?;
        Some((found.dev(), found.ino()))
    };
    let own = identity("self");
    let is_weft = |pid: u32| {
        let named = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        // The kernel says so of a program whose file was replaced since, as by an update.
        let name = named.as_deref().and_then(std::path::Path::file_name);
        let is_named = name.is_some_and(|name| name == "weft" || name == "weft (deleted)");
        is_named || own.is_some() && identity(&pid.to_string()) == own
    };
    std::iter::successors(parent_of("self"), |pid| parent_of(&pid.to_string()))
        .take_while(|pid| *pid > 1)
        .find(|pid| is_weft(*pid))
}

#[cfg(target_os = "linux")]
fn parent_of(process: &str) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// Elsewhere only the mark tells.
#[cfg(not(target_os = "linux"))]
fn agent_above() -> Option<u32> {
    None
}
