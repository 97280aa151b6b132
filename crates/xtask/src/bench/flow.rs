//! Progress on its way out: how much, how late, and with a client that does not read.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::json;

use super::Programs;
use super::daemon::{Daemon, is_answer};
use super::figures::{Figures, median, ms};
use super::members::run;
use super::start::kib_as_mib;
use crate::command;

const REPORTS: u32 = 100_000;
/// Lines whose latency is measured.
const LINES: u32 = 200;

fn flood(reports: u32) -> String {
    format!("for (let i = 0; i < {reports}; i++) phase('phase ' + (i % 1000));\nreturn {reports};")
}

/// One flood: how many updates and bytes of them, and how many a second each way.
struct Flood {
    updates: usize,
    bytes: usize,
    weft: f64,
    bare: f64,
}

/// Reports a second through the whole agent, against a bare writer of the same bytes.
pub(crate) fn throughput(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("throughput: progress updates to a reader, every report sent; the middle of three ratios");
    let mut floods = vec![Flood::take(programs)?, Flood::take(programs)?, Flood::take(programs)?];
    floods.sort_unstable_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let flood = floods.swap_remove(1);
    let Flood { updates, bytes, .. } = flood;
    figures.tell("updates", &format!("{updates} of {REPORTS} reports, {bytes} bytes"));
    figures.tell("weft acp", &format!("{:.0} updates/s", flood.weft));
    figures.tell("bare writer of the same bytes", &format!("{:.0} lines/s", flood.bare));
    let ratio = flood.ratio();
    figures.judge("ratio", &format!("{:.0} %", 100.0 * ratio), ">= 25 %", ratio >= 0.25);
    Ok(())
}

impl Flood {
    fn take(programs: &Programs) -> anyhow::Result<Self> {
        let mut lines = Vec::new();
        let (mut first, mut last) = (None, None);
        let mut daemon = Daemon::spawn(&programs.weft, &flood(REPORTS))?;
        daemon.turn(|line| {
            if line.is_progress() {
                first = first.or(Some(line.at));
                last = Some(line.at);
                lines.push(line.text.clone());
            }
        })?;
        drop(daemon);
        let took = last.context("no progress")? - first.context("no progress")?;
        Ok(Self {
            updates: lines.len(),
            bytes: lines.iter().map(String::len).sum(),
            weft: rate(lines.len(), took),
            bare: bare_rate(programs, &lines)?,
        })
    }

    fn ratio(&self) -> f64 {
        self.weft / self.bare
    }
}

fn rate(count: usize, took: Duration) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / took.as_secs_f64()
}

/// The rate at which the same reader takes the same lines from a program that only writes them.
fn bare_rate(programs: &Programs, lines: &[String]) -> anyhow::Result<f64> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(lines.concat().as_bytes())?;
    let mut command = command::program(&programs.probe);
    command.arg("write").arg(file.path()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut reader = BufReader::with_capacity(1 << 16, child.stdout.take().context("no stdout")?);
    let (mut first, mut last, mut count) = (None, None, 0);
    let mut kept = Vec::new();
    loop {
        let mut text = String::new();
        if reader.read_line(&mut text)? == 0 {
            break;
        }
        let now = Instant::now();
        first = first.or(Some(now));
        last = Some(now);
        count += 1;
        // The same work as on the other side.
        if text.contains("\"tool_call_update\"") && text.contains("\"in_progress\"") {
            kept.push(text);
        }
    }
    child.wait()?;
    Ok(rate(
        count,
        last.context("nothing written")? - first.context("nothing written")?,
    ))
}

