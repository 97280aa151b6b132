//! A command that prints much: how much of it goes to the client, how much is held, and how long it takes.

use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::Programs;
use super::daemon::{Daemon, is_answer};
use super::figures::{Figures, median, ms};
use super::start::kib_as_mib;
use crate::command;

const ROUNDS: usize = 5;
const PRINTED: u64 = 100 << 20;
/// Numbers, one a line: nothing to wait for but the printing.
const COMMAND: &str = "seq 100000000 | head -c 104857600";

const CONFIG: &str = "model = \"scripted/bench\"\nmode = \"full\"\n[providers.scripted]\nkind = \"scripted\"\n\
    script = \"model.toml\"\n";

/// One run of the command by an agent.
struct Run {
    took: Duration,
    wire_bytes: usize,
    idle_kib: u64,
    peak_kib: u64,
}

/// A command that prints 100 MiB, from the prompt to its answer, against the same command read from a pipe.
pub(crate) fn shell(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("shell: a command that prints 100 MiB, from the prompt to its answer, median of {ROUNDS}");
    let (mut least, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        least.push(alone()?);
        runs.push(Run::take(programs)?);
    }
    let (least, took) = (median(least), median(runs.iter().map(|run| run.took).collect()));
    figures.tell("the command alone, read from a pipe", &ms(least));
    figures.tell("through weft acp", &ms(took));
    let ratio = took.as_secs_f64() / least.as_secs_f64();
    figures.judge("ratio", &format!("{ratio:.2}"), "<= 1.5", ratio <= 1.5);
    let wire = runs.iter().map(|run| run.wire_bytes).max().unwrap_or_default();
    figures.judge(
        "to the client, all updates together",
        &format!("{} KiB", wire / 1024),
        "<= 1 MiB",
        wire <= 1 << 20,
    );
    let held = runs.iter().map(|run| run.peak_kib.saturating_sub(run.idle_kib)).max();
    let held = kib_as_mib(held.unwrap_or_default());
    figures.judge(
        "peak resident, over the idle session's",
        &format!("{held:.1} MiB"),
        "<= 8 MiB",
        held <= 8.0,
    );
    Ok(())
}

/// The least that running the command can take: its output is read and thrown away.
fn alone() -> anyhow::Result<Duration> {
    let started = Instant::now();
    let mut command = command::program("bash");
    let mut child = command.args(["-c", COMMAND]).stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().context("no stdout")?;
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
    loop {
        match output.read(&mut buffer)? {
            0 => break,
            read => bytes += read as u64,
        }
    }
    child.wait()?;
    let took = started.elapsed();
    anyhow::ensure!(bytes == PRINTED, "the command printed {bytes} bytes");
    Ok(took)
}

impl Run {
    fn take(programs: &Programs) -> anyhow::Result<Self> {
        let model = format!(
            "[[reply]]\nrole = \"main\"\nstep = 1\n[[reply.tool_call]]\nid = \"call\"\nname = \"bash\"\n\
             arguments = {{ command = \"{COMMAND}\" }}\n[[reply]]\nrole = \"main\"\nstep = 2\ntext = \"done\"\n"
        );
        let mut daemon = Daemon::spawn_with(&programs.weft, CONFIG, &model)?;
        let session = daemon.session()?;
        let idle_kib = daemon.memory("VmHWM")?;
        let started = Instant::now();
        let id = daemon.prompt(&session)?;
        let (mut wire_bytes, mut last) = (0, None);
        let took = loop {
            let line = daemon.line()?;
            wire_bytes += line.text.len();
            if is_answer(&line, id) {
                break started.elapsed();
            }
            if line.is_final() {
                last = Some(line.text);
            }
        };
        let last = last.context("no final card")?;
        // A command that was not run at all would be fast, too.
        anyhow::ensure!(
            last.contains("\"status\":\"completed\"") && last.contains("left out"),
            "the card does not show the end of a long output: {last}"
        );
        Ok(Self {
            took,
            wire_bytes,
            idle_kib,
            peak_kib: daemon.memory("VmHWM")?,
        })
    }
}
