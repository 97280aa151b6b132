//! The host's side: starting runs and seeing them through.

use std::fmt;
use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use uuid::Uuid;
use weft_types::{RunId, UnixMillis};
use weft_workflow::{
    RunInfo, RunOrigin, StartError, StartErrorCode, StartRequest, WorkflowEngine, WorkflowMeta, WorkflowObservers,
    WorkflowRun,
};

use crate::script::own_meta;
use crate::{ConfigError, EngineConfig, SandboxReport};

mod board;
mod connection;
mod exit;
mod launch;
mod member;
mod owner;
mod prepare;
mod run;

use owner::Owner;
use prepare::Prepared;
pub use prepare::read_meta;
use run::JsRun;

/// The engine. Dropping it leaves runs that were started alone; their holders own them.
///
/// # The metadata of a script
///
/// A script may begin with `export const meta = {…};`, a literal that is read without running anything, and it may be
/// given metadata from outside. Both are tested. If there are both, the script's own describe the run: they are what
/// its author wrote down with it, and the others are what somebody said about it.
///
/// # What a script may return
///
/// Plain JSON: `null`, booleans, finite numbers, strings, arrays without holes, and objects whose prototype is
/// `Object.prototype` or none, 127 levels deep at most. `-0` is `0`, `undefined` as the whole value is `null`, and half
/// a surrogate pair is U+FFFD. A value of more than [`EngineConfig::max_result_bytes`] is cut: its arrays and objects
/// end early, a string that is cut ends in an ellipsis, and a note says so. Anything else fails the run with the paths
/// of what cannot be returned.
pub struct JsEngine {
    config: Arc<EngineConfig>,
    observers: WorkflowObservers,
}

impl JsEngine {
    /// An engine with these settings.
    ///
    /// # Errors
    ///
    /// A setting is out of range.
    pub fn new(config: EngineConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config: Arc::new(config),
            observers: WorkflowObservers::new("workflow"),
        })
    }

    /// Starts a worker without a script, ends it, and tells how far it was shut in.
    ///
    /// Blocks for a few milliseconds. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// No worker could be started, or the sandbox is required and not to be had.
    pub fn try_sandbox(&self) -> Result<SandboxReport, StartError> {
        launch::launch(&self.config, "workflow:none".to_owned(), "").map(|(_, report)| report)
    }
}

impl JsEngine {
    /// Tests a script that carries its own metadata as [`start`](WorkflowEngine::start) does, in a worker of its own, and
    /// runs nothing of it. It blocks as that does.
    ///
    /// # Errors
    ///
    /// What `start` would refuse it for.
    pub fn check(&self, script: &str) -> Result<WorkflowMeta, StartError> {
        let Prepared { meta, file, body } = prepare::read_script(&self.config, script, None)?;
        let runtime = Handle::try_current()
            .map_err(|error| StartError::new(StartErrorCode::Worker, format!("failed to check a script: {error}")))?;
        // The worker dies as it is dropped.
        drop(aside(&runtime, || launch::launch(&self.config, file, &body))?);
        Ok(meta)
    }
}

impl WorkflowEngine for JsEngine {
    /// Blocks for as long as it takes to start a process and to parse the script in it: a few milliseconds, or
    /// the limit on parsing for a hostile script. A runtime with several threads goes on meanwhile.
    fn start(&self, request: StartRequest) -> Result<Arc<dyn WorkflowRun>, StartError> {
        let config = &self.config;
        let Prepared { meta, file, body } = prepare::read_script(config, &request.script, request.meta.as_ref())?;
        let runtime = Handle::try_current()
            .map_err(|error| StartError::new(StartErrorCode::Worker, format!("failed to start a run: {error}")))?;
        let (worker, report) = aside(&runtime, || launch::launch(config, file, &body))?;
        if !report.reasons.is_empty() {
            tracing::debug!(missing = report.reasons.join("; "), "the worker is not shut in whole");
        }
        let terms = prepare::check_terms(config, &request)?;
        let id = Uuid::now_v7();
        let origin = request.origin.unwrap_or_else(|| origin_of(id));
        let info = Arc::new(RunInfo {
            id: RunId::new(id.to_string()),
            meta: Arc::new(meta),
        });
        let (run, shared) = JsRun::new(info, origin, terms.limits);
        let owner = Owner::new(Arc::clone(config), shared, self.observers.clone(), terms, request);
        owner.announce();
        // The owner ends with the run: its holder cancels it at the latest by dropping the run.
        drop(runtime.spawn(owner.run(worker)));
        Ok(Arc::new(run))
    }

    fn observations(&self) -> &WorkflowObservers {
        &self.observers
    }

    fn meta_of(&self, script: &str) -> Option<WorkflowMeta> {
        own_meta(script)
    }
}

/// The origin of a run that begins now: the moment that its id was made at, and chance.
fn origin_of(id: Uuid) -> RunOrigin {
    let (seconds, nanos) = id.get_timestamp().map_or((0, 0), |time| time.to_unix());
    let (high, low) = Uuid::new_v4().as_u64_pair();
    RunOrigin {
        started_at: UnixMillis(seconds * 1_000 + u64::from(nanos) / 1_000_000),
        // The fixed bits of the one half meet random ones of the other.
        seed: (high ^ low.rotate_left(32)) >> 11,
    }
}

/// Does blocking work so that the other tasks of the runtime go on, where the runtime can do that.
fn aside<T>(runtime: &Handle, work: impl FnOnce() -> T) -> T {
    match runtime.runtime_flavor() {
        RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}

impl fmt::Debug for JsEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsEngine")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
