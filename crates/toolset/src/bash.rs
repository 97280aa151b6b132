//! The `bash` tool: one shell command, its output live in its card and, bounded, for the model.
//!
//! # What a command can rely on
//!
//! - It runs as `bash -c`, or `sh -c` where there is no bash, in the session's folder.
//! - Its input is empty. Its output and errors are one stream, in the order in which they were written.
//! - Its environment is the program's own without secrets ([`Environment`](crate::Environment)).
//! - It has a temporary folder of its agent's own (`TMPDIR`), and writes, where the system can see to that, nowhere but
//!   there, in the session's folders and in what the user listed ([`sandbox`]).
//! - It leads a process group. When the shell ends, output is read for a quarter of a second more if
//!   something still holds the pipe; then whatever is left of the group is killed. Nothing goes on in the
//!   background, but for a command that was started for it ([`background`]), and for what left the group on purpose (`setsid`): that runs, its output lost, until the
//!   program ends ([`Orphans`](crate::Orphans)).
//! - On a cancel or a timeout the group gets SIGTERM and, a second later, SIGKILL.
//!
//! A command that fails is a result like any other: the model reads its exit code. The call itself fails
//! only if the command could not start, ran out of time or was cancelled; the output until then is kept.

mod attend;
mod background;
mod config;
mod console;
mod decode;
mod fence;
mod launch;
mod output;
mod parse;
mod run;
mod spill;
mod start;

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weft_tools::{
    Access, AccessCommand, AdditionalDirectories, CallView, ErrorCode, ExitStatus as ShownExit, Extensions, Memory,
    Ongoing, Overview, ResultForView, ResultView, Tool, ToolError, ToolExecution, WorkingDirectory,
};
use weft_types::{ContentBlock, ToolSpec, text_of};

pub use self::attend::{BashKill, BashOutput};
use self::background::{Jobs, Keeping};
pub use self::config::BashConfig;
use self::console::Console;
use self::launch::Launch;
use self::run::Ending;
use self::start::start;
use crate::sandbox::{self, Report, Sandbox};
use crate::scratch::Scratch;
use crate::setting::InvalidSetting;

/// Runs shell commands.
///
/// Needs the [`WorkingDirectory`] extension of its caller.
#[derive(Debug)]
pub struct Bash {
    config: BashConfig,
    sandbox: Sandbox,
}

impl Bash {
    /// The tool with these settings, or the first setting that is out of bounds.
    pub fn new(config: BashConfig) -> Result<Self, InvalidSetting> {
        let report = sandbox::report(&config.sandbox);
        Self::reporting(config, report)
    }

    /// The tool on a system of whose sandbox that is known.
    pub fn reporting(config: BashConfig, report: Report) -> Result<Self, InvalidSetting> {
        config.validate()?;
        let sandbox = Sandbox::new(config.sandbox.clone(), report);
        Ok(Self { config, sandbox })
    }

    /// The shell for a call: with the agent's temporary folder, in the sandbox.
    fn launch(&self, execution: &ToolExecution) -> Result<Launch, ToolError> {
        let folder = execution
            .extension::<WorkingDirectory>()
            .ok_or_else(|| ToolError::new("failed to run the command: its caller named no working folder"))?;
        let additional = execution.extension::<AdditionalDirectories>().unwrap_or_default();
        let scratch = execution
            .extension::<Memory>()
            .map(|memory| memory.of::<Scratch>().path());
        let scratch = scratch
            .transpose()
            .map_err(|error| ToolError::new(format!("failed to make a temporary folder for the command: {error}")))?;
        let mut folders: Vec<&Path> = vec![&folder.0];
        folders.extend(additional.0.iter().map(PathBuf::as_path));
        folders.extend(scratch.as_deref());
        let mut variables = self.config.environment.variables();
        let path = variables.iter().find(|(name, _)| name == "PATH");
        let path = path.map_or(OsStr::new(""), |(_, path)| path);
        let prefix = self.sandbox.prefix(&folders, path);
        let prefix = prefix.map_err(|error| ToolError::new(error.to_string()))?;
        if let Some(scratch) = &scratch {
            variables.retain(|(name, _)| name != "TMPDIR");
            variables.push(("TMPDIR".into(), scratch.into()));
        }
        Ok(Launch::new(&folder.0, variables, prefix))
    }

