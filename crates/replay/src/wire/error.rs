//! What can go wrong between a client and an agent.

use std::io;
use std::time::Duration;

use serde_json::Value;

use super::PermissionAnswer;

/// Why a conversation could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The agent could not be started.
    #[error("could not start the agent {program}: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A line could not be written.
    #[error("could not write {what} to the agent: {source}")]
    Write {
        /// What was to be written.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// A line was to be written after the agent's input had been closed.
    #[error("could not write {what} to the agent: its input is closed")]
    InputClosed {
        /// What was to be written.
        what: String,
    },
    /// The agent's output could not be read.
    #[error("could not read the agent's output: {source}")]
    Read {
        /// Why.
        source: io::Error,
    },
    /// The conversation reached its time limit.
    #[error("gave up after {} s while waiting for {awaited}", limit.as_secs_f64())]
    Timeout {
        /// The limit, counted from the start of the agent.
        limit: Duration,
        /// What was waited for.
        awaited: String,
    },
    /// Everything asked was answered, and the update that was awaited did not come.
    #[error("every request was answered, and no update came in {} s while waiting for {awaited}", limit.as_secs_f64())]
    Idle {
        /// The limit.
        limit: Duration,
        /// What was waited for.
        awaited: String,
    },
    /// The agent closed its output while something was awaited.
    #[error("the agent closed its output while waiting for {awaited}{}", said(stderr))]
    Ended {
        /// What was waited for.
        awaited: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// The agent wrote something that is no JSON-RPC line.
    #[error("the agent wrote a line that is {problem}: {line}")]
    BadLine {
        /// What is wrong with it.
        problem: &'static str,
        /// The beginning of the line.
        line: String,
    },
    /// A line or the whole transcript is too long.
    #[error("the agent's {what} exceeds the limit of {limit} bytes")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The next permission answer is not among the options that the agent offered.
    #[error("the agent asked for permission without offering {answer:?}; it offered {offered:?}")]
    NotOffered {
        /// The answer that was to be given.
        answer: PermissionAnswer,
        /// The kinds it offered.
        offered: Vec<String>,
    },
    /// A request was answered with an error by an agent that should have obeyed.
    #[error("the agent refused {method}: {error}")]
    Refused {
        /// The method.
        method: String,
        /// What it answered.
        error: Box<RpcError>,
    },
    /// The agent did not end in time after its input was closed; it was killed.
    #[error("the agent did not exit within {} s of the end of its input and was killed", grace.as_secs_f64())]
    DidNotExit {
        /// How long it had.
        grace: Duration,
    },
}

fn said(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        text => format!("; its stderr ends:\n{text}"),
    }
}

/// The error object of a JSON-RPC response.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// What else it says.
    pub data: Option<Value>,
}

impl RpcError {
    /// Reads an error object; what is missing or of the wrong type becomes 0 or empty.
    pub(super) fn from_wire(error: &Value) -> Self {
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error.get("data").cloned(),
        }
    }
}
