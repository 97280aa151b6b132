//! Why a server cannot be used.

use std::time::Duration;

use weft_process::{Exit, StartError};

/// Why a server cannot be used. The text says what happened, to be read after the server's name and a colon;
/// [`hint`](Self::hint) says what to do about it. No text holds a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// Its program could not be started.
    #[error("failed to start {command}: {reason}")]
    Start {
        /// The program.
        command: String,
        /// Why.
        reason: String,
    },
    /// Its process ended.
    #[error("its process ended ({status}){}", printed(stderr))]
    Exited {
        /// How.
        status: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// It did not say in time what it offers.
    #[error("it did not answer within {limit:?}{}", printed(stderr))]
    TimedOut {
        /// The limit.
        limit: Duration,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// Its endpoint wants to know who asks.
    #[error("its endpoint wants an authorisation: {reason}")]
    Unauthorised {
        /// What the endpoint answered.
        reason: String,
    },
    /// Its endpoint cannot be reached, or answered with something else.
    #[error("failed to connect: {reason}")]
    Connect {
        /// Why.
        reason: String,
    },
    /// It speaks, but not as the protocol wants it.
    #[error("it breaks the protocol: {reason}")]
    Protocol {
        /// What is wrong.
        reason: String,
    },
    /// What is known of it is not enough to reach it.
    #[error("it {reason}")]
    Unusable {
        /// Why.
        reason: String,
    },
    /// It was started again too often.
    #[error("it ended {times} times in a row and is not started again in this session; at last: {last}")]
    GivenUp {
        /// How often.
        times: u32,
        /// Why it ended the last time.
        last: String,
    },
    /// The session ends.
    #[error("the session is being closed")]
    Closing,
}

impl Failure {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Start { .. } => "install the program, or give its whole path as the server's command",
            Self::Exited { .. } => "run the command in a terminal and mend what it says",
            Self::TimedOut { .. } => {
                "run the command in a terminal to see what it waits for; one that is only slow needs a longer \
                 mcp.startup_timeout"
            }
            Self::Unauthorised { .. } => "give a valid token in the server's headers",
            Self::Connect { .. } => "check the server's url, and that something listens there",
            Self::Protocol { .. } => "update the server, or leave it out",
            Self::Unusable { .. } => "correct the server's configuration",
            Self::GivenUp { .. } => "mend the server and load the session anew",
            Self::Closing => "nothing needs to be done",
        }
    }
}

impl From<StartError> for Failure {
    fn from(StartError { command, reason }: StartError) -> Self {
        Self::Start { command, reason }
    }
}

impl From<Exit> for Failure {
    fn from(Exit { status, stderr }: Exit) -> Self {
        Self::Exited { status, stderr }
    }
}

fn printed(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        text => format!("; it printed: {text}"),
    }
}
