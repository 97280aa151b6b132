//! The list's cache: what was folded of every log, beside what tells that the log is still the same.
//!
//! The logs are the truth. An index that is missing, of another format, or damaged in any way is as good as none, and
//! it is only ever replaced as a whole.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use weft_types::SessionId;

use super::fold::Fold;
use crate::store::FileLayer;
use crate::store::files::open_regular;
use crate::store::layout::Layout;

/// Changed whenever what stands in the file does.
const FORMAT: u32 = 1;

/// How large an index is at most: room for a million sessions. What is larger nobody has written.
const MAX_BYTES: u64 = 256 << 20;

/// One session of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub(super) id: SessionId,
    /// Of the log that was folded. Without, nothing of it is sound, and the index does not tell of it.
    pub(super) stamp: Option<Stamp>,
    pub(super) fold: Fold,
}

impl Listed {
    /// Whether every line of the log follows the one before it.
    pub(super) fn is_read_whole(&self) -> bool {
        self.stamp.is_some_and(|stamp| stamp.size == self.fold.end())
    }
}

/// What tells that a log is as it was: which file it is, how long, and when it was last written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    file: u64,
    size: u64,
    modified_ns: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok();
        let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            file: file_number(metadata),
            size: metadata.len(),
            modified_ns: since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)),
        }
    }

    pub(super) fn size(self) -> u64 {
        self.size
    }

    /// Whether a log that had this stamp and now has `later` may have been appended to, and nothing else.
    ///
    /// The store only appends to a log or replaces it by another file. What is changed by hand in the middle of a file,
    /// keeping its length, goes unnoticed if the log also grows before the next list.
    pub(super) fn may_have_grown_to(self, later: Self) -> bool {
        self.file == later.file && self.size < later.size
    }
}

#[cfg(unix)]
fn file_number(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

/// Where files have no numbers, their sizes, times and checksums alone must tell.
#[cfg(not(unix))]
fn file_number(_metadata: &Metadata) -> u64 {
    0
}

/// The first line of the file.
#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    sessions: usize,
    crc: u32,
}

/// Reads an index, in the order of the ids; none if there is no whole one of this format.
pub(super) fn load(path: &Path) -> Option<Vec<Listed>> {
    load_within(path, MAX_BYTES)
}

fn load_within(path: &Path, max_bytes: u64) -> Option<Vec<Listed>> {
    let file = open_regular(path).ok()?;
    let len = file.metadata().ok().filter(|there| there.len() <= max_bytes)?.len();
    let mut bytes = Vec::new();
    // What it has grown by since is not read: then it is not whole.
    file.take(len).read_to_end(&mut bytes).ok()?;
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (head, rows) = bytes.split_at(end + 1);
    let head: Head = serde_json::from_slice(head).ok()?;
    if head.format != FORMAT || head.crc != crc32fast::hash(rows) {
        return None;
    }
    // Checked once for all, which is faster than text by text.
    let rows = str::from_utf8(rows).ok()?;
    let mut sessions = Vec::with_capacity(head.sessions.min(rows.len()));
    for session in serde_json::Deserializer::from_str(rows).into_iter::<Listed>() {
        sessions.push(session.ok()?);
    }
    let is_sorted =
        sessions.is_sorted_by(|one, next| one.id < next.id) && sessions.iter().all(|one| one.stamp.is_some());
    (is_sorted && sessions.len() == head.sessions).then_some(sessions)
}

/// Replaces the index by one of `sessions`, which are in the order of their ids. Of several who do so at once, one wins.
///
/// It is not synced: one that a crash leaves behind half-written is as good as none.
///
/// # Errors
/// The index is as it was.
pub(super) fn save(layout: &Layout, files: &dyn FileLayer, sessions: &[Listed]) -> io::Result<()> {
    let mut rows = Vec::new();
    let mut count = 0;
    for session in sessions.iter().filter(|session| session.stamp.is_some()) {
        serde_json::to_writer(&mut rows, session)?;
        rows.push(b'\n');
        count += 1;
    }
    let mut bytes = serde_json::to_vec(&Head {
        format: FORMAT,
        sessions: count,
        crc: crc32fast::hash(&rows),
    })?;
    bytes.push(b'\n');
    bytes.append(&mut rows);
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "the index would be too large to be read again",
        ));
    }
    replace(layout, files, &bytes)
}

fn replace(layout: &Layout, files: &dyn FileLayer, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let temporary = layout.root().join(format!("{TEMPORARY}{process}-{count}"));
    let written = files
        .create(&temporary)
        .and_then(|file| files.write(&file, bytes))
        .and_then(|()| files.rename(&temporary, &layout.index()));
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// How the names of indexes begin that are still being written, or never were to the end.
pub(super) const TEMPORARY: &str = ".index-";

/// No index takes so long to be written.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// Removes those temporary indexes that a dead process left behind.
pub(super) fn sweep(layout: &Layout, temporary: &[PathBuf]) {
    // The time now, as the disk has it.
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let now = modified(&layout.index());
    for path in temporary {
        let age = now
            .zip(modified(path))
            .and_then(|(now, then)| now.duration_since(then).ok());
        if age.is_some_and(|age| age >= ABANDONED_AFTER) {
            // Another list may do the same.
            drop(fs::remove_file(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use weft_types::{Origin, SessionHeader, UnixMillis};

    use super::*;
    use crate::{FileStore, ListQuery, Sessions, StoreOptions};

    #[test]
    fn an_index_beyond_its_limit_is_none() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let store = FileStore::new(dir.path().join("sessions"), StoreOptions::new("test")).expect("valid");
        let header = SessionHeader {
            version: SessionHeader::VERSION,
            id: "s".into(),
            created_at: UnixMillis(7),
            cwd: "/work".to_owned(),
            origin: Origin::User,
            parent: None,
            depth: 0,
            label: None,
            run_id: None,
            run_seq: None,
        };
        let session = store.create(header).expect("created");
        session
            .append(weft_types::EventBody::TurnStart { turn: 1 })
            .expect("legal");
        store.list(&ListQuery::default()).expect("listed");
        let index = store.layout().index();
        let len = fs::metadata(&index).expect("it was written").len();
        assert_eq!(load_within(&index, len).map(|sessions| sessions.len()), Some(1));
        assert_eq!(load_within(&index, len - 1), None);
    }
}