    /// Starts a command that goes on behind this call.
    fn begin(&self, execution: &ToolExecution, arguments: &Arguments, launch: &Launch) -> Result<Finished, ToolError> {
        let memory = execution.extension::<Memory>();
        let memory = memory.ok_or_else(|| ToolError::new("its caller has no memory of commands in the background"))?;
        let jobs = memory.of::<Jobs>();
        jobs.check_room(self.config.max_background)?;
        let started = start(&arguments.command, launch).map_err(|error| ToolError::new(chain(&error)))?;
        memory.of::<Overview>().watch(&(Arc::clone(&jobs) as Arc<dyn Ongoing>));
        let limit = arguments.timeout_ms.map(Duration::from_millis);
        let keeping = Keeping::new(&self.config, Some(memory.of::<Scratch>()));
        Ok(Finished {
            output: String::new(),
            hint: None,
            exit: Exit::Background(jobs.add(&arguments.command, started, limit, &keeping)),
        })
    }

    fn finished(&self, status: ExitStatus, output: String) -> Finished {
        let exit = Exit::of(status);
        let failed = !matches!(exit, Exit::Code(0));
        let hint = failed.then(|| self.sandbox.hint(&output)).flatten();
        Finished {
            output,
            hint: hint.map(str::to_owned),
            exit,
        }
    }

    async fn run(&self, execution: &ToolExecution) -> Result<Finished, ToolError> {
        let arguments: Arguments = Deserialize::deserialize(execution.arguments())
            .map_err(|error| ToolError::with_code(ErrorCode::InvalidArgs, error.to_string()))?;
        let launch = self.launch(execution)?;
        if arguments.background {
            return self.begin(execution, &arguments, &launch);
        }
        let limit = arguments
            .timeout_ms
            .map_or(self.config.default_timeout, Duration::from_millis);
        let (group, pipe) = start(&arguments.command, &launch).map_err(|error| ToolError::new(chain(&error)))?;
        let mut console = Console::new(pipe, &self.config, execution.clone());
        let ending = run::to_end(group, &mut console, limit, execution.signal()).await;
        let output = console.finish()?;
        match ending {
            Ok(Ending::Exited(status)) => Ok(self.finished(status, output)),
            Ok(Ending::TimedOut) => {
                let reason = format!(
                    "the command was killed: it was still running after {} ms (timeout_ms allows up to {})",
                    limit.as_millis(),
                    self.config.max_timeout.as_millis(),
                );
                Err(ToolError::with_code(
                    ErrorCode::ToolTimeout,
                    with_output(&reason, &output),
                ))
            }
            Ok(Ending::Cancelled) => {
                let reason = "the command was cancelled and killed";
                Err(ToolError::with_code(ErrorCode::Aborted, with_output(reason, &output)))
            }
            Err(error) => Err(ToolError::new(format!("failed to wait for the command: {error}"))),
        }
    }
}

#[derive(Deserialize)]
struct Arguments {
    command: String,
    timeout_ms: Option<u64>,
    #[serde(default)]
    background: bool,
}

/// The canonical value: a command that ended by itself.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Finished {
    output: String,
    /// What else may be the reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(flatten)]
    exit: Exit,
}

/// How the shell ended: what a card is given of the value.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Exit {
    #[serde(rename = "exitCode")]
    Code(i32),
    Signal(String),
    /// Not at all: it goes on in the background under this id.
    Background(String),
}

impl Exit {
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal_name(signal.unwrap_or_default())),
        }
    }

    /// The last line of what the model gets.
    fn line(&self) -> String {
        match self {
            Self::Code(code) => format!("exit code {code}"),
            Self::Signal(name) => format!("killed by {name}"),
            Self::Background(id) => {
                format!("running in the background as {id}; bash_output gives what it prints, bash_kill ends it")
            }
        }
    }
}

