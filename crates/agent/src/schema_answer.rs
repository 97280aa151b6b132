//! A user's agent that answers in a schema.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use weft_observe::Subscription;
use weft_tools::Registration;
use weft_types::{ContentBlock, TurnEnd};

use crate::subagent::structured::{Capture, INSTRUCTION, REMINDER};
use crate::{Agent, PromptRefused, SubagentLimits};

/// Lets an agent answer in a schema, by the means that subagents have: a tool whose parameters are the schema. It has
/// the tool for as long as this lives.
pub struct SchemaAnswer {
    agent: Agent,
    capture: Arc<Capture>,
    _tool: Registration,
    _watch: Subscription,
    bounds: SubagentLimits,
}

/// The schema cannot be one of an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schema cannot be used: {0}")]
pub struct SchemaRefused(String);

/// How asking for an answer in a schema ended.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaEnd {
    /// With an answer that fits.
    Answered(Value),
    /// Without one, however often the model was reminded or told what does not fit: what was done, and the last problem.
    Unfit(String),
    /// The turn ended in another way.
    Ended(TurnEnd),
}

impl fmt::Debug for SchemaAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchemaAnswer")
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

impl SchemaAnswer {
    /// Gives the agent the tool, between two turns. `bounds` say how often it is reminded and may try.
    ///
    /// # Errors
    /// The schema is not a JSON Schema of an object.
    pub fn of(agent: &Agent, schema: Value, bounds: SubagentLimits) -> Result<Self, SchemaRefused> {
        let capture = Capture::new(schema, bounds.schema_tries);
        let tool = agent.tools().register(capture.tool());
        Ok(Self {
            _tool: tool.map_err(|error| SchemaRefused(error.to_string()))?,
            _watch: capture.watch(agent),
            agent: agent.clone(),
            capture,
            bounds,
        })
    }

    /// Prompts the agent until it has answered, each reminder a turn of its own. How to answer is said below the prompt.
    /// A [cancel](Agent::cancel) ends it with the turn in flight.
    ///
    /// # Errors
    /// A prompt was not taken.
    pub async fn prompt(&self, mut content: Vec<ContentBlock>) -> Result<SchemaEnd, PromptRefused> {
        content.push(ContentBlock::text(format!("\n\n{INSTRUCTION}")));
        let mut end = self.agent.prompt(content)?.ended().await;
        for reminded in 0.. {
            if let Some(answer) = self.capture.take() {
                return Ok(SchemaEnd::Answered(answer));
            }
            if self.capture.is_exhausted() {
                break;
            }
            if end != TurnEnd::Completed {
                return Ok(SchemaEnd::Ended(end));
            }
            if reminded == self.bounds.reminders {
                break;
            }
            end = self.agent.prompt(vec![ContentBlock::text(REMINDER)])?.ended().await;
        }
        Ok(SchemaEnd::Unfit(self.capture.failure(self.bounds.reminders)))
    }
}
