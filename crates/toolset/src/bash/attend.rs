//! The tools `bash_output` and `bash_kill`, for commands in the background.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use weft_tools::{CallView, ErrorCode, Memory, ResultForView, ResultView, Tool, ToolError, ToolExecution, ToolKind};
use weft_types::{ContentBlock, ToolSpec};

use super::BashConfig;
use super::background::{Jobs, Keeping, Report};
use crate::files::{arguments, as_it_is};
use crate::scratch::Scratch;
use crate::setting::InvalidSetting;

/// The longest wait for output.
const MAX_WAIT_MS: u64 = 60_000;

/// Gives what a background command has printed.
///
/// Needs the [`Memory`] of its caller, which holds the commands.
#[derive(Debug)]
pub struct BashOutput {
    config: BashConfig,
}

/// Ends a background command.
///
/// Needs the [`Memory`] of its caller, which holds the commands.
#[derive(Debug)]
pub struct BashKill {
    config: BashConfig,
}

#[derive(Deserialize)]
struct Arguments {
    id: String,
    wait_ms: Option<u64>,
}

/// The canonical value.
#[derive(Serialize, Deserialize)]
struct Told {
    output: String,
    /// How it goes, in one line.
    state: String,
}

impl BashOutput {
    /// The tool with the settings of `bash`, or the first that is out of bounds.
    pub fn new(config: BashConfig) -> Result<Self, InvalidSetting> {
        config.validate()?;
        Ok(Self { config })
    }
}

impl BashKill {
    /// The tool with the settings of `bash`, or the first that is out of bounds.
    pub fn new(config: BashConfig) -> Result<Self, InvalidSetting> {
        config.validate()?;
        Ok(Self { config })
    }
}

/// Does what was asked for of the command that a call names.
async fn attend(execution: &ToolExecution, config: &BashConfig, ends: bool) -> Result<Value, ToolError> {
    let Arguments { id, wait_ms } = arguments(execution)?;
    let memory = execution.extension::<Memory>();
    let memory = memory.ok_or_else(|| ToolError::new("its caller has no memory of commands in the background"))?;
    let (jobs, scratch) = (memory.of::<Jobs>(), memory.of::<Scratch>());
    let job = jobs.find(&id)?;
    let keeping = Keeping::new(config, Some(scratch));
    let work = async {
        if ends {
            job.end().await;
        }
        job.report(&keeping, Duration::from_millis(wait_ms.unwrap_or(0))).await
    };
    let Report { output, exit } = tokio::select! {
        biased;
        () = execution.signal().cancelled() => {
            let message = "the call was cancelled; the command in the background was not, unless it was being ended";
            return Err(ToolError::with_code(ErrorCode::Aborted, message));
        }
        report = work => report,
    };
    let state = match exit {
        None => format!("{id} is running"),
        Some(exit) => {
            jobs.forget(&id);
            format!("{id} has ended: {}", exit.line())
        }
    };
    serde_json::to_value(Told { output, state }).map_err(|error| ToolError::new(error.to_string()))
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "output": { "type": "string" }, "state": { "type": "string" } },
        "required": ["output", "state"],
        "additionalProperties": false,
    })
}

/// The output, if there is any, and how it goes.
fn rendered(value: &Value) -> Vec<ContentBlock> {
    let Ok(Told { mut output, state }) = Told::deserialize(value) else {
        return Vec::new();
    };
    if !output.is_empty() && !output.ends_with('\n') {
        output.push('\n');
    }
    let output = (!output.is_empty()).then(|| ContentBlock::text(output));
    output.into_iter().chain([ContentBlock::text(state)]).collect()
}

fn call(name: &str, arguments: &Value) -> Option<CallView> {
    let id = arguments["id"].as_str()?;
    Some(CallView::Generic {
        title: format!("{name} {id}"),
        kind: ToolKind::Execute,
        raw_input: Some(arguments.clone()),
        content: Vec::new(),
        locations: Vec::new(),
    })
}

impl Tool for BashOutput {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "bash_output".into(),
            description:
                "Gives what a background command has printed since you last asked, and whether it still runs. \
                          With wait_ms it waits that long for something new."
                    .into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "id": { "type": "string", "minLength": 1, "description": "What bash gave for it." },
                    "wait_ms": {
                        "type": "integer", "minimum": 0, "maximum": MAX_WAIT_MS,
                        "description": "Milliseconds to wait for new output or the end; default 0.",
                    },
                },
                "required": ["id"],
                "additionalProperties": false,
            }),
        }
    }

    fn output_schema(&self) -> Value {
        schema()
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move { attend(&execution, &self.config, false).await }.boxed()
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        rendered(value)
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        call("bash_output", arguments)
    }

    fn present_result(&self, _arguments: &Value, result: &ResultForView<'_>) -> Option<ResultView> {
        as_it_is(result)
    }
}

impl Tool for BashKill {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "bash_kill".into(),
            description: "Ends a background command and all that it started, and gives the rest of its output.".into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "id": { "type": "string", "minLength": 1, "description": "What bash gave for it." },
                },
                "required": ["id"],
                "additionalProperties": false,
            }),
        }
    }

    fn output_schema(&self) -> Value {
        schema()
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move { attend(&execution, &self.config, true).await }.boxed()
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        rendered(value)
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        call("bash_kill", arguments)
    }

    fn present_result(&self, _arguments: &Value, result: &ResultForView<'_>) -> Option<ResultView> {
        as_it_is(result)
    }
}
