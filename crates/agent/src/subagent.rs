//! Starting other agents.
//!
//! [`Subagents`] holds providers by name. A provider starts a [`SubagentRun`] for a [`SubagentRequest`];
//! what such an agent is, in this process or elsewhere, is the provider's business. [`InProcess`] is the
//! one that runs them as actors here. [`Subagents::children`] tells of each agent that starts and ends, [`Activity`] is
//! what one of them is doing, and [`AgentTool`] is how a model starts one.

mod activity;
mod children;
mod in_process;
mod providers;
mod pulse;
mod relay;
mod stored;
pub(crate) mod structured;
mod tool;

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weft_types::{CallId, ContentBlock, RunId, SessionId};

use crate::{AgentContext, Spending};

pub use activity::{Activity, ActivityFeed, OpenCall, short_number, short_time};
pub use children::{Child, ChildObservation};
pub use in_process::InProcess;
pub use providers::Subagents;
pub use pulse::Pulse;
pub use stored::StoredAnswer;
pub use structured::STRUCTURED_OUTPUT;
pub use tool::{AgentTool, HEARTBEAT, children_in, meta_of_run, run_in};

/// Starts agents of one kind.
pub trait SubagentProvider: Send + Sync {
    /// What its agents can do. Requests for more are refused before they get here.
    fn capabilities(&self) -> SubagentCapabilities;

    /// Starts an agent. When this resolves well, its session exists.
    ///
    /// # Errors
    /// Nothing is left of it then. Dropping the future likewise leaves nothing.
    fn start(&self, request: SubagentRequest) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, SubagentError>>;
}

/// What agents of a provider can do beyond answering a prompt, in the order in which it is tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubagentCapabilities {
    /// They can answer in a schema.
    pub output_schema: bool,
    /// They can be told which model to use.
    pub model: bool,
    /// They can be kept to some of their tools.
    pub tools: bool,
}

/// The wish for an agent.
#[derive(Clone, Debug)]
pub struct SubagentRequest {
    /// Who wishes.
    pub parent: Arc<AgentContext>,
    /// What it is to do.
    pub prompt: Vec<ContentBlock>,
    /// What its starter calls it.
    pub label: Option<String>,
    /// The JSON Schema of its answer, an object schema; absent for free text.
    pub schema: Option<Value>,
    /// The model, `provider/model`; absent for the parent's.
    pub model: Option<String>,
    /// The only tools it may have, by their names, and with it every agent below it; absent for all that it would have.
    pub tools: Option<Vec<String>>,
    /// The workflow run it is a member of, and its number there.
    pub run: Option<(RunId, u64)>,
    /// What the workflow run that it is a member of is called.
    pub run_name: Option<String>,
    /// The parent's call that wishes it, the outermost of a nested chain; absent if none does.
    pub call: Option<CallId>,
    /// Who is told what it does, from its first event on.
    pub activity: Option<ActivityFeed>,
    /// Counts what it uses, and what the agents below it do; absent for the parent's count.
    pub spending: Option<Arc<Spending>>,
    /// Stops it. One that has fired already starts nothing.
    pub cancel: CancellationToken,
}

/// A started agent. Dropping it stops the agent as [`dispose`](SubagentRun::dispose) does, without waiting.
pub trait SubagentRun: Send + Sync {
    /// Its session.
    fn id(&self) -> &SessionId;

    /// Resolves with its answer, always, and any number of times. Its session is quiet then.
    fn result(&self) -> BoxFuture<'static, SubagentResult>;

    /// Stops it if it still runs, and resolves when nothing of it runs any more. Calling it again is fine.
    fn dispose(&self) -> BoxFuture<'static, ()>;
}

/// What an agent answered.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentResult {
    /// The last non-empty text it said; empty if it said nothing.
    pub output: Vec<ContentBlock>,
    /// Its answer in the schema, if one was asked for and given.
    pub structured: Option<Value>,
    /// How it ended.
    pub stop: SubagentStop,
}

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubagentStop {
    /// It answered, in the schema if there was one.
    Completed,
    /// It was stopped.
    Aborted,
    /// It could not answer, for this reason.
    Error(String),
    /// Its answer reached a token limit.
    MaxTokens,
    /// The provider or the model refused.
    Refusal,
}

/// Why no agent was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to start a subagent: {message}")]
pub struct SubagentError {
    code: SubagentErrorCode,
    message: String,
}

impl SubagentError {
    /// An error that reads "failed to start a subagent: `message`".
    pub fn new(code: SubagentErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    /// What kind of error it is.
    pub fn code(&self) -> SubagentErrorCode {
        self.code
    }
}

/// What kind of error a [`SubagentError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SubagentErrorCode {
    /// There is no provider of that name.
    NoProvider,
    /// The provider's agents cannot do what is asked for.
    UnsupportedCapability,
    /// It would nest too deep.
    DepthLimit,
    /// The schema cannot be used.
    UnsupportedSchema,
    /// A tool that it is to be kept to is not there, or not for it.
    UnknownTool,
    /// The request was cancelled before the start.
    Cancelled,
    /// The provider failed.
    StartFailed,
}

impl SubagentErrorCode {
    /// The code as models and clients see it, such as `NO_PROVIDER`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoProvider => "NO_PROVIDER",
            Self::UnsupportedCapability => "UNSUPPORTED_CAPABILITY",
            Self::DepthLimit => "DEPTH_LIMIT",
            Self::UnsupportedSchema => "UNSUPPORTED_SCHEMA",
            Self::UnknownTool => "UNKNOWN_TOOL",
            Self::Cancelled => "CANCELLED",
            Self::StartFailed => "START_FAILED",
        }
    }
}

impl fmt::Display for SubagentErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
