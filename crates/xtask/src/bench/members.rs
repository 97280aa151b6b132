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
fn run(daemon: &mut Daemon) -> anyhow::Result<Duration> {
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

/// 100 and 1,000 members with a model that answers at once, one by one and 16 at a time.
pub(crate) fn members(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    let ways = [
        ("one by one", "for (let i = 0; i < N; i++) await agent('m ' + i);"),
        (
            "16 at a time",
            "await parallel(Array.from({ length: N }, (_, i) => () => agent('m ' + i)));",
        ),
    ];
    for (way, body) in ways {
        println!("members: {way}, a model that answers at once, median of 3");
        let mut per_member = Vec::new();
        for count in [100_u32, 1_000] {
            let script = format!("const N = {count};\n{body}\nreturn N;");
            let (time, kib) = cost(programs, &script)?;
            let each = time / count;
            figures.tell(
                &format!("{count} members"),
                &format!(
                    "{:.3} ms each, peak {:.1} MiB",
                    each.as_secs_f64() * 1e3,
                    kib_as_mib(kib)
                ),
            );
            per_member.push((each, kib));
        }
        let growth = per_member[1].0.as_secs_f64() / per_member[0].0.as_secs_f64();
        figures.judge(
            "time each, 1,000 against 100",
            &format!("{growth:.2}"),
            "<= 1.3",
            growth <= 1.3,
        );
        let kib = per_member[1].1.saturating_sub(per_member[0].1) / 900;
        figures.judge(
            "memory of one more member",
            &format!("{kib} KiB"),
            "<= 64 KiB",
            kib <= 64,
        );
    }
    Ok(())
}

fn cost(programs: &Programs, script: &str) -> anyhow::Result<(Duration, u64)> {
    let (mut times, mut peak) = (Vec::new(), 0);
    for _ in 0..3 {
        let mut daemon = Daemon::spawn(&programs.weft, script)?;
        times.push(run(&mut daemon)?);
        peak = daemon.memory("VmHWM")?.max(peak);
    }
    Ok((median(times), peak))
}
