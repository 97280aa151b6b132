//! What is known of a server before it is started, and what all servers of a session share.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use weft_tools::InvalidLimit;

/// One server. Values of its environment and its headers may hold credentials: they are never shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Its name, which stands in the names of its tools.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long it may take until it has said what it offers.
    pub startup_timeout: Duration,
    /// How long a call may go without an answer and without progress.
    pub call_timeout: Duration,
    /// Which of its tools are used.
    pub tools: ToolFilter,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A process that speaks the protocol on stdin and stdout.
    Stdio {
        /// The program: a path, or a name that is looked up in the environment's `PATH`.
        command: PathBuf,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment beside [`ServerContext::environment`].
        env: Vec<(String, String)>,
        /// The folder it runs in; absent for the session's.
        cwd: Option<PathBuf>,
    },
    /// An endpoint of the streamable HTTP transport.
    Http {
        /// Where it is.
        url: String,
        /// Further headers of every request.
        headers: Vec<(String, String)>,
    },
    /// One that cannot be used: it counts as failed, so that the user is told.
    Unusable {
        /// Why, to be read after "it".
        reason: String,
    },
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, .. } => f
                .debug_struct("Stdio")
                .field("command", command)
                .finish_non_exhaustive(),
            Self::Http { .. } => f.debug_struct("Http").finish_non_exhaustive(),
            Self::Unusable { reason } => f.debug_struct("Unusable").field("reason", reason).finish(),
        }
    }
}

/// Which tools of a server are used. Patterns are the server's own names of its tools; `*` stands for any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Only tools that one of these names; absent for all.
    pub allow: Option<Vec<String>>,
    /// No tool that one of these names, allowed or not.
    pub deny: Vec<String>,
}

impl ToolFilter {
    pub(crate) fn takes(&self, tool: &str) -> bool {
        let named = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, tool));
        self.allow.as_deref().is_none_or(named) && !named(&self.deny)
    }
}

/// Whether the name fits the pattern as a whole.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(start) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some((_, behind)) = left.split_once(piece) else {
            return false;
        };
        left = behind;
    }
    left.ends_with(end)
}

/// What all servers of a session share.
#[derive(Clone)]
pub struct ServerContext {
    /// The session's folder: where processes run, and the first root that servers are told.
    pub cwd: PathBuf,
    /// Further roots.
    pub additional_directories: Vec<PathBuf>,
    /// The whole environment of processes, but for what their own configuration adds.
    pub environment: Vec<(OsString, OsString)>,
    /// What must not be shown wherever a server says it, beside the values of its environment and headers.
    pub secrets: Vec<String>,
    /// The bounds.
    pub limits: McpLimits,
}

impl fmt::Debug for ServerContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerContext")
            .field("cwd", &self.cwd)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Bounds on what servers give a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpLimits {
    pub(crate) output_chars: usize,
    pub(crate) tools: usize,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            output_chars: 50_000,
            tools: 200,
        }
    }
}

impl McpLimits {
    /// Sets the most characters of one result that a model is given, 1000 to 1 000 000; 50 000 by default.
    ///
    /// # Errors
    /// The number is out of its range.
    pub fn output_chars(self, output_chars: usize) -> Result<Self, InvalidLimit> {
        let output_chars = InvalidLimit::check("mcp.max_output_chars", output_chars, &(1_000..=1_000_000))?;
        Ok(Self { output_chars, ..self })
    }

    /// Sets the most tools that all servers of a session may offer together, 1 to 10 000; 200 by default.
    ///
    /// # Errors
    /// The number is out of its range.
    pub fn tools(self, tools: usize) -> Result<Self, InvalidLimit> {
        let tools = InvalidLimit::check("mcp.max_tools", tools, &(1..=10_000))?;
        Ok(Self { tools, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, name: &str, expected: bool) {
        assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
    }

    #[test]
    fn a_pattern_names_whole_tools() {
        check("read", "read", true);
        check("read", "read_file", false);
        check("read_*", "read_file", true);
        check("*_file", "read_file", true);
        check("*_file", "read_files", false);
        check("r*_*e", "read_a_file", true);
        check("a*a", "a", false);
        check("*", "", true);
        check("", "x", false);
    }

    #[test]
    fn what_is_denied_is_not_taken_even_if_it_is_allowed() {
        let filter = ToolFilter {
            allow: Some(vec!["get_*".into()]),
            deny: vec!["*_secret".into()],
        };
        assert!(filter.takes("get_page"));
        assert!(!filter.takes("get_secret"));
        assert!(!filter.takes("put_page"));
        assert!(ToolFilter::default().takes("anything"));
    }

    #[test]
    fn no_credential_of_a_transport_is_shown() {
        let stdio = Transport::Stdio {
            command: "server".into(),
            args: vec!["--key=s3cret".into()],
            env: vec![("KEY".into(), "s3cret".into())],
            cwd: None,
        };
        let http = Transport::Http {
            url: "https://s3cret@example.org".into(),
            headers: vec![("X-Key".into(), "s3cret".into())],
        };
        assert!(!format!("{stdio:?}{http:?}").contains("s3cret"));
    }
}
