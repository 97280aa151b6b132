//! The least that reading a log can be.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use weft_types::Event;

/// What it took.
#[derive(Serialize)]
pub(crate) struct Figures {
    ms: f64,
    events: u64,
    bytes: u64,
}

/// Reads a log line by line, parses each event, and forgets it.
pub(crate) fn measure(log: &Path) -> anyhow::Result<Figures> {
    let started = Instant::now();
    let mut input = BufReader::with_capacity(1 << 18, File::open(log)?);
    let (mut line, mut events, mut bytes) = (Vec::new(), 0, 0);
    bytes += input.read_until(b'\n', &mut line)? as u64;
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        std::hint::black_box(Event::from_json(&line)?);
        events += 1;
        bytes += read as u64;
    }
    let ms = started.elapsed().as_secs_f64() * 1e3;
    Ok(Figures { ms, events, bytes })
}
