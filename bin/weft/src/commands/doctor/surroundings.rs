//! What the system gives: programs, process control, limits.

use std::env;
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};
use weft_toolset::Orphans;

use super::{Finding, Patient};

/// The fewest files that may be open: two for each session, and pipes for each command.
const FEW_FILES: u64 = 256;

/// The programs that tools start or that are of use to them.
pub(super) fn tools(_patient: &Patient) -> Vec<Finding> {
    let shell = match (on_path("bash"), on_path("sh")) {
        (Some(bash), _) => Finding::ok(format!("commands run in {}", bash.display())),
        (None, Some(sh)) => Finding::warn(
            format!("there is no bash in PATH; commands run in {}", sh.display()),
            "install bash: models write commands for it",
        ),
        (None, None) => Finding::fail(
            "there is neither bash nor sh in PATH, so no command can run",
            "install bash, or start weft with a PATH that names its folder",
        ),
    };
    let git = match on_path("git") {
        Some(git) => Finding::ok(format!("git is {}", git.display())),
        None => Finding::warn(
            "there is no git in PATH",
            "install git, or start weft with a PATH that names its folder",
        ),
    };
    vec![shell, git]
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file())
}

/// Whether what commands leave behind can be ended.
pub(super) fn processes(_patient: &Patient) -> Vec<Finding> {
    vec![if Orphans::contained() {
        Finding::ok("whatever a command starts ends with the agent")
    } else {
        Finding::warn(
            "on this system a program that leaves its command's process group outlives the agent",
            "end such programs yourself; on Linux weft does",
        )
    }]
}

/// Whether there is room for sessions and commands.
pub(super) fn limits(_patient: &Patient) -> Vec<Finding> {
    let files = getrlimit(Resource::Nofile).current;
    vec![match files {
        Some(files) if files < FEW_FILES => Finding::warn(
            format!("only {files} files may be open at a time"),
            "raise it where weft is started, as with ulimit -n 1024",
        ),
        Some(files) => Finding::ok(format!("{files} files may be open at a time")),
        None => Finding::ok("any number of files may be open"),
    }]
}
