//! `weft exec`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// `weft exec`.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
The answer goes to stdout, everything else to stderr. What is piped into stdin
is put below the prompt, or is the prompt where there is none or it is `-`.
Nobody is asked anything: a call that would need a question is denied, which
the model is told and you are on stderr; --mode and --allow say what needs none.
The session is kept like any other: weft sessions list shows it.

With --json, JSON Lines: the session's header, each event of its log as it
happens, and last {\"type\": \"result\", \"data\": {\"session\", \"exitCode\", \"reason\",
\"text\", \"output\", \"usage\", \"denied\", …}}. --partial adds {\"type\": \"delta\"} lines.

Examples:
  weft exec 'What does this project do?'
  git diff | weft exec 'Review this change' > review.md
  weft exec --image mock.png 'Build this page in site/'
  weft exec --mode accept-edits --timeout 10m 'Fix the typos in docs/'
  weft exec --allow 'bash(cargo test *)' 'Which tests fail, and why?'
  weft exec --continue 'And in the README?'
  weft exec --output-schema todo.schema.json 'List what is left to do' | jq '.todos[]'
  weft exec --json 'List what is left to do' | jq 'select(.type == \"result\")'

Exit codes:
  0        answered
  1        failed: model, configuration, session or output
  2        wrong usage
  3        the model ended before it was done: its token limit, the limit
           agent.max_steps, or a refusal
  4        no answer fits the schema of --output-schema
  124      not done within --timeout
  128 + N  ended by signal N; what ran was cancelled and is in the session")]
pub(crate) struct ExecArgs {
    /// What the agent is asked; `-` for stdin.
    pub(crate) prompt: Option<String>,
    /// Shows the model this picture (PNG, JPEG, GIF or WebP); may be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// The folder to work in, instead of the current one.
    #[arg(long, short = 'C', value_name = "DIR", conflicts_with = "session")]
    pub(crate) cd: Option<PathBuf>,
    /// A further folder to work in, as in the first one; may be given several times.
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Goes on with this session, in its folder. The beginning of an id is enough.
    #[arg(long, value_name = "ID", conflicts_with = "continue_last")]
    pub(crate) session: Option<String>,
    /// Goes on with the session of this folder that was used last.
    #[arg(long = "continue", short = 'c')]
    pub(crate) continue_last: bool,
    /// The model to use, `provider/model`.
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
    /// The most model requests of the turn.
    #[arg(long, value_name = "N")]
    pub(crate) max_steps: Option<String>,
    /// The most time that it may take, such as `90s` or `10m`.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) timeout: Option<Duration>,
    /// The answer is JSON that fits the JSON Schema in this file, which is one of an object.
    #[arg(long, value_name = "FILE")]
    pub(crate) output_schema: Option<PathBuf>,
    /// Prints what happens as JSON Lines instead of the answer.
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints each piece of an answer as it arrives, too.
    #[arg(long, requires = "json")]
    pub(crate) partial: bool,
}

pub(super) fn time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("expected a time such as 90s or 10m, more than nothing".to_owned()),
    }
}
