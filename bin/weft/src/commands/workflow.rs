//! `weft workflow`: saved workflows, listed, shown, checked and run, and runs that are taken up again.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::Value;
use weft_workflow::SavedWorkflowError;

use crate::args::{ExecArgs, HeadlessArgs, WorkflowArgs, WorkflowCommand};
use crate::config::{Config, Home, Overrides};
use crate::prompt::{FileText, read_text};
use crate::workflows::{MAX_BYTES, Standing, Workflows};

mod check;
mod list;
mod resume;
mod run;
mod runs;
mod show;

/// The exit code of wrong usage.
const USAGE: u8 = 2;

/// Does what was asked for.
pub(crate) fn run(args: WorkflowArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        WorkflowCommand::List(args) => list::run(&args),
        WorkflowCommand::Show(args) => show::run(&args),
        WorkflowCommand::Check(args) => check::run(&args),
        WorkflowCommand::Run(args) => run::run(&args),
        WorkflowCommand::Resume(args) => resume::run(&args),
        WorkflowCommand::Runs(args) => runs::run(&args),
    }
}

/// The configuration of the user, and the workflows of a folder.
fn surroundings(folder: &Path) -> anyhow::Result<(Config, Workflows)> {
    let folder = (folder.canonicalize()).with_context(|| format!("failed to find the folder {}", folder.display()))?;
    let config = Config::load(&Home::find()?.config, &Overrides::default())?.for_project(&folder)?;
    let workflows = Workflows::of(&config, &folder);
    Ok((config, workflows))
}

/// Reads a script that the command line names.
fn read_script(path: &Path) -> anyhow::Result<String> {
    let problem = match read_text(path, None, MAX_BYTES) {
        FileText::Text(text, 0) => return Ok(text),
        FileText::Text(..) => format!("it has more than {MAX_BYTES} bytes"),
        FileText::Absent => "there is no such file".to_owned(),
        FileText::Unreadable(reason) => reason,
    };
    anyhow::bail!("failed to read {}: {problem}", path.display())
}

/// What `--args` says, or why it says nothing.
fn script_args(given: &str) -> Result<Value, String> {
    serde_json::from_str(given)
        .map_err(|error| format!("--args is no JSON: {error}\nhint: a text stands in quotes: --args '\"a text\"'"))
}

/// The same for a turn.
fn exec_args(args: &HeadlessArgs) -> ExecArgs {
    ExecArgs {
        add_dir: args.add_dir.clone(),
        model: args.model.clone(),
        mode: args.mode.clone(),
        allow: args.allow.clone(),
        deny: args.deny.clone(),
        timeout: args.timeout,
        json: args.json,
        ..ExecArgs::default()
    }
}

/// A workflow that the command line names.
enum Named {
    /// A file, by its path.
    File { path: PathBuf, script: String },
    /// A saved one.
    Saved(crate::workflows::Found, String),
}

impl Named {
    /// Finds it: what ends in `.js` is a file, all else the name of a saved one.
    fn find(workflows: &Workflows, given: &str) -> anyhow::Result<Self> {
        let path = Path::new(given);
        if path.extension().is_some_and(|extension| extension == "js") {
            let (path, script) = (path.to_owned(), read_script(path)?);
            return Ok(Self::File { path, script });
        }
        match workflows.find(given) {
            Some((found, script)) => Ok(Self::Saved(found, script)),
            None => {
                let names = workflows.all().into_iter().map(|found| found.name);
                let mut names: Vec<String> = names.collect();
                names.dedup();
                Err(SavedWorkflowError::unknown(given, names).into())
            }
        }
    }

    fn script(&self) -> &str {
        match self {
            Self::File { script, .. } | Self::Saved(_, script) => script,
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } => path,
            Self::Saved(found, _) => &found.path,
        }
    }

    /// Why it cannot be run, as far as its place tells.
    fn obstacle(&self) -> Option<&str> {
        match self {
            Self::File { .. } => None,
            Self::Saved(found, _) => match &found.standing {
                Standing::Usable(_) | Standing::Hidden(_) => None,
                Standing::Untrusted(_) => Some(UNTRUSTED),
                Standing::Broken(reason) => Some(reason),
            },
        }
    }
}

const UNTRUSTED: &str = "it comes with the project, and you have not said that you trust it as it is (weft trust)";
