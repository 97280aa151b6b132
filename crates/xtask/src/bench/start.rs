//! Start-up: time to the first answer, memory of an idle session.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::Programs;
use super::daemon::Daemon;
use super::figures::{Figures, median, ms};
use crate::command;

const ROUNDS: usize = 20;

/// Spawn to the answer of `initialize`, against a program that does nothing else.
pub(crate) fn start(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("start: spawn to the answer of `initialize`, {ROUNDS} rounds, median");
    let home = tempfile::tempdir()?;
    let (mut weft, mut least) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut command = command::program(&programs.weft);
        weft.push(first_answer(command.arg("acp").env("WEFT_HOME", home.path()))?);
        let mut command = command::program(&programs.probe);
        least.push(first_answer(command.arg("initialize"))?);
    }
    let (weft, least) = (median(weft), median(least));
    let ratio = weft.as_secs_f64() / least.as_secs_f64();
    figures.tell("minimal process", &ms(least));
    figures.judge("weft acp", &ms(weft), "< 15 ms", weft < Duration::from_millis(15));
    figures.judge("ratio", &format!("{ratio:.2}"), "<= 3", ratio <= 3.0);
    Ok(())
}

fn first_answer(command: &mut Command) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n";
    stdin.write_all(request.as_bytes())?;
    stdin.flush()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut line)?;
    let took = started.elapsed();
    anyhow::ensure!(line.contains("\"result\""), "no answer to `initialize`: {line}");
    drop(stdin);
    child.wait()?;
    Ok(took)
}

/// Resident memory after `session/new`.
pub(crate) fn memory(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("memory: resident after `session/new`");
    let mut daemon = Daemon::spawn(&programs.weft, "return 1;")?;
    daemon.session()?;
    let mib = kib_as_mib(daemon.memory("VmRSS")?);
    figures.judge("weft acp", &format!("{mib:.1} MiB"), "<= 15 MiB", mib <= 15.0);
    Ok(())
}

/// KiB as MiB.
pub(crate) fn kib_as_mib(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1024.0
}
