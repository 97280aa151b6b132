//! Stores on a real disk, with logs that are written by hand.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use weft_session::{FileStore, ListQuery, SessionRow, StoreOptions};
use weft_types::{Event, EventBody, Origin, SessionHeader, SessionId, UnixMillis};

/// The folder of a store, which goes when this does.
pub(crate) struct Disk {
    dir: TempDir,
}

impl Disk {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// The same logs, elsewhere, without an index.
    pub(crate) fn clone_of(other: &Self) -> Self {
        let disk = Self::new();
        for (path, bytes) in other.files() {
            let to = disk.root().join(path.strip_prefix(other.root()).expect("below it"));
            fs::create_dir_all(to.parent().expect("a folder")).expect("made");
            fs::write(to, bytes).expect("written");
        }
        disk
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("sessions")
    }

    /// A store there, as another process would have it.
    pub(crate) fn store(&self) -> FileStore {
        FileStore::new(self.root(), StoreOptions::new("test")).expect("valid options")
    }

    pub(crate) fn folder(&self, id: &str) -> PathBuf {
        self.root().join(id)
    }

    pub(crate) fn log(&self, id: &str) -> PathBuf {
        self.folder(id).join("log.jsonl")
    }

    /// Makes a log, or replaces it by another file.
    pub(crate) fn write(&self, id: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.folder(id)).expect("made");
        let new = self.folder(id).join("log.new");
        fs::write(&new, text).expect("written");
        fs::rename(new, self.log(id)).expect("renamed");
    }

    pub(crate) fn append(&self, id: &str, text: impl AsRef<[u8]>) {
        let log = OpenOptions::new().append(true).open(self.log(id));
        log.and_then(|mut log| log.write_all(text.as_ref())).expect("appended");
    }

    /// Holds the writer's lock of a session, as a process that runs it does.
    pub(crate) fn run(&self, id: &str) -> File {
        let lock = File::create(self.folder(id).join("lock")).expect("made");
        lock.lock().expect("nobody holds it");
        lock
    }

    /// Every file below the root with its bytes, except for the locks and the index.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        collect(&self.root(), &mut files);
        files.retain(|(path, _)| !path.ends_with("lock") && !path.ends_with("index"));
        files.sort();
        files
    }
}

fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for item in fs::read_dir(folder).into_iter().flatten() {
        let path = item.expect("readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            let bytes = fs::read(&path).expect("readable");
            files.push((path, bytes));
        }
    }
}

/// A user's session that was created at `created_at`.
pub(crate) fn header_of(id: &str, created_at: u64) -> SessionHeader {
    SessionHeader {
        version: SessionHeader::VERSION,
        id: id.into(),
        created_at: UnixMillis(created_at),
        cwd: "/work".to_owned(),
        origin: Origin::User,
        parent: None,
        depth: 0,
        label: None,
        run_id: None,
        run_seq: None,
    }
}

pub(crate) fn header_line(header: &SessionHeader) -> String {
    format!("{}\n", serde_json::to_string(header).expect("a header"))
}

/// Events with those bodies, numbered from `from`, each at the time of its number plus 1000.
pub(crate) fn events(from: u64, bodies: impl IntoIterator<Item = EventBody>) -> Vec<Event> {
    let event = |(seq, body)| Event {
        seq,
        time: UnixMillis(1000 + seq),
        body,
    };
    (from..).zip(bodies).map(event).collect()
}

pub(crate) fn event_lines<'a>(events: impl IntoIterator<Item = &'a Event>) -> String {
    let line = |event| format!("{}\n", serde_json::to_string(event).expect("an event"));
    events.into_iter().map(line).collect()
}

/// A whole log, without checksums.
pub(crate) fn log_text(header: &SessionHeader, bodies: impl IntoIterator<Item = EventBody>) -> String {
    header_line(header) + &event_lines(&events(0, bodies))
}

/// Every row of the store, page by page.
pub(crate) fn all_rows(store: &FileStore, limit: usize) -> Vec<SessionRow> {
    let mut query = ListQuery {
        include_blank: true,
        limit,
        ..ListQuery::default()
    };
    let mut rows = Vec::new();
    loop {
        let page = store.list(&query).expect("listed");
        assert!(page.rows.len() <= limit);
        rows.extend(page.rows);
        query.cursor = page.next;
        if query.cursor.is_none() {
            return rows;
        }
    }
}

pub(crate) fn ids(rows: &[SessionRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

pub(crate) fn id(id: &str) -> SessionId {
    id.into()
}