impl Tool for Bash {
    fn spec(&self) -> ToolSpec {
        let (default, max) = (
            self.config.default_timeout.as_millis(),
            self.config.max_timeout.as_millis(),
        );
        ToolSpec {
            name: "bash".into(),
            description: format!(
                "Runs a shell command in the session's folder and returns what it printed, errors included, and its \
                 exit code. Input is empty. Output beyond {} characters is cut in the middle, and \
                 the result names a file with all of it, for read. The command is killed \
                 after timeout_ms (default {default}, at most {max}). Processes that the command \
                 leaves behind are killed when it returns; to have one go on, such as a server, run it alone with \
                 background, which gives an id at once: it then runs until bash_kill, its timeout_ms if you set one, \
                 or the end of the session.{}",
                self.config.max_output_chars,
                self.sandbox.sentence(),
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": { "type": "string", "minLength": 1, "description": "The command, as typed into a shell." },
                    "timeout_ms": {
                        "type": "integer", "minimum": 1, "maximum": max as u64,
                        "description": format!("Milliseconds after which the command is killed; default {default}."),
                    },
                    "background": { "type": "boolean", "description": "Whether it goes on while you do something else; default false." },
                },
                "required": ["command"],
                "additionalProperties": false,
            }),
        }
    }

    fn output_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "output": { "type": "string" },
                "hint": { "type": "string" },
                "exitCode": { "type": "integer" },
                "signal": { "type": "string" },
                "background": { "type": "string" },
            },
            "required": ["output"],
            "additionalProperties": false,
        })
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move {
            let finished = self.run(&execution).await?;
            serde_json::to_value(finished).map_err(|error| ToolError::new(error.to_string()))
        }
        .boxed()
    }

    /// The output, if there is any, a hint, if there is one, and how the command ended: a block each.
    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        let Ok(Finished { mut output, hint, exit }) = Finished::deserialize(value) else {
            return Vec::new();
        };
        let mut blocks = Vec::new();
        if !output.is_empty() {
            if !output.ends_with('\n') {
                output.push('\n');
            }
            blocks.push(ContentBlock::text(output));
        }
        blocks.extend(hint.map(|hint| ContentBlock::text(format!("[{hint}]\n"))));
        blocks.push(ContentBlock::text(exit.line()));
        blocks
    }

    fn presentation_meta(&self, _arguments: &Value, value: &Value) -> Option<Value> {
        let exit = Finished::deserialize(value).ok()?.exit;
        serde_json::to_value(exit).ok()
    }

    fn access(&self, arguments: &Value, _lent: &Extensions) -> Access {
        let command = arguments["command"].as_str().unwrap_or_default();
        let parsed = parse::parse(command);
        Access::Execute(AccessCommand {
            text: command.to_owned(),
            parts: parsed.parts,
            caution: parsed.caution,
        })
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let arguments = Arguments::deserialize(arguments).ok()?;
        Some(CallView::Terminal {
            title: arguments.command,
            description: None,
            cwd: None,
        })
    }

    fn present_result(&self, _arguments: &Value, result: &ResultForView<'_>) -> Option<ResultView> {
        let exit = result.meta.and_then(|meta| Exit::deserialize(meta).ok());
        let mut shown = result.content;
        // How the command ended is said by the exit; it is nothing that the command printed.
        if let (Some(exit), Some((last, rest))) = (&exit, shown.split_last())
            && !matches!(exit, Exit::Background(_))
            && last.as_text() == Some(&exit.line())
        {
            shown = rest;
        }
        Some(ResultView::Terminal {
            title: None,
            output: Some(text_of(shown)),
            exit: exit.and_then(|exit| match exit {
                Exit::Code(code) => Some(ShownExit::Code(code)),
                Exit::Signal(name) => Some(ShownExit::Signal(name)),
                Exit::Background(_) => None,
            }),
        })
    }
}

/// Why the command has no exit code, and what it had printed.
fn with_output(reason: &str, output: &str) -> String {
    if output.is_empty() {
        return format!("{reason}; it had printed nothing");
    }
    format!("{reason}; it had printed:\n{output}")
}

/// An error with its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// A signal as people know it; by its number if it has no common name.
fn signal_name(number: i32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return format!("signal {number}"),
    };
    name.into()
}

#[cfg(test)]
mod tests;
