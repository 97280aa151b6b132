//! Stores with sessions in them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use serde::Serialize;
use weft_session::{FileStore, Session, Sessions as _, StoreOptions};
use weft_types::{Event, SessionId, UnixMillis};

use crate::mix::{Mix, header};

/// Events of a small session.
const TURNS_OF_SMALL: usize = 2;

/// What one large session came to.
#[derive(Serialize)]
pub(crate) struct One {
    id: String,
    log: PathBuf,
    events: u64,
    /// The log and whatever else is in the session's folder.
    disk_bytes: u64,
    /// Header and events as compact JSON, a line each.
    json_bytes: u64,
}

/// Fills a store with one session.
pub(crate) fn one(root: PathBuf, cwd: &Path, events: u64) -> anyhow::Result<One> {
    let id = format!("bench-{events}");
    let store = FileStore::new(root, StoreOptions::new("weft-probe"))?;
    let cwd = cwd.to_str().context("the folder's name is not UTF-8")?.to_owned();
    let session = store.create(header(SessionId::new(id.clone()), cwd))?;
    let mut mix = Mix::new(events);
    while session.len() < events {
        append(&session, &mut mix)?;
    }
    let mut json_bytes = serde_json::to_vec(session.header())?.len() as u64 + 1;
    let mut next = 0;
    loop {
        let page = session.page(next, 1024)?;
        if page.is_empty() {
            break;
        }
        next += page.len() as u64;
        for event in page {
            json_bytes += serde_json::to_vec(&*event)?.len() as u64 + 1;
        }
    }
    let folder = store.root().join(&id);
    drop(session);
    Ok(One {
        id,
        events: next,
        disk_bytes: size(&folder)?,
        json_bytes,
        log: folder.join("log.jsonl"),
    })
}

fn append(session: &Arc<Session>, mix: &mut Mix) -> anyhow::Result<()> {
    for event in mix.turn().events {
        session.append(event)?;
    }
    Ok(())
}

fn size(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// What many small sessions came to.
#[derive(Serialize)]
pub(crate) struct Many {
    sessions: u32,
}

/// Fills a store with small sessions. Their files are written as an import or an editor would leave them: the store would
/// wait for the disk at each.
pub(crate) fn many(root: &Path, sessions: u32) -> anyhow::Result<Many> {
    for number in 0..sessions {
        let id = format!("bench-{number:06}");
        let folder = root.join(&id);
        fs::create_dir_all(&folder)?;
        let mut lines = serde_json::to_vec(&header(SessionId::new(id), format!("/projects/{}", number % 50)))?;
        lines.push(b'\n');
        let mut mix = Mix::new(u64::from(number));
        let bodies = (0..TURNS_OF_SMALL).flat_map(|_| mix.turn().events);
        for (seq, body) in (0..).zip(bodies) {
            let time = UnixMillis(1_700_000_000_000 + u64::from(number) * 1000 + seq);
            serde_json::to_writer(&mut lines, &Event { seq, time, body })?;
            lines.push(b'\n');
        }
        fs::File::create(folder.join("log.jsonl"))?.write_all(&lines)?;
    }
    Ok(Many { sessions })
}
