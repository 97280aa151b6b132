//! The kernel's help in keeping commands to where they belong.
//!
//! On Linux a command is started by way of this very program ([`run_guard`]), which takes from itself the right to write
//! outside of some folders (Landlock) and, if so configured, to use the network (seccomp), and then becomes the shell.
//! What a process has given up its children cannot get back. Elsewhere there is no sandbox, and [`report`] says so.
//!
//! Reading is not restricted, nor are signals and sockets of the local machine (`AF_UNIX`): this keeps accidents and
//! careless commands in their place and is no jail for a program that is out to harm.

mod guard;
mod places;
#[cfg_attr(target_os = "linux", path = "sandbox/linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "sandbox/other.rs")]
mod system;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use self::guard::run_guard;

/// When commands run in the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// As far as this system has one.
    #[default]
    Auto,
    /// Always: where it is not [`Level::Full`], commands do not run.
    Required,
    /// Never.
    Off,
}

/// Whether commands may use the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxNetwork {
    /// They may.
    #[default]
    Allow,
    /// They get no sockets but local ones.
    Deny,
}

/// Settings of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    /// When commands run in it.
    pub mode: SandboxMode,
    /// Whether they may use the network.
    pub network: SandboxNetwork,
    /// Where they may write besides the session's folders and their temporary one, such as the caches of package
    /// managers. `~/` is the home folder; what does not exist when a command starts is passed over, but for the caches of
    /// programs that are installed, which are made.
    pub writable: Vec<String>,
    /// The program that calls [`run_guard`], and its arguments before those of the guard.
    pub guard: (PathBuf, Vec<OsString>),
}

impl Default for SandboxConfig {
    /// No sandbox: a program must say how it is started to have one.
    fn default() -> Self {
        Self {
            mode: SandboxMode::Off,
            network: SandboxNetwork::Allow,
            writable: Vec::new(),
            guard: (PathBuf::new(), Vec::new()),
        }
    }
}

impl SandboxConfig {
    /// The guard is this very program with that argument. On Linux it is named by `/proc/self/exe`, so that an upgraded
    /// binary on disk is never met.
    pub fn guarded_by_self(argument: &str) -> Self {
        Self {
            guard: (PathBuf::from("/proc/self/exe"), vec![argument.into()]),
            ..Self::default()
        }
    }
}

/// How much of what was asked for the system enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// All of it.
    Full,
    /// Some of it.
    Partial,
    /// Nothing.
    None,
}

/// What is in force, and why no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How much is enforced.
    pub level: Level,
    /// What is not, a sentence each without a full stop; empty at [`Level::Full`].
    pub reasons: Vec<String>,
}

impl Report {
    fn none(reason: &str) -> Self {
        Self {
            level: Level::None,
            reasons: vec![reason.to_owned()],
        }
    }
}

/// What of the sandbox would be in force for a command that is started now. Asks the kernel, and changes nothing.
pub fn report(config: &SandboxConfig) -> Report {
    match config.mode {
        SandboxMode::Off => Report::none("it is switched off (sandbox.mode)"),
        SandboxMode::Auto | SandboxMode::Required => system::report(config.network),
    }
}

/// A sandbox as it is in force for as long as the program runs.
#[derive(Clone, Debug)]
pub(crate) struct Sandbox {
    config: SandboxConfig,
    report: Report,
}

/// Why commands do not run at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the command was not run: sandbox.mode is \"required\", and here {reason}\nhint: set sandbox.mode to \"auto\" or \"off\""
)]
pub(crate) struct Unavailable {
    reason: String,
}

impl Sandbox {
    pub(crate) fn new(config: SandboxConfig, report: Report) -> Self {
        Self { config, report }
    }

    /// What stands before a program and its arguments so that they run in the sandbox; nothing if they run without. Of
    /// the caches listed, those are made that are missing and whose program is in `path`.
    pub(crate) fn prefix(&self, folders: &[&Path], path: &OsStr) -> Result<Vec<OsString>, Unavailable> {
        if self.config.mode == SandboxMode::Required && self.report.level != Level::Full {
            let reason = self.report.reasons.join("; ");
            return Err(Unavailable { reason });
        }
        if self.report.level == Level::None {
            return Ok(Vec::new());
        }
        let (program, arguments) = &self.config.guard;
        let mut prefix = vec![program.clone().into_os_string()];
        prefix.extend(arguments.iter().cloned());
        if self.config.network == SandboxNetwork::Deny {
            prefix.push(guard::NO_NETWORK.into());
        }
        for place in places::writable(folders, &self.config.writable, path) {
            prefix.extend([OsString::from(guard::WRITABLE), place.into_os_string()]);
        }
        prefix.push(guard::END.into());
        Ok(prefix)
    }

    /// One sentence for the model; the same as long as the program runs.
    pub(crate) fn sentence(&self) -> &'static str {
        match (self.report.level, self.config.network) {
            (Level::None, _) => "",
            (_, SandboxNetwork::Allow) => {
                " It runs in a sandbox: it can write only in the session's folders, in $TMPDIR and in the caches of \
                 package managers."
            }
            (_, SandboxNetwork::Deny) => {
                " It runs in a sandbox: it can write only in the session's folders, in $TMPDIR and in the caches of \
                 package managers, and has no network."
            }
        }
    }

    /// What to say of a command that failed, if the sandbox may be why.
    pub(crate) fn hint(&self, output: &str) -> Option<&'static str> {
        const OF_FILES: [&str; 4] = [
            "ermission denied",
            "Read-only file system",
            "cross-device link",
            "EACCES",
        ];
        const OF_NETWORK: [&str; 6] = [
            "EAI_AGAIN",
            "Operation not permitted",
            "Could not resolve",
            "name resolution",
            "Name or service not known",
            "EPERM",
        ];
        if self.report.level == Level::None {
            return None;
        }
        if self.config.network == SandboxNetwork::Deny && OF_NETWORK.iter().any(|words| output.contains(words)) {
            return Some("the sandbox may be the reason: commands have no network (sandbox.network)");
        }
        OF_FILES.iter().any(|words| output.contains(words)).then_some(
            "the sandbox may be the reason: commands write only in the session's folders, in $TMPDIR and in what \
             sandbox.writable lists",
        )
    }
}
