//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

mod sessions;

pub(crate) use sessions::{
    DeleteArgs, ExportArgs, ImportArgs, ListArgs, SessionsArgs, SessionsCommand, ShowArgs, VerifyArgs,
};

/// A coding agent for your editor that shows its workflows live in the tool card.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  weft demo             a workflow, live in this terminal
  weft acp              what an editor spawns
  weft sessions list    the sessions that there are

Exit codes: 0 done, 1 failed (the reason is on stderr), 2 wrong usage,
128 + N ended by signal N.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs the agent on stdin and stdout, for an editor to spawn.
    Acp(AcpArgs),
    /// Shows a workflow running, live, in this terminal. Needs no key and no network.
    Demo(DemoArgs),
    /// Replays scenarios against the real agent and compares what they leave behind.
    Replay(ReplayArgs),
    /// Lists, shows, moves, checks and deletes sessions.
    Sessions(SessionsArgs),
    /// Runs one workflow script for the agent that spawned it.
    #[command(hide = true)]
    Worker,
    /// Prints a generated part of the documentation.
    #[command(hide = true)]
    Docs(DocsArgs),
}

/// `weft acp`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weft acp                                   what an editor spawns
  weft acp --model deepseek/deepseek-chat    with another model
  WEFT_LOG=debug weft acp 2>weft.log         with its log on stderr")]
pub(crate) struct AcpArgs {
    /// The model to use, `provider/model`.
    #[arg(long, env = "WEFT_MODEL")]
    pub(crate) model: Option<String>,
    /// What tools may do without a question: `plan`, `ask`, `accept-edits` or `full`.
    #[arg(long, env = "WEFT_MODE")]
    pub(crate) mode: Option<String>,
}

/// `weft demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Prints plain lines, as into a pipe, even when stdout is a terminal. So does NO_COLOR.
    #[arg(long)]
    pub(crate) plain: bool,
}

/// `weft replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weft replay fixtures/*             compares each with its transcript and log
  weft replay --bless fixtures/new   writes them anew; review the difference")]
pub(crate) struct ReplayArgs {
    /// Scenario folders.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) scenarios: Vec<PathBuf>,
    /// Writes the transcripts and logs instead of comparing them. Refused where CI is set.
    #[arg(long)]
    pub(crate) bless: bool,
}

/// `weft docs`.
#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// Which part.
    #[arg(value_enum)]
    pub(crate) part: DocsPart,
}

/// The generated parts of the documentation.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum DocsPart {
    /// Settings, defaults and ranges.
    Configuration,
    /// Tools as the model sees them.
    Tools,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[track_caller]
    fn fits(command: &clap::Command) {
        let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in notes.lines() {
            assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
        }
        command.get_subcommands().for_each(fits);
    }

    #[test]
    fn what_is_said_below_the_options_fits_into_any_terminal() {
        fits(&Cli::command());
    }
}
