//! What a model is asked and what it answers.

use std::fmt;
use std::sync::Arc;

use futures::stream::BoxStream;
use weft_types::{CallId, SessionId, StopReason, ToolSpec, Usage};

use crate::{Messages, ModelError};

/// Something that answers requests.
pub trait Model: Send + Sync {
    /// Sends one request and streams the answer.
    ///
    /// Nothing happens before the stream is polled. Dropping the stream cancels the request at once and
    /// frees everything it held. The stream ends after the first error and after
    /// [`ModelEvent::Finish`]; a stream that ends without either is a defect of the implementation.
    fn stream(&self, request: ModelRequest) -> ModelStream;

    /// Whether a request could be sent at all, as far as that is known without sending one.
    ///
    /// # Errors
    ///
    /// What is missing, such as a key: the error that every request would end with.
    fn ready(&self) -> Result<(), ModelError> {
        Ok(())
    }

    /// Whether an answer without a word is an answer, and not a sign that the endpoint failed.
    fn may_be_silent(&self) -> bool {
        false
    }
}

/// The answer to one request, as it arrives. See [`ModelEvent`] for the order of events.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// One request.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The model's name within its provider.
    pub model: String,
    /// The system prompt; empty for none.
    pub system: Arc<str>,
    /// The conversation so far.
    pub messages: Messages,
    /// The tools the model may call, in the order it is told of them.
    pub tools: Arc<[ToolSpec]>,
    /// Who asks.
    pub origin: RequestOrigin,
}

/// Who asks a model. Never sent to an endpoint: it is what scripted replies are keyed by, and what logs
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOrigin {
    /// What the asking agent is.
    pub role: AgentRole,
    /// The name that the agent's starter gave it.
    pub label: Option<String>,
    /// The agent's session.
    pub session: SessionId,
    /// The turn, from 1.
    pub turn: u32,
    /// The step within the turn, from 1.
    pub step: u32,
}

impl RequestOrigin {
    /// An id for a tool call that came without one; `number` counts the calls of the answer from 1.
    ///
    /// The same for the same place in a session, so that logs are reproducible, and unlike the ids of
    /// every other place.
    pub fn mint_call_id(&self, number: usize) -> CallId {
        CallId::new(format!("call_t{}s{}n{number}", self.turn, self.step))
    }
}

/// What an agent is to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AgentRole {
    /// The agent the user talks to.
    Main,
    /// An agent that another agent started.
    Subagent,
}

impl AgentRole {
    /// `main` or `subagent`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Subagent => "subagent",
        }
    }
}

impl fmt::Display for AgentRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One piece of an answer.
///
/// Deltas and calls come in the model's order. `Usage` comes at most once. `Finish` comes exactly once
/// and is the last event of a good answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More text for the user; never empty.
    TextDelta(String),
    /// More disclosed reasoning; never empty.
    ReasoningDelta(String),
    /// What the provider wants back with the reasoning that came since the last seal, unread. It closes that block of
    /// reasoning; where no reasoning came, it is a block without text.
    ReasoningSealed(serde_json::Value),
    /// A whole tool call, given once all of it has arrived.
    ToolCall {
        /// The model's id of the call, or one minted for it; never empty, unique within its answer.
        id: CallId,
        /// The tool's name, as the model wrote it.
        name: String,
        /// The arguments as the model wrote them; not necessarily JSON. `{}` if it wrote none.
        arguments: String,
    },
    /// The tokens of this request.
    Usage(Usage),
    /// The answer is whole.
    Finish(StopReason),
}