/// From opening a member's gate to the frame of the line that the script logs next. A script has no clock, so the client's
/// measures all of this: the gate, the member's end, the script, and the report, which by itself is faster.
pub(crate) fn latency(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("latency: a member's gate is opened, its script logs a line, the frame is there; {LINES} lines");
    let home = Daemon::home()?;
    let mut daemon = Daemon::spawn_on(&programs.weft, home.path(), &gated()?)?;
    let session = daemon.session()?;
    let prompt = daemon.prompt(&session)?;
    let mut late = Vec::new();
    for number in 0..LINES {
        let gate = json!({"gate": format!("m{number}")});
        daemon.request("_weft/scripted/gate/wait", &gate)?;
        let opened = Instant::now();
        daemon.send("_weft/scripted/gate/open", &gate)?;
        let wanted = format!("Latest: line {number}.");
        loop {
            let line = daemon.line()?;
            anyhow::ensure!(!is_answer(&line, prompt), "the turn ended before line {number}");
            if line.text.contains(&wanted) {
                late.push(line.at - opened);
                break;
            }
        }
    }
    daemon.frames_until(prompt, || {})?;
    let took = median(late);
    figures.judge("median", &ms(took), "< 2 ms", took < Duration::from_millis(2));
    Ok(())
}

/// A model that calls a workflow whose members answer when their gates are opened.
fn gated() -> anyhow::Result<String> {
    let script = format!(
        "export const meta = {{ name: 'bench', description: 'bench' }};\n\
         for (let i = 0; i < {LINES}; i++) {{ await agent('go', {{ label: 'm' + i }}); log('line ' + i + '.'); }}\n\
         return 1;\n"
    );
    let mut model = format!(
        "[[reply]]\nrole = \"main\"\nstep = 1\n[[reply.tool_call]]\nid = \"call\"\nname = \"workflow\"\n\
         arguments = {{ script = {script:?} }}\n[[reply]]\nrole = \"main\"\nstep = 2\ntext = \"done\"\n"
    );
    for number in 0..LINES {
        writeln!(
            model,
            "[[reply]]\nlabel = \"m{number}\"\ngate = \"m{number}\"\ntext = \"ok\""
        )?;
    }
    Ok(model)
}

/// 10,000 log lines, from the card's first to its last line.
pub(crate) fn log(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    const LOGGED: u32 = 10_000;
    println!("log: {LOGGED} log lines from the script to the client, median of 3; against a script that is silent");
    let (mut loud, mut silent) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        loud.push(run(&mut Daemon::spawn(&programs.weft, &logging(LOGGED))?)?);
        silent.push(run(&mut Daemon::spawn(&programs.weft, &logging(0))?)?);
    }
    let (loud, silent) = (median(loud), median(silent));
    let each = loud.saturating_sub(silent) / LOGGED;
    figures.tell("a silent script", &ms(silent));
    figures.judge("all of it", &ms(loud), "< 1 s", loud < Duration::from_secs(1));
    figures.tell("a line", &format!("{:.1} µs", each.as_secs_f64() * 1e6));
    Ok(())
}

fn logging(lines: u32) -> String {
    format!("for (let i = 0; i < {lines}; i++) log('line ' + i);\nreturn {lines};")
}

/// A client that does not read for ten seconds while reports pour in.
pub(crate) fn stall(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("stall: a client that does not read for 10 s under full load");
    // The documented bound: the outbox (1 MiB by default) and what a run needs, over an idle session.
    const BOUND_MIB: f64 = 48.0;
    let mut daemon = Daemon::spawn(&programs.weft, &flood(2_000_000))?;
    let session = daemon.session()?;
    let id = daemon.prompt(&session)?;
    let (until, mut peak) = (Instant::now() + Duration::from_secs(10), 0);
    while Instant::now() < until {
        peak = daemon.memory("VmRSS")?.max(peak);
        std::thread::sleep(Duration::from_millis(50));
    }
    let (mut last_card, mut updates) = (false, 0_u32);
    loop {
        let line = daemon.line()?;
        if is_answer(&line, id) {
            break;
        }
        updates += u32::from(line.is_progress());
        last_card |= line.is_final();
    }
    let peak = kib_as_mib(peak);
    figures.judge(
        "resident while stalled",
        &format!("{peak:.1} MiB"),
        "<= 48 MiB",
        peak <= BOUND_MIB,
    );
    figures.tell("updates in the end", &updates.to_string());
    figures.judge(
        "the final card arrives",
        if last_card { "yes" } else { "no" },
        "yes",
        last_card,
    );
    Ok(())
}
