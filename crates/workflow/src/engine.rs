//! The engine seam: starting a run, and holding one.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use weft_types::{RunId, RunStop, UnixMillis};

use crate::{Limit, Members, RunLimits, SavedWorkflows, WorkflowMeta, WorkflowObservers};

/// What [`RunResult::error`] of a cancelled run begins with; the reason follows.
pub const CANCELLED_PREFIX: &str = "workflow run cancelled: ";

/// Runs workflow scripts.
pub trait WorkflowEngine: Send + Sync {
    /// Accepts a script and begins to run it.
    ///
    /// `ObservationKind::Start` is emitted before this returns, and so may any other observation of the
    /// run be, its end included. An error publishes nothing. A cancel token that has already fired is no
    /// error: the run exists, never executes its script and settles as cancelled.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the request itself, in this order: meta, script, provider, caps; then
    /// [`StartErrorCode::Worker`] if the engine could not begin.
    fn start(&self, request: StartRequest) -> Result<Arc<dyn WorkflowRun>, StartError>;

    /// The observers of every run of this engine.
    ///
    /// The engine emits with the run's id as scope, and the observations of one run one after the other.
    fn observations(&self) -> &WorkflowObservers;

    /// What a script says about itself, if it carries its own metadata and they can be read without running it.
    ///
    /// A pure function of the script, cheap enough for drawing a card; `None` when in doubt.
    fn meta_of(&self, script: &str) -> Option<WorkflowMeta> {
        let _ = script;
        None
    }
}

/// What a run is started with.
pub struct StartRequest {
    /// The script.
    pub script: String,
    /// Its metadata; absent if the script carries them itself.
    pub meta: Option<Value>,
    /// What the script sees as `args`.
    pub args: Option<Value>,
    /// The subagent provider of all members; absent for the engine's default.
    pub provider: Option<String>,
    /// Lowers the engine's own limits.
    pub limits: RunLimits,
    /// How many agents stand above the caller; 0 for a user's own session.
    pub depth: u32,
    /// What the script is to see of the moment and of chance; absent for a run that begins now.
    pub origin: Option<RunOrigin>,
    /// The workflows that the script may run by name; absent for none.
    pub saved: Option<Arc<dyn SavedWorkflows>>,
    /// Starts the members.
    pub members: Arc<dyn Members>,
    /// Cancels the run when it fires.
    pub cancel: CancellationToken,
}

impl fmt::Debug for StartRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartRequest")
            .field("script_bytes", &self.script.len())
            .field("meta", &self.meta)
            .field("args", &self.args)
            .field("provider", &self.provider)
            .field("limits", &self.limits)
            .field("depth", &self.depth)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// Where a run's clock stands and where its random numbers come from.
///
/// A script that is run again with the same origin, and whose members answer the same, sees the same: the same time,
/// which stands still, and the same random numbers in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunOrigin {
    /// When the run began: what its clock shows from beginning to end.
    pub started_at: UnixMillis,
    /// What its random numbers are made from. Those that an engine makes are below 2^53, which every reader of JSON
    /// keeps.
    pub seed: u64,
}

/// Why a run was not started; nothing of it was published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StartError {
    code: StartErrorCode,
    message: String,
}

impl StartError {
    /// An error with its text, which says what was found and what was expected.
    pub fn new(code: StartErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// What kind of error it is.
    pub fn code(&self) -> StartErrorCode {
        self.code
    }

    /// The text.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// The kinds of [`StartError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StartErrorCode {
    /// The script is no script, or breaks off.
    ScriptParse,
    /// The metadata are missing or malformed; the message lists every violation.
    MetaInvalid,
    /// Another part of the request is out of range.
    InvalidArgument,
    /// The subagent provider is unknown.
    AgentStart,
    /// The engine could not begin the run: no process, no memory, too many runs.
    Worker,
}

impl StartErrorCode {
    /// The code as models and logs see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ScriptParse => "SCRIPT_PARSE",
            Self::MetaInvalid => "META_INVALID",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::AgentStart => "AGENT_START",
            Self::Worker => "WORKER",
        }
    }
}

impl fmt::Display for StartErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One accepted run. Who holds it owns it: unloading the engine does not end it, and its holder disposes
/// of it.
///
/// Dropping the last handle of a run that was not disposed of cancels it without waiting.
pub trait WorkflowRun: Send + Sync {
    /// The run's id, unique for ever.
    fn id(&self) -> &RunId;

    /// Its metadata, as the engine read them.
    fn meta(&self) -> &Arc<WorkflowMeta>;

    /// Its origin: the one it was started with, or else the one that the engine made.
    fn origin(&self) -> RunOrigin;

    /// What it is held to: what it was started with within the engine's own limits.
    fn limits(&self) -> RunLimits;

    /// Resolves once the run has settled, with the same result for everybody who asks. The observers of its
    /// end have been called by then.
    ///
    /// An engine may hold the script back until this is called for the first time, or the run is cancelled.
    fn result(&self) -> BoxFuture<'static, Arc<RunResult>>;

    /// Asks the run to stop. The first reason wins; nothing happens once the outcome is settled.
    ///
    /// After this returned no phase and no log line of the run is emitted any more; ends of members are.
    fn cancel(&self, reason: Option<&str>);

    /// Cancels what still runs, waits for it at most the engine's grace, and ends the worker. Asking again
    /// gives the same answer.
    fn dispose(&self) -> BoxFuture<'static, Disposal>;
}

/// How far a disposal came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposal {
    /// Nothing of the run is left.
    Quiet,
    /// The grace ran out first: a member's disposal was not acknowledged.
    GraceExpired,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// In which way.
    pub stop: RunStop,
    /// What the script returned, as JSON text; present exactly if the run completed.
    pub value: Option<Box<RawValue>>,
    /// Why it did not complete; present exactly if it did not. A cancelled run's begins with
    /// [`CANCELLED_PREFIX`].
    pub error: Option<String>,
    /// The limit that ended it, if one did: its way to end is an error then.
    pub exhausted: Option<Limit>,
    /// How many members the script asked for and the engine accepted.
    pub agents_started: u64,
    /// What the author of the script should know: rejections nobody handled, members nobody awaited, values that
    /// lost something on their way.
    pub notes: Vec<String>,
}

impl RunResult {
    /// A completed run.
    pub fn completed(value: Box<RawValue>, agents_started: u64) -> Self {
        Self {
            stop: RunStop::Completed,
            value: Some(value),
            error: None,
            exhausted: None,
            agents_started,
            notes: Vec::new(),
        }
    }

    /// A run that failed, with the error's text.
    pub fn failed(error: impl Into<String>, agents_started: u64) -> Self {
        Self {
            stop: RunStop::Error,
            value: None,
            error: Some(error.into()),
            exhausted: None,
            agents_started,
            notes: Vec::new(),
        }
    }

    /// A cancelled run, with the bare reason.
    pub fn cancelled(reason: &str, agents_started: u64) -> Self {
        Self {
            stop: RunStop::Cancelled,
            value: None,
            error: Some(format!("{CANCELLED_PREFIX}{reason}")),
            exhausted: None,
            agents_started,
            notes: Vec::new(),
        }
    }
}
