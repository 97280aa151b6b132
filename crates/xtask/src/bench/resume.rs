//! Taking a run up again: what answers cost that were paid for before.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use super::Programs;
use super::daemon::Daemon;
use super::figures::{Figures, median, ms};
use super::members::run_in;

const ROUNDS: usize = 3;
const MEMBERS: u32 = 1_000;

/// A finished run of 1,000 members on a model that takes 50 ms, resumed by another process, against the run itself.
pub(crate) fn resume(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("resume: a finished run of {MEMBERS} members, a model that takes 50 ms; median of {ROUNDS}");
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let home = Daemon::home()?;
        let script = format!(
            "return (await parallel(Array.from({{ length: {MEMBERS} }}, (_, i) => () => agent('m ' + i)))).length;"
        );
        fs::write(
            home.path().join("run.js"),
            format!("export const meta = {{ name: 'bench', description: 'bench' }};\n{script}\n"),
        )?;
        let mut daemon = Daemon::spawn_on(&programs.weft, home.path(), &model("script = { file = \"run.js\" }"))?;
        let session = daemon.session()?;
        first.push(run_in(&mut daemon, &session)?);
        drop(daemon);
        let run = run_of(home.path(), &session)?;
        let mut daemon = Daemon::spawn_on(&programs.weft, home.path(), &model(&format!("resume = \"{run}\"")))?;
        daemon.load(&session)?;
        again.push(run_in(&mut daemon, &session)?);
    }
    let (first, again) = (median(first), median(again));
    figures.tell("the run", &ms(first));
    figures.tell("each member again", &ms(again / MEMBERS));
    let share = again.as_secs_f64() / first.as_secs_f64();
    let told = format!("{}, {:.1} % of the run", ms(again), share * 1e2);
    figures.judge(
        "the resumed run",
        &told,
        "<= 5 %",
        share <= 0.05 && again > Duration::ZERO,
    );
    Ok(())
}

/// A model that makes one call of the workflow tool, and whose members take their time.
fn model(arguments: &str) -> String {
    format!(
        "[[reply]]\nrole = \"main\"\nstep = 1\ntimes = \"any\"\n[[reply.tool_call]]\nid = \"call\"\nname = \"workflow\"\n\
         arguments = {{ {arguments} }}\n[[reply]]\nrole = \"main\"\nstep = 2\ntimes = \"any\"\ntext = \"done\"\n\
         [[reply]]\nrole = \"subagent\"\ntimes = \"any\"\ndelay_ms = 50\ntext = \"ok\"\n"
    )
}

/// The one run of a session.
fn run_of(home: &Path, session: &str) -> anyhow::Result<String> {
    let folder = home.join("sessions").join(session).join("runs");
    let journal = fs::read_dir(&folder)?.next().context("the run has no journal")??;
    let name = journal.file_name().to_string_lossy().into_owned();
    Ok(name.trim_end_matches(".jsonl").to_owned())
}
