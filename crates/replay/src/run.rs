//! Plays a scenario against the real agent and judges what came of it.

mod expected;
mod failure;
mod home;
mod player;
mod signal;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use failure::{Failure, StepError};
use home::Home;
use player::Player;

use crate::normalise::HARNESS;
use crate::scenario::Scenario;
use crate::{Normalised, WireClient, normalise, t_check};

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
    let mut client = WireClient::spawn(&home.command(weft)).map_err(Failure::Agent)?;
    let played = play(scenario, &home, &mut client, &mut report.failures).await;
    let rows = client.rows().to_vec();
    drop(client);
    report
        .failures
        .extend(t_check(&rows).into_iter().map(Failure::Violation));
    if let Err(failure) = played {
        return Err(failure.after(&normalise(&rows, &[], &facts).transcript));
    }
    let found = normalise(&rows, &home.logs()?, &facts);
    settle(scenario, &found, compare, report)
}

/// Plays the steps, asks what the scripted model missed, and sees the agent end.
async fn play(
    scenario: &Scenario,
    home: &Home,
    client: &mut WireClient,
    failures: &mut Vec<Failure>,
) -> Result<(), Failure> {
    let cwd = home.cwd();
    let mut player = Player::new(client, &cwd);
    for (at, step) in scenario.script.steps.iter().enumerate() {
        player.step(&step.action).await.map_err(|source| Failure::Step {
            number: at + 1,
            line: step.line,
            name: step.action.name(),
            source: Box::new(source),
            transcript: String::new(),
        })?;
    }
    let (expected, ended) = player.exit();
    if client.is_writable() {
        failures.extend(leftovers(client).await?);
    }
    let finished = match ended {
        Some(finished) => finished,
        None => client.finish().await.map_err(Failure::Agent)?,
    };
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
    Ok(())
}

/// What the scripted model reports.
async fn leftovers(client: &mut WireClient) -> Result<Vec<Failure>, Failure> {
    let report = client.request(&format!("{HARNESS}report"), json!({})).await;
    let report = report.map_err(Failure::Agent)?;
    let of = |key: &str, what: &'static str| {
        let entries = report[key].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |entry: &Value| entry.as_str().map_or_else(|| entry.to_string(), str::to_owned);
        let entries: Vec<_> = entries.iter().map(text).collect();
        (!entries.is_empty()).then_some(Failure::Model { what, entries })
    };
    let found = [
        of("unused", "replies that were not used"),
        of("unknown", "requests without a reply"),
        of("unmatchedGates", "gates without their counterpart"),
    ];
    Ok(found.into_iter().flatten().collect())
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
