//! What one line of a log is, by itself.

use weft_types::{Event, EventParseError};

use super::StoreError;
use super::line::Checksum;
use crate::Restore;

/// What one line is.
pub(crate) enum Verdict {
    /// An event, as it is on disk.
    Event(Event),
    /// It may be part of a line: it is no JSON, or its checksum is wrong.
    Torn(String),
    /// It is as it was written, and is no event.
    Foreign(String),
}

/// Judges a line, without its line feed. `restore` has the events before it.
///
/// # Errors
/// It is an event that this version must not pass over.
pub(crate) fn judge(line: &[u8], restore: &Restore) -> Result<Verdict, StoreError> {
    let checksum = Checksum::of(line);
    if checksum == Checksum::Wrong {
        return Ok(Verdict::Torn("its checksum is wrong".to_owned()));
    }
    match Event::from_json(line) {
        Ok(event) => Ok(Verdict::Event(event)),
        Err(EventParseError::UnknownType { seq, kind }) => {
            let session = restore.header().id.clone();
            Err(StoreError::UnknownEvent { session, seq, kind })
        }
        Err(EventParseError::Malformed(error)) => Ok(match serde_json::from_slice(line) {
            Ok(value) => Verdict::Foreign(match restore.explain(&value) {
                Some(violation) => violation.to_string(),
                None => format!("it is no event: {error}"),
            }),
            Err(error) if checksum == Checksum::Right => Verdict::Foreign(error.to_string()),
            Err(error) => Verdict::Torn(format!("it is no JSON: {error}")),
        }),
    }
}
