//! The record of one conversation between a client and an agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One entry of a transcript, in the order in which the client wrote and read.
///
/// A line counts as received when the client looks at it, not when it arrives: what the client sent
/// after waiting for some line stands directly behind that line, however fast the agent went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Row {
    /// A line of the protocol.
    Line {
        /// Who wrote it.
        dir: Direction,
        /// The line. Text that was no JSON is kept as a JSON string, which no message can be.
        line: Value,
    },
    /// The end of the agent; the last entry of a transcript that has one.
    Exit {
        /// How it ended.
        exit: Exit,
    },
}

/// Who wrote a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// The client.
    #[serde(rename = ">")]
    Sent,
    /// The agent.
    #[serde(rename = "<")]
    Received,
}

impl Direction {
    /// The opposite direction.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Sent => Self::Received,
            Self::Received => Self::Sent,
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}
