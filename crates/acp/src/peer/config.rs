//! What is known of a program before it is started.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::LineLimit;

/// How much of a command is shown, in characters.
const SHOWN_CHARS: usize = 120;

/// One program that speaks the protocol. Its environment may hold credentials, which are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerConfig {
    /// Its name: that of its table, and a part of the names of its provider and of its calls.
    pub name: String,
    /// The program: a path, or a name that is looked up in the environment's `PATH`.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What must not be shown wherever it prints it.
    pub secrets: Vec<String>,
    /// The folder that it is told to work in, on whatever machine it runs; absent for the session's.
    pub cwd: Option<PathBuf>,
    /// The method to authenticate with before each session; absent where none is needed.
    pub auth: Option<String>,
    /// Its bounds.
    pub limits: PeerLimits,
}

impl PeerConfig {
    /// The program with its arguments, as a line that names it.
    pub(super) fn shown(&self) -> String {
        let program = self.command.to_string_lossy();
        let words = std::iter::once(&*program).chain(self.args.iter().map(String::as_str));
        let line = words.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(SHOWN_CHARS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

impl fmt::Debug for PeerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerConfig")
            .field("name", &self.name)
            .field("command", &self.command)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The bounds of a program; whoever reads them from a file checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerLimits {
    /// How long it may take from its start until it has made a session; `startup_timeout`.
    pub startup: Duration,
    /// How long it may give no sign of life in a turn while nobody is asked anything; absent for as long as it likes;
    /// `idle_timeout`.
    pub idle: Option<Duration>,
    /// How long it may take to end its turn after a cancel, before its process is ended; `cancel_grace`.
    pub cancel_grace: Duration,
    /// How many processes of it run at a time; further agents wait; `max_processes`.
    pub max_processes: usize,
    /// How many bytes of text are kept of one of its calls: the beginning and the end; `max_output_bytes`.
    pub output_bytes: usize,
    /// How many bytes it may say that nobody could take yet; `max_buffer_bytes`.
    pub buffer_bytes: usize,
    /// The longest line that it may send; `acp.line_limit_bytes`.
    pub line: LineLimit,
}

impl Default for PeerLimits {
    fn default() -> Self {
        Self {
            startup: Duration::from_secs(60),
            idle: Some(Duration::from_secs(30 * 60)),
            cancel_grace: Duration::from_secs(3),
            max_processes: 4,
            output_bytes: 64 << 10,
            buffer_bytes: 8 << 20,
            line: LineLimit::default(),
        }
    }
}
