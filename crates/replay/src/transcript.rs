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
    /// The end of the agent. What follows is said with another one, whose home is the same.
    Exit {
        /// How it ended.
        exit: Exit,
    },
}

/// A text that is no transcript.
#[derive(Debug, thiserror::Error)]
#[error("could not read line {line} of the transcript: {source}")]
pub struct TranscriptError {
    line: usize,
    source: serde_json::Error,
}

/// Reads a transcript from its text, one [`Row`] per line.
///
/// # Errors
///
/// If a line is no row.
pub fn parse_transcript(text: &str) -> Result<Vec<Row>, TranscriptError> {
    let parse = |(at, line)| serde_json::from_str(line).map_err(|source| TranscriptError { line: at + 1, source });
    text.lines().enumerate().map(parse).collect()
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_transcript_is_read_as_it_is_written_and_a_bad_line_is_named() {
        let rows = [
            Row::Line {
                dir: Direction::Sent,
                line: json!({"a": 1}),
            },
            Row::Line {
                dir: Direction::Received,
                line: json!("no JSON-RPC"),
            },
            Row::Exit { exit: Exit::Signal(9) },
        ];
        let text: String = rows
            .iter()
            .map(|row| serde_json::to_string(row).unwrap() + "\n")
            .collect();
        assert_eq!(
            text,
            "{\"dir\":\">\",\"line\":{\"a\":1}}\n{\"dir\":\"<\",\"line\":\"no JSON-RPC\"}\n{\"exit\":{\"signal\":9}}\n"
        );
        assert_eq!(parse_transcript(&text).unwrap(), rows);
        let error = parse_transcript(&(text + "{\"dir\":\"=\",\"line\":1}\n"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("could not read line 4 of the transcript"), "{error}");
    }

    #[test]
    fn every_committed_transcript_passes_t_check() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
        for scenario in std::fs::read_dir(fixtures).unwrap() {
            let path = scenario.unwrap().path().join("transcript.jsonl");
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let found = crate::t_check(&parse_transcript(&text).unwrap());
            assert!(found.is_empty(), "{}: {found:#?}", path.display());
        }
    }
}
