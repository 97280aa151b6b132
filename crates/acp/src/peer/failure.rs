//! Why an agent of others is of no use.

use std::time::Duration;

use weft_process::{Exit, StartError};

/// Why a program is of no use as an agent. The text says what happened, to be read after "the agent NAME";
/// [`hint`](Self::hint) says what to do about it. No text holds a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Its program could not be started.
    #[error("could not be started by `{command}`: {reason}")]
    Start {
        /// The program.
        command: String,
        /// Why.
        reason: String,
    },
    /// Its process ended.
    #[error("is gone: `{command}` ended ({status}){}", printed(stderr))]
    Exited {
        /// The program and its arguments.
        command: String,
        /// How.
        status: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// Its output ended, and its process did not.
    #[error("closed its output while `{command}` went on{}", printed(stderr))]
    Closed {
        /// The program and its arguments.
        command: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// It made no session in time.
    #[error(
        "made no session within {limit:?}, the limit agents.{name}.startup_timeout{}",
        printed(printed_last)
    )]
    TimedOut {
        /// Its name.
        name: String,
        /// The limit.
        limit: Duration,
        /// The end of what it printed that was no message.
        printed_last: String,
    },
    /// It gave no sign of life.
    #[error("gave no sign of life for {limit:?}, the limit agents.{name}.idle_timeout")]
    Silent {
        /// Its name.
        name: String,
        /// The limit.
        limit: Duration,
    },
    /// It said more than could be taken.
    #[error(
        "said more than could be taken while its calls were open: {limit} bytes, the limit agents.{name}.max_buffer_bytes"
    )]
    TooMuch {
        /// Its name.
        name: String,
        /// The limit.
        limit: usize,
    },
    /// It wants the user to log in.
    #[error("wants a login first{}", offered(methods))]
    Login {
        /// The ids of the methods that it offers.
        methods: Vec<String>,
    },
    /// It answered a request with an error.
    #[error("answered {request} with an error: {message}")]
    Refused {
        /// The request.
        request: &'static str,
        /// Its words.
        message: String,
    },
}

impl Failure {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Start { .. } => "install the program, or give its whole path as the first word of `command`",
            Self::Exited { .. } | Self::Closed { .. } => "run the command in a terminal and mend what it says",
            Self::TimedOut { .. } => {
                "run the command in a terminal to see what it waits for; one that is only slow needs a longer \
                 startup_timeout"
            }
            Self::Silent { .. } => "one that works in silence needs a longer idle_timeout",
            Self::TooMuch { .. } => "an agent that needs to say so much needs a larger max_buffer_bytes",
            Self::Login { .. } => {
                "log in with the agent's own program, pass it its key with `env`, or set `auth` to one of its methods"
            }
            Self::Refused { .. } => "see what the agent's own documentation says about it",
        }
    }

    /// What happened and what to do, in one line.
    pub(super) fn with_hint(&self) -> String {
        format!("{self}; {}", self.hint())
    }

    pub(super) fn exited(command: String, exit: Exit) -> Self {
        Self::Exited {
            command,
            status: exit.status,
            stderr: exit.stderr,
        }
    }
}

impl From<StartError> for Failure {
    fn from(StartError { command, reason }: StartError) -> Self {
        Self::Start { command, reason }
    }
}

fn printed(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!("; it printed: {text}"),
    }
}

fn offered(methods: &[String]) -> String {
    match methods {
        [] => String::new(),
        methods => format!(" (it offers {})", methods.join(", ")),
    }
}
