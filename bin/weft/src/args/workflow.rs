//! `weft workflow …`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

/// `weft workflow`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Saved workflows are files NAME.js: those of the project in .weft/workflows, yours
in the folder workflows below WEFT_HOME; .claude/workflows, in the project and in
your home, is read as well. Of several with one name the project's goes first.
What a project brings along counts once you trust it as it is: weft trust.

Examples:
  weft workflow list
  weft workflow check                      whether all of them can be run
  weft workflow run review --args '[\"src\"]'
  weft workflow run ./draft.js --mode accept-edits
  weft workflow resume RUN                 goes on with a run that was ended"
)]
pub(crate) struct WorkflowArgs {
    #[command(subcommand)]
    pub(crate) command: WorkflowCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Lists the saved workflows, and what keeps one from being run.
    List(WorkflowListArgs),
    /// Shows what a workflow says of itself, and its script.
    Show(WorkflowShowArgs),
    /// Says whether workflows can be run, without running them.
    Check(WorkflowCheckArgs),
    /// Runs a workflow in this folder and prints what it returns.
    Run(Box<WorkflowRunArgs>),
    /// Takes a run up again that did not come to its end, or with an edited script.
    Resume(Box<WorkflowResumeArgs>),
    /// Lists the runs that there were, the latest first.
    Runs(WorkflowRunsArgs),
}

/// `weft workflow list`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowListArgs {
    /// Prints one JSON document: {"workflows": [{"name", "owner", "path", "state", "description", "reason"}]}.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `weft workflow runs`.
#[derive(Debug, Args)]
#[command(after_help = "\
With --json, one document: {\"runs\": [{\"run\", \"name\", \"status\", \"agentsStarted\",
\"agentsCompleted\", \"session\", \"updatedAt\"}]}. A status is running, completed,
failed, cancelled or interrupted; all but the first can be resumed.

Examples:
  weft workflow runs
  weft workflow resume \"$(weft workflow runs --json | jq -r '.runs[0].run')\"")]
pub(crate) struct WorkflowRunsArgs {
    /// Those of every folder, not of the current one alone.
    #[arg(long)]
    pub(crate) all: bool,
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Prints JSON, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `weft workflow show`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowShowArgs {
    /// A saved workflow's name, or a file ending in `.js`.
    pub(crate) workflow: String,
    /// Prints one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `weft workflow check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each script is read and parsed as for a run, and nothing of it is run.

Exit codes: 0 all can be run, 1 one cannot.")]
pub(crate) struct WorkflowCheckArgs {
    /// Names of saved workflows, or files ending in `.js`; all saved ones without any.
    pub(crate) workflows: Vec<String>,
}

/// `weft workflow run`.
#[derive(Debug, Args)]
#[command(after_help = "\
What the script returns goes to stdout: a text as it is, anything else as JSON.
Progress goes to stderr. No model is asked but by the workflow's agents. Nobody
is asked anything: what an agent does that would need a question is denied.
The run is kept in a session like any other: weft sessions list shows it.

With --json, JSON Lines as of weft exec: the session's header, each event of its
log, and last {\"type\": \"result\", \"data\": {\"session\", \"exitCode\", \"reason\",
\"run\", \"output\", \"notes\", \"denied\", …}}.

Examples:
  weft workflow run review --args '{\"files\": [\"a.rs\"]}'
  weft workflow run ./draft.js --model deepseek/deepseek-chat --timeout 1h
  weft workflow run review --json | jq 'select(.type == \"result\").data.output'

Exit codes:
  0        the script returned
  1        failed: the run, its model, configuration, session or output
  2        wrong usage, or there is no such workflow
  124      not done within --timeout
  128 + N  ended by signal N, such as 130 by Ctrl-C
A run that did not come to its end says how to resume it.")]
pub(crate) struct WorkflowRunArgs {
    /// A saved workflow's name, or a file ending in `.js`.
    pub(crate) workflow: String,
    /// What the script sees as `args`: JSON, so that a text stands in quotes.
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// The folder to work in, instead of the current one.
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) cd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) headless: HeadlessArgs,
}

/// `weft workflow resume`.
#[derive(Debug, Args)]
#[command(after_help = "\
The script of a run that failed, was cancelled or died is run again, in the
session and the folder that it belongs to. What its agents had answered is taken
from their own sessions; only the others work. The run's id is in its card, in
its result and below what ended it. Output and exit codes are those of
weft workflow run.

Examples:
  weft workflow resume 0198a5c2-7e1b-7c55-9d34-3f6f0f3c1a2b
  weft workflow resume 0198a5c2-7e1b-7c55-9d34-3f6f0f3c1a2b --rerun 'Sum up'
  weft workflow resume 0198a5c2-7e1b-7c55-9d34-3f6f0f3c1a2b --script mended.js")]
pub(crate) struct WorkflowResumeArgs {
    /// The run's id.
    pub(crate) run: String,
    /// A label or a phase whose agents work again though they had answered; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) rerun: Vec<String>,
    /// Runs the script in this file instead of the run's own.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// What the script sees as `args` instead of what the run had: JSON, so that a text stands in quotes.
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    #[command(flatten)]
    pub(crate) headless: HeadlessArgs,
}

/// What a run may do while nobody can be asked, and how it is shown.
#[derive(Debug, Args)]
pub(crate) struct HeadlessArgs {
    /// A further folder to work in; may be given several times.
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// The model of agents that name none, `provider/model`.
    #[arg(long, env = "WEFT_MODEL")]
    pub(crate) model: Option<String>,
    /// What tools may do without a question: `plan`, `ask`, `accept-edits` or `full`.
    #[arg(long, env = "WEFT_MODE")]
    pub(crate) mode: Option<String>,
    /// Allows calls without a question, such as `bash(git diff *)`; may be given several times.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Denies calls whatever the mode is, such as `read(secrets/**)`; may be given several times.
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// The most time that it may take, such as `90s` or `2h`.
    #[arg(long, value_name = "TIME", value_parser = super::exec::time)]
    pub(crate) timeout: Option<Duration>,
    /// Prints what happens as JSON Lines instead of what the script returns.
    #[arg(long)]
    pub(crate) json: bool,
}
