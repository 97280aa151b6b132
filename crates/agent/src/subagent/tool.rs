//! The `agent` tool: a model hands a task to an agent of its own.

mod live;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use weft_tools::{CallView, ErrorCode, Tool, ToolError, ToolExecution, ToolKind};
use weft_types::{ContentBlock, RunId, SessionId, ToolSpec, text_of};

use self::live::Live;
use super::{SubagentRequest, SubagentResult, SubagentRun, SubagentStop};
use crate::AgentContext;
use crate::title::first_line;

/// After how long a silence the card of a call that waits for agents says again what they do, and for how long.
pub const HEARTBEAT: Duration = Duration::from_secs(3);

/// How many characters of a label the card's title shows.
const LABEL_CHARS: usize = 80;

const DESCRIPTION: &str = "\
Hands a task to a fresh agent and gives you its answer, the text of its last message. The agent has the same tools and \
the same folder, but sees nothing of this conversation: put everything it needs into `prompt`, and say what its answer \
should hold. Use it for work whose details you do not need to see, such as searching through many files, or for parts \
that do not depend on each other: several calls in one message run at the same time. Do not use it for what a call or \
two of your own would do. The user watches its progress. Agents that change the same files at the same time get into \
each other's way.";

const PROVIDER_DESCRIPTION: &str = "\
Another program that is to be the agent; it brings its own model and its own tools, so that it takes no `model`. Name one \
only if the user wants that program. Scripts of workflows name it in the same way, as the option `provider` of `agent()`.";

/// The key of a result's presentation data that holds the sessions of the agents it is the answer of.
const CHILDREN: &str = "children";

/// The `agent` tool.
///
/// A call needs the calling agent's [`AgentContext`] as an extension. It owns its agent: when it returns, the agent is
/// over and disposed of. Cancelling the call stops the agent.
#[derive(Clone, Debug, Default)]
pub struct AgentTool {
    /// The providers that a call may name, beside the default one; a model is told of them only if there are any.
    pub providers: Vec<String>,
}

#[derive(Deserialize)]
struct Arguments {
    prompt: String,
    label: Option<String>,
    model: Option<String>,
    provider: Option<String>,
    schema: Option<Value>,
}

/// The canonical value.
#[derive(Serialize, Deserialize)]
struct Answer {
    session: SessionId,
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
}

/// The sessions of the agents that a call of some tool has started, as its result's presentation data names them.
pub fn children_in(meta: Option<&Value>) -> Vec<SessionId> {
    let children = meta.and_then(|meta| meta.get(CHILDREN)).and_then(Value::as_array);
    let ids = children.into_iter().flatten().filter_map(Value::as_str);
    ids.map(SessionId::new).collect()
}

/// The key of a result's presentation data that holds the workflow run whose outcome it is.
const RUN: &str = "run";

/// The presentation data of a result that is the outcome of a run, as [`run_in`] reads it.
pub fn meta_of_run(run: &RunId) -> Value {
    json!({ RUN: run })
}

/// The workflow run whose outcome a result is, as its presentation data names it. The run's records tell its members.
pub fn run_in(meta: Option<&Value>) -> Option<RunId> {
    Some(RunId::new(meta?.get(RUN)?.as_str()?))
}

impl Arguments {
    fn read(arguments: &Value) -> Result<Self, ToolError> {
        Self::deserialize(arguments)
            .map_err(|error| ToolError::with_code(ErrorCode::InvalidArgs, format!("cannot start an agent: {error}")))
    }

    /// What the user knows the agent as.
    fn label(&self) -> String {
        let given = self.label.as_deref().and_then(|label| first_line(label, LABEL_CHARS));
        given
            .or_else(|| first_line(&self.prompt, LABEL_CHARS))
            .unwrap_or_default()
    }

    fn title(&self) -> String {
        format!("agent: {}", self.label())
    }
}

