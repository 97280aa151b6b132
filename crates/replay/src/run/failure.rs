//! How a scenario can fail.

use std::io;
use std::path::PathBuf;

use crate::{Exit, RpcError, ScenarioError, Violation, WireError};

/// One thing that is wrong with a scenario's outcome, or that kept it from having one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The scenario is not written as it must be.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A file could not be read or written.
    #[error("could not {what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The agent wrote a log that is none.
    #[error("{}:{line}: {problem}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The agent could not be started or ended.
    #[error(transparent)]
    Agent(WireError),
    /// A step could not be done.
    #[error("step {number} (client.toml:{line}, {name}): {source}{transcript}")]
    Step {
        /// The step, from 1.
        number: usize,
        /// Its line.
        line: usize,
        /// Its name.
        name: &'static str,
        /// Why.
        source: Box<StepError>,
        /// The end of the transcript up to there, each line after a newline.
        transcript: String,
    },
    /// The scripted model was not asked what its script expects.
    #[error("the scripted model has {what}:\n  {}", entries.join("\n  "))]
    Model {
        /// What it has.
        what: &'static str,
        /// Each of them.
        entries: Vec<String>,
    },
    /// The agent ended in another way.
    #[error("the agent ended with {found}, expected {expected}; its stderr ends:\n{stderr}")]
    Exit {
        /// How it ended.
        found: Exit,
        /// How it should have.
        expected: Exit,
        /// The end of its stderr.
        stderr: String,
    },
    /// Processes of the agent outlived it.
    #[error("processes of the agent's group outlived it and were killed")]
    Survivors,
    /// T-check found something.
    #[error("the transcript breaks a rule: {0}")]
    Violation(Violation),
    /// A log is not sound.
    #[error("verifying the logs failed: {0}")]
    Verify(String),
    /// A load does not show what was shown live.
    #[error("session {session}, loaded by a new agent: {problem}")]
    Reload {
        /// The session, by its number in the transcript.
        session: usize,
        /// What is different: which call and which field of it, or what else.
        problem: String,
    },
    /// T-check found something in what a load shows.
    #[error("what a load shows breaks a rule: {0}")]
    ReloadViolation(Violation),
    /// A load that had nothing to repair wrote into a log.
    #[error("a load has changed {}", path.display())]
    ReloadWrote {
        /// The log.
        path: PathBuf,
    },
    /// The outcome is another than the file says.
    #[error("{} differs:\n{diff}", path.display())]
    Differs {
        /// The file.
        path: PathBuf,
        /// From the file to the outcome.
        diff: String,
    },
    /// There is no file to compare with.
    #[error("{} does not exist; read the outcome after writing it with --bless", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Expected files were to be written where nobody reviews them.
    #[error("expected files are not written where CI is set")]
    BlessInCi,
}

impl Failure {
    /// Adds the end of the transcript to a failed step.
    pub(super) fn after(mut self, lines: &[String]) -> Self {
        const SHOWN: usize = 5;
        if let Self::Step { transcript, .. } = &mut self {
            let cut = |line: &String| line.chars().take(400).collect::<String>();
            for line in &lines[lines.len().saturating_sub(SHOWN)..] {
                transcript.push_str("\n  ");
                transcript.push_str(&cut(line));
            }
        }
        self
    }
}

/// Why a step could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The conversation broke off.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A request that should have had a result had an error.
    #[error("found the error {0}, expected a result")]
    Refused(RpcError),
    /// A result was not the expected one.
    #[error("found {found}, expected {expected}")]
    Unexpected {
        /// What the agent answered.
        found: String,
        /// What the step says.
        expected: String,
    },
    /// A file of the workspace could not be written.
    #[error("could not write {name}: {source}")]
    Write {
        /// The file.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// No process got a signal.
    #[error("could not signal the {target}: {problem}")]
    Signal {
        /// Who should have got it.
        target: &'static str,
        /// Why it did not.
        problem: String,
    },
}
