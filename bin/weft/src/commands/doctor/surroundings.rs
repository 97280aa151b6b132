//! What the system gives: programs, process control, limits.

use std::env;
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};
use weft_toolset::Orphans;
use weft_toolset::sandbox::{self, Level, Report, SandboxMode};

use super::{Finding, Patient};
use crate::tools::sandbox_of;

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

/// How much of the sandbox of commands is in force.
pub(super) fn sandbox(patient: &Patient) -> Vec<Finding> {
    let Some(config) = patient.effective() else {
        return Vec::new();
    };
    let asked = sandbox_of(&config);
    vec![confined(asked.mode, &sandbox::report(&asked))]
}

fn confined(mode: SandboxMode, report: &Report) -> Finding {
    let why = report.reasons.join("; ");
    match (mode, report.level) {
        (SandboxMode::Off, _) => Finding::warn(
            "commands run without a sandbox: it is switched off",
            "set sandbox.mode = \"auto\" in config.toml, unless something else confines weft",
        ),
        (_, Level::Full) => Finding::ok("commands write only where they should"),
        (SandboxMode::Required, _) => Finding::fail(
            format!("commands do not run: sandbox.mode is \"required\", and here {why}"),
            "use Linux 6.2 or newer with Landlock, or set sandbox.mode = \"auto\"",
        ),
        (SandboxMode::Auto, Level::Partial) => Finding::warn(
            format!("the sandbox of commands holds in part: {why}"),
            "a newer kernel holds more; sandbox.mode = \"required\" lets no command run without all of it",
        ),
        (SandboxMode::Auto, Level::None) => Finding::warn(
            format!("commands run without a sandbox: {why}"),
            "use Linux with Landlock, or let something else confine weft, such as a container",
        ),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::Status;

    #[test]
    fn every_state_of_the_sandbox_is_told_with_its_mend() {
        let report = |level| Report {
            level,
            reasons: vec!["the kernel is old".to_owned()],
        };
        for (mode, level, status, part) in [
            (SandboxMode::Auto, Level::Full, Status::Ok, ""),
            (SandboxMode::Required, Level::Full, Status::Ok, ""),
            (SandboxMode::Auto, Level::Partial, Status::Warn, "newer kernel"),
            (SandboxMode::Auto, Level::None, Status::Warn, "container"),
            (SandboxMode::Off, Level::None, Status::Warn, "sandbox.mode = \"auto\""),
            (
                SandboxMode::Required,
                Level::Partial,
                Status::Fail,
                "sandbox.mode = \"auto\"",
            ),
            (
                SandboxMode::Required,
                Level::None,
                Status::Fail,
                "sandbox.mode = \"auto\"",
            ),
        ] {
            let finding = confined(mode, &report(level));
            assert_eq!(finding.status, status, "{finding:?}");
            assert!(finding.mend.unwrap_or_default().contains(part), "{part}");
        }
    }
}
