//! Turns through the real store, durable where an agent waits for it, against the same bytes in a plain file.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use weft_session::{FileStore, Session, Sessions as _, StoreOptions};
use weft_types::SessionId;

use crate::mix::{Mix, Turn, header};

/// The middle of all turns.
#[derive(Serialize)]
pub(crate) struct Figures {
    store_us: f64,
    plain_us: f64,
    /// The same with nobody waiting for the disk.
    store_without_sync_us: f64,
    plain_without_sync_us: f64,
    events: usize,
    syncs: usize,
    bytes: usize,
}

/// Measures turn by turn, the store and the plain file in turns, since a disk has its moods.
pub(crate) fn measure(folder: &Path, turns: usize) -> anyhow::Result<Figures> {
    let synced = pass(&folder.join("synced"), turns, true)?;
    let free = pass(&folder.join("free"), turns, false)?;
    Ok(Figures {
        store_us: micros(synced.store),
        plain_us: micros(synced.plain),
        store_without_sync_us: micros(free.store),
        plain_without_sync_us: micros(free.plain),
        events: synced.events / turns,
        syncs: synced.syncs / turns,
        bytes: synced.bytes / turns,
    })
}

#[derive(Default)]
struct Pass {
    store: Vec<Duration>,
    plain: Vec<Duration>,
    events: usize,
    syncs: usize,
    bytes: usize,
}

fn pass(folder: &Path, turns: usize, synced: bool) -> anyhow::Result<Pass> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let store = FileStore::new(folder.join("store"), StoreOptions::new("weft-probe"))?;
    let session = store.create(header(SessionId::new("bench"), "/projects/bench".to_owned()))?;
    let log = folder.join("store/bench/log.jsonl");
    fs::create_dir_all(folder)?;
    let mut plain = File::create(folder.join("plain"))?;
    let (mut mix, mut pass) = (Mix::new(7), Pass::default());
    // The first turn makes the session's files; it is not measured.
    let mut written = 0;
    for number in 0..=turns {
        let mut turn = mix.turn();
        if !synced {
            turn.check_points.clear();
        }
        let (events, points) = (turn.events.len(), turn.check_points.clone());
        let started = Instant::now();
        through_store(&session, turn, &runtime)?;
        let store_took = started.elapsed();
        let bytes = fs::read(&log)?.split_off(written);
        written += bytes.len();
        let parts = parts(&bytes, events, &points);
        let started = Instant::now();
        through_file(&mut plain, &parts, &points)?;
        let plain_took = started.elapsed();
        if number > 0 {
            pass.store.push(store_took);
            pass.plain.push(plain_took);
            pass.events += events;
            pass.syncs += points.len();
            pass.bytes += bytes.len();
        }
    }
    Ok(pass)
}

fn through_store(session: &Session, turn: Turn, runtime: &tokio::runtime::Runtime) -> anyhow::Result<()> {
    let mut points = turn.check_points.into_iter().peekable();
    for (index, event) in turn.events.into_iter().enumerate() {
        session.append(event)?;
        if points.next_if_eq(&(index + 1)).is_some() {
            runtime.block_on(session.durable())?;
        }
    }
    Ok(())
}

/// The lines of a turn, joined up to each check point; the last part is what follows the last of them.
fn parts<'a>(bytes: &'a [u8], events: usize, points: &[usize]) -> Vec<&'a [u8]> {
    let mut lines: Vec<usize> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .scan(0, |end, line| {
            *end += line.len();
            Some(*end)
        })
        .collect();
    // The session's first turn has the header before its events.
    lines.drain(..lines.len() - events);
    let mut begin = 0;
    let ends = points.iter().map(|point| lines[point - 1]).chain([bytes.len()]);
    ends.map(|end| &bytes[std::mem::replace(&mut begin, end)..end])
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "what the store is measured against")]
fn through_file(file: &mut File, parts: &[&[u8]], points: &[usize]) -> std::io::Result<()> {
    for (index, part) in parts.iter().enumerate() {
        file.write_all(part)?;
        if index < points.len() {
            file.sync_data()?;
        }
    }
    Ok(())
}

fn micros(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}
