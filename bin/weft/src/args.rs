//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

mod exec;
mod sessions;
mod workflow;

pub(crate) use exec::ExecArgs;
pub(crate) use sessions::{
    DeleteArgs, ExportArgs, ImportArgs, ListArgs, SessionsArgs, SessionsCommand, ShowArgs, VerifyArgs,
};
pub(crate) use workflow::{
    HeadlessArgs, WorkflowArgs, WorkflowCheckArgs, WorkflowCommand, WorkflowListArgs, WorkflowResumeArgs,
    WorkflowRunArgs, WorkflowRunsArgs, WorkflowShowArgs,
};

/// A coding agent for your editor that shows its workflows live in the tool card.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true, after_help = AFTER_HELP, max_term_width = 80)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  weft demo             a workflow, live in this terminal
  weft doctor           whether everything is in order
  weft acp              what an editor spawns
  weft exec 'Fix it'    one turn without an editor
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
    /// Runs one turn without an editor and prints the answer.
    Exec(Box<ExecArgs>),
    /// Lists, shows, checks and runs saved workflows.
    Workflow(WorkflowArgs),
    /// Lists, shows, moves, checks and deletes sessions.
    Sessions(SessionsArgs),
    /// Lets a project's own settings run programs and allow calls.
    Trust(TrustArgs),
    /// Checks configuration, model, store, tools and editors, and says how to mend each.
    Doctor(DoctorArgs),
    /// Prints or writes an editor's entry for weft.
    Setup(SetupArgs),
    /// Prints what a shell needs to complete commands and flags.
    Completions(CompletionsArgs),
    /// Lists the models that can be used, and what is known of them.
    Models(ModelsArgs),
    /// Runs one workflow script for the agent that spawned it.
    #[command(hide = true)]
    Worker,
    /// Gives up what commands may not do and becomes the command.
    #[command(hide = true)]
    ShellGuard(ShellGuardArgs),
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

/// `weft trust`.
#[derive(Debug, Args)]
#[command(after_help = "\
A project's .weft/config.toml may set what runs programs (mcp) and what is
allowed without a question (permissions.allow). None of that counts before you
have said yes, here, to exactly what it sets. A program that it names is run
as it then is: look at it as well if it comes with the project.

Examples:
  weft trust              shows what this folder's project sets, and asks
  weft trust --list       every project that is trusted, with what
  weft trust --revoke .   takes it back

Exit codes: 0 done, or nothing needs trust; 1 not trusted, or failed.")]
pub(crate) struct TrustArgs {
    /// The project's folder.
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Does not ask.
    #[arg(long, short, conflicts_with_all = ["revoke", "list"])]
    pub(crate) yes: bool,
    /// Trusts the project no longer.
    #[arg(long, conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// Lists the projects that are trusted, each with what it may set.
    #[arg(long)]
    pub(crate) list: bool,
}

/// `weft doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
One line for each check: ok, warn or fail, what was looked at, what was found,
and below what is not in order how to mend it. Nothing is changed.
With --json: {\"ok\", \"checks\": [{\"check\", \"status\", \"found\", \"mend\"}]}.

Examples:
  weft doctor                as weft would work in this folder
  weft doctor --online       asks the model as well; costs a few tokens

Exit codes: 0 nothing failed (there may be warnings), 1 something failed.")]
pub(crate) struct DoctorArgs {
    /// The project's folder.
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Sends the model one small request.
    #[arg(long)]
    pub(crate) online: bool,
    /// Prints one JSON document, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `weft setup`.
#[derive(Debug, Args)]
#[command(after_help = "\
Prints the entry to stdout, and to stderr where it belongs. With --write it is
put into the editor's settings, if those are plain JSON: a copy of the file is
kept beside it, and what is there stays. A file with comments is left alone.

Examples:
  weft setup zed --write
  weft setup codecompanion          for Neovim; put it into your configuration
  $(weft setup toad)                starts Toad with weft

Exit codes: 0 done, 1 nothing was written (the entry is printed), 2 wrong usage.")]
pub(crate) struct SetupArgs {
    /// Which editor.
    #[arg(value_enum)]
    pub(crate) editor: Editor,
    /// Puts the entry into the editor's settings; for zed and jetbrains.
    #[arg(long)]
    pub(crate) write: bool,
}

/// The editors that weft knows the settings of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Editor {
    /// Zed.
    Zed,
    /// The IDEs of JetBrains, with AI Assistant.
    Jetbrains,
    /// Neovim with CodeCompanion.
    Codecompanion,
    /// Neovim with avante.
    Avante,
    /// Emacs with agent-shell.
    AgentShell,
    /// Toad, in the terminal.
    Toad,
}

/// `weft completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weft completions bash > ~/.local/share/bash-completion/completions/weft
  weft completions fish > ~/.config/fish/completions/weft.fish
  weft completions zsh > ~/.zfunc/_weft    with ~/.zfunc in fpath")]
pub(crate) struct CompletionsArgs {
    /// Which shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// `weft shell-guard`.
#[derive(Debug, Args)]
pub(crate) struct ShellGuardArgs {
    /// What is given up, and the command.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) orders: Vec<std::ffi::OsString>,
}

/// `weft models`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weft models             contexts in tokens, prices for a million of them
  weft models --refresh   asks the providers what they have, and keeps it")]
pub(crate) struct ModelsArgs {
    /// Prints one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    /// Asks every provider for its models first; exit code 1 if one does not tell.
    #[arg(long)]
    pub(crate) refresh: bool,
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
    /// What a workflow script has.
    Script,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn every_help_text_fits_into_any_terminal() {
        fn check(command: &mut clap::Command) {
            let help = command.render_long_help().to_string();
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
            command.get_subcommands_mut().for_each(check);
        }
        let mut cli = Cli::command();
        cli.build();
        check(&mut cli);
    }
}
