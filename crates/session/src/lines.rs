//! A session as plain JSON Lines.
//!
//! The first line is the [`SessionHeader`], every further line one [`Event`], in `seq` order. Lines end
//! with a line feed and nothing else: U+2028 and its like stay inside of strings. `grep` and `jq` read
//! it as it is.

use std::io::{self, BufRead, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use weft_types::{Event, SessionHeader};

/// Why text could not be read as a session.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// The input failed.
    #[error("failed to read line {line} of a session log: {cause}")]
    Read {
        /// The line, from 1.
        line: u64,
        /// Why.
        cause: io::Error,
    },
    /// There was no line at all.
    #[error("failed to read a session log: it is empty, expected a header line")]
    Empty,
    /// A line is no header or event of the known vocabulary.
    #[error("failed to read line {line} of a session log as {expected}: {cause}")]
    Parse {
        /// The line, from 1.
        line: u64,
        /// What should have stood there.
        expected: &'static str,
        /// Why it does not.
        cause: serde_json::Error,
    },
    /// The log was written by another version.
    #[error(
        "failed to read a session log: its version is {found}, expected {}",
        SessionHeader::VERSION
    )]
    Version {
        /// The version in its header.
        found: u32,
    },
}

/// Reads what [`Session::export`](crate::Session::export) wrote. Nothing is checked but each line
/// itself: [`Restore`](crate::Restore) checks the log.
///
/// # Errors
/// Names the first bad line. A line of an unknown event type is one.
pub fn read_lines(mut input: impl BufRead) -> Result<(SessionHeader, Vec<Event>), LinesError> {
    let mut line = Vec::new();
    let mut number = 1;
    let header: SessionHeader =
        next_line(&mut input, &mut line, number, "a session header")?.ok_or(LinesError::Empty)?;
    if header.version != SessionHeader::VERSION {
        return Err(LinesError::Version { found: header.version });
    }
    let mut events = Vec::new();
    loop {
        number += 1;
        match next_line(&mut input, &mut line, number, "an event")? {
            Some(event) => events.push(event),
            None => return Ok((header, events)),
        }
    }
}

fn next_line<T: DeserializeOwned>(
    input: &mut impl BufRead,
    line: &mut Vec<u8>,
    number: u64,
    expected: &'static str,
) -> Result<Option<T>, LinesError> {
    line.clear();
    let read = input.read_until(b'\n', line);
    if read.map_err(|cause| LinesError::Read { line: number, cause })? == 0 {
        return Ok(None);
    }
    let parsed = serde_json::from_slice(line);
    parsed.map(Some).map_err(|cause| LinesError::Parse {
        line: number,
        expected,
        cause,
    })
}

/// Writes one value as one line.
pub(crate) fn write_line(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, value)?;
    output.write_all(b"\n")
}
