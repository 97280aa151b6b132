//! How an agent is started, and within which limits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A command that speaks JSON-RPC lines on its standard streams.
#[derive(Clone, Debug)]
pub struct WireCommand {
    /// The program; a bare name is looked up in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The folder it starts in; the caller's own if `None`.
    pub cwd: Option<PathBuf>,
    /// Variables it is given.
    pub env: Vec<(OsString, OsString)>,
    /// Whether it inherits the caller's variables besides.
    pub inherit_env: bool,
    /// What it may cost.
    pub limits: WireLimits,
}

impl WireCommand {
    /// A command with the caller's variables, no arguments and the default limits.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
            inherit_env: true,
            limits: WireLimits::default(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }
}

/// The bounds of one conversation. Reaching one ends it with an error that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireLimits {
    /// From the start of the agent to the end of the last wait.
    pub total: Duration,
    /// While an update is awaited and no request is open: what nobody asked for is not waited for long.
    pub idle: Duration,
    /// From the end of its input to its exit, after which it is killed.
    pub exit: Duration,
    /// Bytes of one line that the agent writes.
    pub line: usize,
    /// Bytes of all lines of both directions.
    pub transcript: usize,
    /// Bytes of the end of stderr that are kept; what stood before is dropped silently.
    pub stderr: usize,
}

impl Default for WireLimits {
    fn default() -> Self {
        Self {
            total: Duration::from_mins(1),
            idle: Duration::from_secs(5),
            exit: Duration::from_secs(10),
            line: 16 << 20,
            transcript: 256 << 20,
            stderr: 64 << 10,
        }
    }
}
