//! Answers in a schema: a tool that a subagent gives its answer through.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use weft_observe::Subscription;
use weft_tools::{ErrorCode, ExecutionToken, ResultObservation, Tool, ToolError, ToolExecution};
use weft_types::{AbortCause, ContentBlock, ToolSpec};

use crate::Agent;

/// The name of the tool through which a subagent answers in a schema.
pub const STRUCTURED_OUTPUT: &str = "structured_output";

/// What such an agent is told at the end of its system prompt.
pub(crate) const INSTRUCTION: &str = "Your answer is read by a program. When your work is done, call the tool \
     `structured_output` once, with your whole answer as its arguments. They must fit its parameters. Nothing you \
     write outside of that call is read.";

/// What it is told when it finished without.
pub(crate) const REMINDER: &str = "You have finished without calling `structured_output`, so your answer was not \
     received. Call it now, with your whole answer as its arguments.";

/// How much of a schema an error shows, in characters.
const SHOWN_SCHEMA_CHARS: usize = 300;

/// Catches one agent's answer, in two phases: the tool's body offers it, the call's final result confirms
/// it. Until then a policy may still have blocked the call.
#[derive(Debug)]
pub(crate) struct Capture {
    schema: Value,
    tries: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    offered: Option<(ExecutionToken, Value)>,
    confirmed: Option<Value>,
    failures: u32,
    last_problem: Option<String>,
}

impl Capture {
    pub(crate) fn new(schema: Value, tries: u32) -> Arc<Self> {
        Arc::new(Self {
            schema,
            tries,
            state: Mutex::default(),
        })
    }

    /// The tool that offers answers.
    pub(crate) fn tool(self: &Arc<Self>) -> Arc<dyn Tool> {
        Arc::new(StructuredOutput {
            capture: Arc::clone(self),
        })
    }

    /// Watches the results of the agent's calls, until the subscription is dropped. The last try stops
    /// the agent's turn before the step can end, so that no further request is made.
    pub(crate) fn watch(self: &Arc<Self>, agent: &Agent) -> Subscription {
        let (capture, slot) = (Arc::clone(self), agent.slot());
        agent.tools().results().subscribe(Some(agent.id()), move |observation| {
            if capture.observe(observation) {
                slot.cancel(AbortCause::Parent);
            }
        })
    }

    /// Answers whether that was the last try.
    fn observe(&self, ResultObservation { execution, result }: &ResultObservation) -> bool {
        let mut state = self.lock();
        if execution.name() != STRUCTURED_OUTPUT || execution.is_nested() || state.confirmed.is_some() {
            return false;
        }
        match &result.outcome {
            Ok(_) => {
                let offered = state.offered.take_if(|(token, _)| *token == execution.token());
                state.confirmed = offered.map(|(_, value)| value);
                false
            }
            Err(error) if is_of_a_cancel(error) => false,
            Err(error) => {
                state.failures += 1;
                state.last_problem = Some(error.message().to_owned());
                state.failures >= self.tries
            }
        }
    }

    /// The confirmed answer.
    pub(crate) fn take(&self) -> Option<Value> {
        self.lock().confirmed.take()
    }

    /// Whether there is a confirmed answer.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.lock().confirmed.is_some()
    }

    /// Whether all tries are used up.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.lock().failures >= self.tries
    }

    /// Why there is no answer: what was done about it, the schema, and the last problem.
    pub(crate) fn failure(&self, reminders: u32) -> String {
        let state = self.lock();
        let what = if state.failures >= self.tries {
            format!(
                "gave {} answers that do not fit its schema, the limit subagents.schema_tries",
                state.failures
            )
        } else {
            format!("finished without an answer in its schema, after {reminders} reminders")
        };
        let problem = state
            .last_problem
            .as_deref()
            .unwrap_or("structured_output was never called");
        let schema = self.schema.to_string();
        let shown: String = schema.chars().take(SHOWN_SCHEMA_CHARS).collect();
        let cut = if shown.len() < schema.len() { "…" } else { "" };
        format!("the agent {what}; last problem: {problem}; schema: {shown}{cut}")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is a single store, so that a poisoned lock still guards a sound state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_of_a_cancel(error: &ToolError) -> bool {
    let code = error.code();
    matches!(code, Some(ErrorCode::Aborted | ErrorCode::AbortedBeforeDispatch))
}

/// The tool. Its parameters are the schema, so that the registry refuses what does not fit and tells the
/// model every violation.
struct StructuredOutput {
    capture: Arc<Capture>,
}

impl Tool for StructuredOutput {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: STRUCTURED_OUTPUT.to_owned(),
            description: "Gives your final answer and ends your work. Call it once, when all else is done.".to_owned(),
            parameters: self.capture.schema.clone(),
        }
    }

    fn output_schema(&self) -> Value {
        json!({"type": "null"})
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        Box::pin(async move {
            let mut state = self.capture.lock();
            if state.confirmed.is_some() {
                return Err(ToolError::new("the answer was given before; it cannot be changed"));
            }
            state.offered = Some((execution.token(), execution.arguments().clone()));
            execution.conclude_turn();
            Ok(Value::Null)
        })
    }

    fn render(&self, _arguments: &Value, _value: &Value) -> Vec<ContentBlock> {
        vec![ContentBlock::text("The answer was received.")]
    }
}