async fn run(execution: ToolExecution) -> Result<Answer, ToolError> {
    let Some(caller) = execution.extension::<AgentContext>() else {
        return Err(ToolError::new(
            "cannot start an agent without a calling one, whose child it is",
        ));
    };
    let arguments = Arguments::read(execution.arguments())?;
    if arguments.prompt.trim().is_empty() {
        let message = "cannot start an agent with a blank prompt; say what it is to do";
        return Err(ToolError::with_code(ErrorCode::InvalidArgs, message));
    }
    let live = Arc::new(Live::new(execution.clone()));
    let request = SubagentRequest {
        label: Some(arguments.label()),
        prompt: vec![ContentBlock::text(arguments.prompt)],
        schema: arguments.schema,
        model: arguments.model,
        tools: None,
        run: None,
        run_name: None,
        call: Some(execution.root_call_id().clone()),
        activity: Some(live.feed()),
        spending: None,
        cancel: execution.signal().child_token(),
        parent: Arc::clone(&caller),
    };
    let started = caller.subagents.start(arguments.provider.as_deref(), request).await;
    let run = started.map_err(|error| ToolError::new(format!("{error}; do the work yourself")))?;
    let result = answered(&*run, &live).await;
    run.dispose().await;
    answer_of(run.id(), result, execution.signal().is_cancelled())
}

/// Waits for the answer and keeps the card alive meanwhile.
async fn answered(run: &dyn SubagentRun, live: &Live) -> SubagentResult {
    let mut result = run.result();
    let since = Instant::now();
    let mut beat = interval_at(since + HEARTBEAT, HEARTBEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            result = &mut result => return result,
            now = beat.tick() => live.beat(now - since),
        }
    }
}

fn answer_of(id: &SessionId, result: SubagentResult, cancelled: bool) -> Result<Answer, ToolError> {
    let text = text_of(&result.output);
    let why = match result.stop {
        SubagentStop::Completed => {
            return Ok(Answer {
                session: id.clone(),
                text,
                structured: result.structured,
            });
        }
        SubagentStop::Aborted if cancelled => "the agent was stopped with this call".to_owned(),
        SubagentStop::Aborted => "the agent was stopped by the user".to_owned(),
        SubagentStop::Error(message) => format!("the agent failed: {message}"),
        SubagentStop::MaxTokens => "the agent's answer reached a token limit and is not whole".to_owned(),
        SubagentStop::Refusal => "the model refused the agent's request".to_owned(),
    };
    let message = match text.trim() {
        "" => why,
        said => format!("{why}; the last it said:\n{said}"),
    };
    let error = match cancelled {
        true => ToolError::with_code(ErrorCode::Aborted, message),
        false => ToolError::new(message),
    };
    Err(error.with_meta(json!({ CHILDREN: [id] })))
}

impl Tool for AgentTool {
    fn spec(&self) -> ToolSpec {
        let mut parameters = json!({
            "type": "object",
            "properties": {
                "prompt": { "type": "string", "minLength": 1, "description": "The task, with everything the agent needs to know." },
                "label": { "type": "string", "description": "What the user sees it called, a few words; default: the first line of the prompt." },
                "model": { "type": "string", "description": "`provider/model`; default: yours." },
                "schema": { "type": "object", "description": "A JSON Schema with an object at its root; the answer is then an object that fits it." },
            },
            "required": ["prompt"],
            "additionalProperties": false,
        });
        if !self.providers.is_empty() {
            parameters["properties"]["provider"] =
                json!({ "type": "string", "enum": self.providers, "description": PROVIDER_DESCRIPTION });
        }
        ToolSpec {
            name: "agent".to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters,
        }
    }

    fn output_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "session": { "type": "string" },
                "text": { "type": "string" },
                "structured": {},
            },
            "required": ["session", "text"],
            "additionalProperties": false,
        })
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async move {
            let answer = run(execution).await?;
            serde_json::to_value(answer).map_err(|error| ToolError::new(error.to_string()))
        }
        .boxed()
    }

    fn render(&self, _arguments: &Value, value: &Value) -> Vec<ContentBlock> {
        let Ok(answer) = Answer::deserialize(value) else {
            return Vec::new();
        };
        let text = match &answer.structured {
            Some(structured) => format!("{structured:#}"),
            None if answer.text.trim().is_empty() => "The agent finished without saying anything.".to_owned(),
            None => answer.text,
        };
        vec![ContentBlock::text(text)]
    }

    fn presentation_meta(&self, _arguments: &Value, value: &Value) -> Option<Value> {
        Some(json!({ CHILDREN: [value.get("session")?] }))
    }

    fn is_concurrency_safe(&self, _arguments: &Value) -> bool {
        true
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let given = Arguments::read(arguments).ok()?;
        Some(CallView::Generic {
            title: given.title(),
            kind: ToolKind::Think,
            raw_input: Some(arguments.clone()),
            content: vec![ContentBlock::text(given.prompt)],
            locations: Vec::new(),
        })
    }
}
