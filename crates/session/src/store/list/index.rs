//! The list's cache: what was folded of every log, beside what tells that the log is still the same.
//!
//! The logs are the truth. An index that is missing, of another format, or damaged in any way is as good as none, and
//! it is only ever replaced as a whole.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use weft_types::SessionId;

use super::fold::Fold;

/// The name of the index in the root of the store: no session's, for it is no folder.
pub(crate) const INDEX: &str = "index";

/// Changed whenever what stands in the file does.
const FORMAT: u32 = 1;

/// One session of the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: SessionId,
    pub(crate) stamp: Stamp,
    pub(crate) fold: Fold,
}

/// What tells that a log is as it was: which file it is, how long, and when it was last written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    file: u64,
    size: u64,
    modified_ns: u64,
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok();
        let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            file: file_number(metadata),
            size: metadata.len(),
            modified_ns: since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)),
        }
    }

    /// Whether a log that had this stamp and now has `later` may have been appended to, and nothing else.
    pub(crate) fn may_have_grown_to(self, later: Self) -> bool {
        self.file == later.file && self.size < later.size
    }
}

#[cfg(unix)]
fn file_number(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

/// Where files have no numbers, their checksums alone must tell.
#[cfg(not(unix))]
fn file_number(_metadata: &Metadata) -> u64 {
    0
}

/// The first line of the file.
#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    entries: usize,
    crc: u32,
}

/// Reads the index of the store in `root`; none if there is no whole one of this format.
pub(crate) fn load(root: &Path) -> Option<HashMap<SessionId, Entry>> {
    let bytes = fs::read(root.join(INDEX)).ok()?;
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (head, rows) = bytes.split_at(end + 1);
    let head: Head = serde_json::from_slice(head).ok()?;
    if head.format != FORMAT || head.crc != crc32fast::hash(rows) {
        return None;
    }
    let mut entries = HashMap::with_capacity(head.entries.min(rows.len()));
    for entry in serde_json::Deserializer::from_slice(rows).into_iter::<Entry>() {
        let entry = entry.ok()?;
        entries.insert(entry.id.clone(), entry);
    }
    (entries.len() == head.entries).then_some(entries)
}

/// Replaces the index of the store in `root`. Of several who do so at once, one wins.
///
/// # Errors
/// The index is as it was.
pub(crate) fn save<'a>(root: &Path, entries: impl Iterator<Item = &'a Entry>) -> io::Result<()> {
    let mut rows = Vec::new();
    let mut count = 0;
    for entry in entries {
        serde_json::to_writer(&mut rows, entry)?;
        rows.push(b'\n');
        count += 1;
    }
    let head = Head {
        format: FORMAT,
        entries: count,
        crc: crc32fast::hash(&rows),
    };
    let mut head = serde_json::to_vec(&head)?;
    head.push(b'\n');
    todo!()
}
