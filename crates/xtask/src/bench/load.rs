//! Loading a large session in a running agent: how long, how much memory, how large on disk.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::json;

use super::Programs;
use super::daemon::Daemon;
use super::figures::{Figures, median, ms};
use super::start::kib_as_mib;
use super::store::{number, probe};

const ROUNDS: usize = 5;

/// One load.
struct Load {
    first: Duration,
    last: Duration,
    frames: u64,
    peak_kib: u64,
}

/// A home with one session in its store.
struct Home {
    folder: tempfile::TempDir,
    session: String,
    log: PathBuf,
    events: f64,
    disk_over_json: f64,
}

/// `session/load` of 100,000 events, against reading and parsing the same log; and how its memory grows.
pub(crate) fn load(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("load: `session/load` of a large session, median of {ROUNDS}");
    let (small, large) = (Home::make(programs, "10000")?, Home::make(programs, "100000")?);
    let (mut least, mut first, mut last) = (Vec::new(), Vec::new(), Vec::new());
    let (mut frames, mut peak) = (0, 0);
    for _ in 0..ROUNDS {
        let found = probe(programs, "parse", &[&large.log])?;
        least.push(Duration::from_secs_f64(number(&found, "ms")? / 1e3));
        let load = large.load(programs)?;
        first.push(load.first);
        last.push(load.last);
        (frames, peak) = (load.frames, load.peak_kib.max(peak));
    }
    let (least, first, last) = (median(least), median(first), median(last));
    figures.tell("size", &format!("{} events, {frames} frames", large.events));
    figures.tell("reading and parsing the log", &ms(least));
    figures.tell("to the first frame", &ms(first));
    figures.tell("to the answer", &ms(last));
    let ratio = last.as_secs_f64() / least.as_secs_f64();
    figures.judge(
        "to the answer, against parsing",
        &format!("{ratio:.2}"),
        "<= 3",
        ratio <= 3.0,
    );
    memory(programs, figures, &small, peak)?;
    let ratio = large.disk_over_json;
    figures.judge(
        "on disk, against compact JSON",
        &format!("{ratio:.3}"),
        "<= 1.5",
        ratio <= 1.5,
    );
    Ok(())
}

/// Ten times the events may cost no more than a page and what the allocator keeps of it.
fn memory(programs: &Programs, figures: &mut Figures, small: &Home, large_kib: u64) -> anyhow::Result<()> {
    const GROWTH_MIB: f64 = 8.0;
    let mut small_kib = 0;
    for _ in 0..ROUNDS {
        small_kib = small.load(programs)?.peak_kib.max(small_kib);
    }
    let growth = kib_as_mib(large_kib) - kib_as_mib(small_kib);
    figures.tell(
        "peak resident, 10,000 events",
        &format!("{:.1} MiB", kib_as_mib(small_kib)),
    );
    figures.tell(
        "peak resident, 100,000 events",
        &format!("{:.1} MiB", kib_as_mib(large_kib)),
    );
    figures.judge(
        "peak of ten times the events",
        &format!("{growth:+.1} MiB"),
        "<= 8 MiB",
        growth <= GROWTH_MIB,
    );
    Ok(())
}

impl Home {
    fn make(programs: &Programs, events: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(&programs.scratch)?;
        let root = folder.path().join("sessions");
        let found = probe(programs, "fill-one", &[&root, folder.path(), Path::new(events)])?;
        let text = |name: &str| found[name].as_str().with_context(|| format!("there is no {name}"));
        Ok(Self {
            session: text("id")?.to_owned(),
            log: text("log")?.into(),
            events: number(&found, "events")?,
            disk_over_json: number(&found, "disk_bytes")? / number(&found, "json_bytes")?,
            folder,
        })
    }

    /// Loads the session in an agent that has just started.
    fn load(&self, programs: &Programs) -> anyhow::Result<Load> {
        let mut daemon = Daemon::spawn_in(&programs.weft, self.folder.path(), "return 1;")?;
        let params = json!({"sessionId": self.session, "cwd": self.folder.path(), "mcpServers": []});
        let started = Instant::now();
        let id = daemon.send("session/load", &params)?;
        let (mut first, mut frames) = (None, 0);
        let answer = daemon.frames_until(id, || {
            first.get_or_insert_with(|| started.elapsed());
            frames += 1;
        });
        let last = started.elapsed();
        answer?;
        Ok(Load {
            first: first.context("nothing was replayed")?,
            last,
            frames,
            peak_kib: daemon.memory("VmHWM")?,
        })
    }
}
