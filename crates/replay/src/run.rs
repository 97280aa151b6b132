//! Plays a scenario against the real agent and judges what came of it.

mod expected;
mod failure;
mod home;
mod logs;
mod missed;
mod player;
mod reload;
mod signal;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod verify;

use std::path::{Path, PathBuf};

pub use failure::{Failure, StepError};
use home::Home;
use logs::{LogFile, read_logs};
use player::{End, Player};
use reload::reload;
use verify::verify;

use crate::scenario::Scenario;
use crate::{Normalised, SessionLog, normalise, t_check};

/// What is done with the outcome of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// It must equal the files in the folder.
    Expect,
    /// It becomes the files in the folder, if nothing else failed. Refused where the variable `CI` is
    /// set to anything.
    Bless,
}

/// What came of one scenario.
#[derive(Debug)]
pub struct Report {
    /// The scenario's name: that of its folder.
    pub name: String,
    /// What failed, in order; empty if all is well.
    pub failures: Vec<Failure>,
    /// The files that were written because their content changed.
    pub written: Vec<PathBuf>,
}

impl Report {
    /// Whether nothing failed.
    pub fn is_ok(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Plays the scenario in `dir` against the binary `weft`, which is an absolute path or is found in
/// `PATH`, and compares transcript and logs with those in the folder, or writes them there.
///
/// The agent runs in fresh folders with an environment of its own, and nothing of it is left when this
/// returns, nor when the future is dropped. Must be called within a tokio runtime with time and I/O.
pub async fn run_scenario(weft: &Path, dir: &Path, compare: Compare) -> Report {
    run(weft, dir, compare, std::env::var_os("CI").is_some()).await
}

async fn run(weft: &Path, dir: &Path, compare: Compare, in_ci: bool) -> Report {
    let mut report = Report {
        name: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        failures: Vec::new(),
        written: Vec::new(),
    };
    if compare == Compare::Bless && in_ci {
        report.failures.push(Failure::BlessInCi);
        return report;
    }
    match Scenario::load(dir) {
        Ok(scenario) => {
            report.name.clone_from(&scenario.name);
            if let Err(failure) = judge(weft, &scenario, compare, &mut report).await {
                report.failures.push(failure);
            }
        }
        Err(error) => report.failures.push(error.into()),
    }
    report
}

/// Plays a scenario and files what failed; an `Err` is a failure that makes the rest moot.
async fn judge(weft: &Path, scenario: &Scenario, compare: Compare, report: &mut Report) -> Result<(), Failure> {
    let home = Home::make(scenario)?;
    let mut facts = home.facts(scenario);
    facts.show_header = scenario.script.show_header;
    let (agent, cwd) = (home.agent(weft), home.cwd());
    let mut player = Player::start(agent.clone(), &cwd).map_err(Failure::Agent)?;
    let played = play(scenario, &mut player, &mut report.failures).await;
    let rows = player.rows();
    drop(player);
    report
        .failures
        .extend(t_check(&rows).into_iter().map(Failure::Violation));
    if let Err(failure) = played {
        return Err(failure.after(&normalise(&rows, &[], &facts).transcript));
    }
    let files = read_logs(&home.sessions())?;
    let logs: Vec<SessionLog> = files.iter().map(LogFile::parse).collect::<Result<_, _>>()?;
    let ids: Vec<_> = logs.iter().map(|log| log.id.as_str()).collect();
    report.failures.extend(verify(home.command(weft), &ids).await?);
    let loaded = reload(&agent, &home, &scenario.script.capabilities(), &rows).await?;
    report.failures.extend(loaded);
    if read_logs(&home.sessions())? != files {
        report.failures.extend(verify(home.command(weft), &ids).await?);
    }
    settle(scenario, &normalise(&rows, &logs, &facts), compare, report)
}

/// Plays the steps, asks what the scripted model missed, and sees the agent end.
async fn play(scenario: &Scenario, player: &mut Player<'_>, failures: &mut Vec<Failure>) -> Result<(), Failure> {
    for (at, step) in scenario.script.steps.iter().enumerate() {
        player.step(&step.action).await.map_err(|source| Failure::Step {
            number: at + 1,
            line: step.line,
            name: step.action.name(),
            source: Box::new(source),
            transcript: String::new(),
        })?;
    }
    let (ends, missed) = player.finish().await.map_err(Failure::Agent)?;
    failures.extend(missed.failures());
    for End { expected, finished } in ends {
        if finished.exit != expected {
            failures.push(Failure::Exit {
                found: finished.exit,
                expected,
                stderr: finished.stderr,
            });
        }
        if finished.survivors {
            failures.push(Failure::Survivors);
        }
    }
    Ok(())
}

fn settle(scenario: &Scenario, found: &Normalised, compare: Compare, report: &mut Report) -> Result<(), Failure> {
    let files = [("transcript.jsonl", &found.transcript), ("log.jsonl", &found.log)];
    for (name, lines) in files {
        let path = scenario.dir.join(name);
        match compare {
            Compare::Expect => report.failures.extend(expected::compare(&path, lines)?),
            Compare::Bless if report.failures.is_empty() => report.written.extend(expected::write(&path, lines)?),
            Compare::Bless => {}
        }
    }
    Ok(())
}
