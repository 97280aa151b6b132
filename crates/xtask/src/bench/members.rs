//! Workers and members: what a run costs, and that the cost grows with the work.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::Programs;
use super::daemon::Daemon;
use super::figures::{Figures, median, ms};
use super::start::kib_as_mib;

/// A whole run of `return 1`: spawn, run, reap.
pub(crate) fn worker(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("worker: a run of `return 1`, from the card's first to its last line, median of 10");
    let mut times = Vec::new();
    for _ in 0..10 {
        times.push(run(&mut Daemon::spawn(&programs.weft, "return 1;")?)?);
    }
    let took = median(times);
    figures.judge(
        "spawn, run, reap",
        &ms(took),
        "< 20 ms",
        took < Duration::from_millis(20),
    );
    Ok(())
}

/// The time from a card's first to its last line.
pub(crate) fn run(daemon: &mut Daemon) -> anyhow::Result<Duration> {
    let session = daemon.session()?;
    run_in(daemon, &session)
}

/// The same in an open session.
pub(crate) fn run_in(daemon: &mut Daemon, session: &str) -> anyhow::Result<Duration> {
    let (mut first, mut last): (Option<Instant>, Option<Instant>) = (None, None);
    let mut failed = None;
    daemon.turn_in(session, |line| {
        if line.is_call() {
            first = Some(line.at);
        } else if line.is_final() {
            last = Some(line.at);
            failed = line.text.contains("\"status\":\"failed\"").then(|| line.text.clone());
        }
    })?;
    anyhow::ensure!(failed.is_none(), "the run failed: {}", failed.unwrap_or_default());
    Ok(last.context("no final card")? - first.context("no card")?)
}

/// How many members the measured runs have, and how often each is run.
const COUNTS: [(u32, usize); 3] = [(100, 3), (1_000, 3), (10_000, 1)];

/// 100, 1,000 and 10,000 members with a model that answers at once, one by one and 16 at a time.
pub(crate) fn members(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    let ways = [
        ("one by one", "for (let i = 0; i < N; i++) await agent('m ' + i);"),
        (
            "16 at a time",
            "await parallel(Array.from({ length: N }, (_, i) => () => agent('m ' + i)));",
        ),
    ];
    for (way, body) in ways {
        println!("members: {way}, a model that answers at once, median of 3, of the largest run 1");
        let mut costs = Vec::new();
        for (count, rounds) in COUNTS {
            let script = format!("const N = {count};\n{body}\nreturn N;");
            let (time, kib) = cost(programs, &script, rounds)?;
            let each = time / count;
            figures.tell(
                &format!("{count} members"),
                &format!(
                    "{:.3} ms each, peak {:.1} MiB",
                    each.as_secs_f64() * 1e3,
                    kib_as_mib(kib)
                ),
            );
            costs.push((each.as_secs_f64(), kib));
        }
        for (larger, budget) in [(1, 1.3), (2, 1.5)] {
            let growth = costs[larger].0 / costs[0].0;
            figures.judge(
                &format!("time each, {} against {}", COUNTS[larger].0, COUNTS[0].0),
                &format!("{growth:.2}"),
                &format!("<= {budget}"),
                growth <= budget,
            );
            let kib = costs[larger].1.saturating_sub(costs[0].1) / u64::from(COUNTS[larger].0 - COUNTS[0].0);
            figures.judge(
                &format!("memory of one more member, to {}", COUNTS[larger].0),
                &format!("{kib} KiB"),
                "<= 64 KiB",
                kib <= 64,
            );
        }
    }
    Ok(())
}

fn cost(programs: &Programs, script: &str, rounds: usize) -> anyhow::Result<(Duration, u64)> {
    let (mut times, mut peak) = (Vec::new(), 0);
    for _ in 0..rounds {
        let mut daemon = Daemon::spawn(&programs.weft, script)?;
        times.push(run(&mut daemon)?);
        peak = daemon.memory("VmHWM")?.max(peak);
    }
    Ok((median(times), peak))
}
