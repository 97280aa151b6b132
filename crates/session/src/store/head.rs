//! The first line of a log.

use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;
use weft_types::{SessionHeader, SessionId};

use super::error::clipped;
use super::line::Checksum;
use super::lines::Lines;
use super::{FileStore, StoreError};

/// What the first line of a log holds.
pub(crate) struct Head {
    /// The header as it is on disk.
    pub(crate) header: SessionHeader,
    /// Whether a line feed ends it.
    pub(crate) whole: bool,
}

enum Fault {
    /// It may be part of a line.
    Torn(String),
    Damaged(String),
    Newer(u32),
}

/// The lines of a session's log.
///
/// # Errors
/// There is none, or it cannot be opened.
pub(crate) fn open(store: &FileStore, id: &SessionId, path: &Path) -> Result<Lines, StoreError> {
    Lines::open(store, id, path).map_err(|error| match error {
        StoreError::Io { source, .. } if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            not_found(id, "there is none of this id")
        }
        error => error,
    })
}

/// Reads the header of a session.
///
/// # Errors
/// The log is empty or has only part of a header: then the session never came to be. Or what is there is no header of
/// this session, or of a later version.
pub(crate) fn read(lines: &mut Lines, id: &SessionId) -> Result<Head, StoreError> {
    let session = id.clone();
    let Some(line) = lines.next()? else {
        return Err(not_found(id, "its log is empty: it died before its first event"));
    };
    let (parsed, whole) = (parse(line.text, id), line.whole);
    match parsed {
        Ok(header) => Ok(Head { header, whole }),
        Err(Fault::Newer(found)) => Err(StoreError::NewerVersion { session, found }),
        Err(Fault::Torn(_)) if lines.next()?.is_none() => Err(not_found(
            id,
            "its log has only part of a header: it died before its first event",
        )),
        Err(Fault::Torn(reason) | Fault::Damaged(reason)) => {
            let path = lines.path().to_owned();
            Err(StoreError::DamagedHeader { session, path, reason })
        }
    }
}

fn not_found(id: &SessionId, reason: &'static str) -> StoreError {
    StoreError::NotFound {
        session: id.clone(),
        reason,
    }
}

fn parse(line: &[u8], id: &SessionId) -> Result<SessionHeader, Fault> {
    /// All that is sure to be in the header of every version to come.
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    if Checksum::of(line) == Checksum::Wrong {
        return Err(Fault::Torn("its checksum is wrong".to_owned()));
    }
    match serde_json::from_slice(line) {
        Ok(Versioned { version: 0 }) => return Err(Fault::Damaged("it has version 0, the first was 1".to_owned())),
        Ok(Versioned { version }) if version > SessionHeader::VERSION => return Err(Fault::Newer(version)),
        Ok(_) => {}
        Err(error) if error.is_data() => return Err(Fault::Damaged(error.to_string())),
        Err(error) => return Err(Fault::Torn(error.to_string())),
    }
    let header: SessionHeader = serde_json::from_slice(line).map_err(|error| Fault::Damaged(error.to_string()))?;
    if header.id != *id {
        return Err(Fault::Damaged(format!(
            "it is the header of session {}",
            clipped(header.id.as_str())
        )));
    }
    Ok(header)
}
