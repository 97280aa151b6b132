//! `weft sessions …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `weft sessions`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Where an ID is asked for, its beginning is enough as long as no other session
begins so; the sessions of a workflow's members stand back behind yours.
All of this works while another weft runs and writes. Sessions live in the
folder sessions below WEFT_HOME, or without that below the platform's folder for
data: ~/.local/share/weft/sessions on Linux.

Examples:
  weft sessions list                              all, the newest first
  weft sessions show 0198a5c2-7d31                a conversation, its workflows
  weft sessions export 0198a5c2-7d31 | jq .type   its log
  weft sessions verify                            whether every log is sound"
)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
    /// Prints JSON, for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// Lists sessions, the one that was used last first.
    List(ListArgs),
    /// Draws a conversation: texts, tool calls, and workflow runs with their phases and members.
    Show(ShowArgs),
    /// Writes a session as JSON Lines.
    Export(ExportArgs),
    /// Takes in a session that `export` wrote.
    Import(ImportArgs),
    /// Reads logs from end to end and says what is wrong with them.
    Verify(VerifyArgs),
    /// Deletes sessions, together with those of their subagents.
    Delete(DeleteArgs),
}

/// `weft sessions list`.
#[derive(Debug, Args)]
#[command(after_help = "\
With --json, one document: {\"sessions\": [{\"id\", \"title\", \"cwd\", \"parent\",
\"origin\", \"label\", \"createdAt\", \"updatedAt\", \"running\", \"blank\", \"damaged\"}],
\"nextCursor\"}. Times are milliseconds since 1970; what is not known is null.

Examples:
  weft sessions list --cwd .       those of this folder
  weft sessions list --json | jq -r '.sessions[] | select(.running) | .id'")]
pub(crate) struct ListArgs {
    /// Only sessions that work in this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Also those of subagents, and those in which nothing was said yet.
    #[arg(long)]
    pub(crate) all: bool,
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = Self::LIMIT, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) limit: u16,
    /// Goes on where an earlier list ended; it said with which text.
    #[arg(long, value_name = "TEXT")]
    pub(crate) cursor: Option<String>,
}

impl ListArgs {
    /// How many are listed where nothing is said of it.
    pub(crate) const LIMIT: u16 = 50;
}

/// `weft sessions show`.
#[derive(Debug, Args)]
#[command(after_help = "\
With --json, JSON Lines: the header, then one event a line, as `export` writes
them, and of a turn that a crash cut off also the events that the next opening
will close it with; with --follow each event as it happens. Without a terminal,
--follow prints each thing once it is over.

Examples:
  weft sessions show 0198a5c2-7d31 | less
  weft sessions show --follow 0198a5c2-7d31        what happens in it now")]
pub(crate) struct ShowArgs {
    /// The session.
    pub(crate) id: String,
    /// Goes on as long as the session is open in a running weft.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Shows all that the tools gave, however long it is.
    #[arg(long)]
    pub(crate) full: bool,
}

/// `weft sessions export`.
#[derive(Debug, Args)]
#[command(after_help = "\
The sessions of a workflow's members are exported by their own IDs. With --json
and --output, {\"id\", \"output\"}; on stdout it is JSON Lines with or without it.
Of a damaged session, what is sound is written to stdout, and the exit code is
1; with --output nothing is written.

Examples:
  weft sessions export 0198a5c2-7d31 --output session.jsonl
  weft sessions export 0198a5c2-7d31 | ssh elsewhere weft sessions import -")]
pub(crate) struct ExportArgs {
    /// The session.
    pub(crate) id: String,
    /// Writes a file instead of stdout; a file that is there already is replaced once all is written.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `weft sessions import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Everything is checked before anything is kept. A session that is there already
is refused. A session can only be taken up in its folder: after that was moved,
or on another machine, say where it is with --cwd.
Prints the session's id; with --json, {\"id\"}.")]
pub(crate) struct ImportArgs {
    /// What `export` wrote; `-` for stdin.
    pub(crate) file: PathBuf,
    /// Lets the session work in this folder from now on, instead of the one that it worked in.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

/// `weft sessions verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
With --json, a line for each session: {\"id\", \"sound\", \"turns\", \"events\",
\"bytes\", \"running\", \"openTurn\", \"tornTail\", \"debris\", \"damage\": {\"seq\", \"line\",
\"offset\", \"reason\"}}, or {\"id\", \"sound\", \"error\"} of one that cannot be read.

Exit codes: 0 all are sound, 1 some are damaged or cannot be read.")]
pub(crate) struct VerifyArgs {
    /// Sessions; all of them where none is named.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
}

/// `weft sessions delete`.
#[derive(Debug, Args)]
#[command(after_help = "\
Subagents' sessions go with the session that started them. A session that is
open in a running weft is refused, and so is one whose starter is open there.
Prints the ids of what was deleted; with --json, {\"deleted\": [ID]}.")]
pub(crate) struct DeleteArgs {
    /// Sessions.
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Does not ask. Nor is there a question where stdin is no terminal.
    #[arg(long, short)]
    pub(crate) yes: bool,
}
