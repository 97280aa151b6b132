//! The phases of one execution.
//!
//! An [`Opened`] execution has passed phases 0 to 2, which never wait, so that a scheduler can take calls
//! through them in order. [`Opened::run`] goes on to phase 5 and gives a [`Settled`] one, several of which
//! may be under way at once; [`Settled::finish`] takes it through phases 6 to 9, in order again.

mod admit;
mod finish;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weft_types::ContentBlock;

use crate::body::{Quarantine, run_body};
use crate::contain::contained_future;
use crate::execution::Deferred;
use crate::policy::Wrapper;
use crate::registry::{Definition, Layer};
use crate::{Access, ErrorCode, Executed, JournalError, Next, StartedObservation, ToolError, ToolExecution};

/// Waited for just before the execute phase opens; its failure fails the call.
pub(crate) type Checkpoint<'a> = BoxFuture<'a, Result<(), JournalError>>;

/// An execution that exists and has been decided upon.
pub(crate) struct Opened {
    layer: Arc<Layer>,
    execution: ToolExecution,
    definition: Option<Arc<Definition>>,
    /// The same, unless no body can run: the tool is unknown or its arguments do not fit.
    runnable: Result<Arc<Definition>, ToolError>,
    /// What the tool said that the call would do when it was decided upon.
    access: Access,
    admission: admit::Admission,
}

/// An execution whose body, if it ran, has returned; its reporter is closed for good.
pub(crate) struct Settled {
    layer: Arc<Layer>,
    execution: ToolExecution,
    definition: Option<Arc<Definition>>,
    outcome: Result<Value, ToolError>,
    content: Vec<ContentBlock>,
    deferred: Deferred,
    /// Policies have no say in this result.
    is_sealed: bool,
}

/// Why a call ends before its time.
#[derive(Clone)]
struct Stop {
    error: ToolError,
    is_sealed: bool,
}

impl Stop {
    /// A failure like any other, which policies after the body judge.
    fn open(error: ToolError) -> Self {
        Self {
            error,
            is_sealed: false,
        }
    }

    /// A failure that no policy has a say in: one of a policy itself, or of a call that none has seen.
    fn sealed(error: ToolError) -> Self {
        Self { error, is_sealed: true }
    }
}

impl Opened {
    /// Phases 2 (the rest of it) to 5.
    pub(crate) async fn run(self, checkpoint: Option<Checkpoint<'_>>) -> Settled {
        let executed = match self.admit(checkpoint).await {
            Ok(()) => self.execute_phase().await,
            Err(stop) => Err(stop),
        };
        self.settle(executed)
    }

    /// Phase 4. Whatever way it is left, the reporter is closed when it has been.
    async fn execute_phase(&self) -> Result<Executed, Stop> {
        let execution = &self.execution;
        let observation = StartedObservation {
            agent: execution.agent(),
            call_id: execution.call_id().clone(),
            root_call_id: execution.root_call_id().clone(),
            nested: execution.is_nested(),
            tool: execution.name().to_owned(),
        };
        self.layer.root.started.emit(execution.agent().as_ref(), &observation);
        let over = CancellationToken::new();
        let chain = Arc::new(Chain::new(self, over.clone()));
        let _reporter = execution.open_reporter();
        let _over = over.drop_guard();
        contained_future(|| chain.step(0, execution.clone()))
            .await
            .map_err(|panic| {
                let message = format!("a policy around tool {} panicked: {panic}", execution.name());
                Stop::sealed(ToolError::new(message))
            })
    }

    /// Judges what came out of the execute phase, and renders it.
    fn settle(self, executed: Result<Executed, Stop>) -> Settled {
        let (outcome, is_sealed) = match executed {
            Ok(executed) => (self.judge(executed), false),
            Err(stop) => (Err(stop.error), stop.is_sealed),
        };
        let deferred = self.execution.take_deferred();
        let mut settled = Settled {
            layer: self.layer,
            execution: self.execution,
            definition: self.definition,
            outcome,
            content: Vec::new(),
            deferred,
            is_sealed,
        };
        settled.render();
        settled
    }

    fn judge(&self, executed: Executed) -> Result<Value, ToolError> {
        let is_checked = executed.is_checked_by(self.execution.token());
        let value = executed.into_outcome()?;
        // A wrapper may have answered for a body that cannot run; nothing could render its value.
        let definition = self.runnable.as_ref().map_err(Clone::clone)?;
        if self.execution.signal().is_cancelled() {
            return Err(aborted(&self.execution));
        }
        if !is_checked {
            definition.check_value(&value)?;
        }
        Ok(value)
    }
}

/// The error of a call whose signal has fired.
fn aborted(execution: &ToolExecution) -> ToolError {
    let name = execution.name();
    if execution.body_started() {
        ToolError::with_code(ErrorCode::Aborted, format!("tool {name} was cancelled"))
    } else {
        let message = format!("tool {name} was cancelled before it started");
        ToolError::with_code(ErrorCode::AbortedBeforeDispatch, message)
    }
}

/// The wrappers of one execution and the body within them.
pub(crate) struct Chain {
    wrappers: Vec<Arc<Wrapper>>,
    runnable: Result<Arc<Definition>, ToolError>,
    grace: Duration,
    quarantine: Arc<Quarantine>,
    /// Fires when the execute phase is over: nothing may run any more, not even for a wrapper that
    /// handed its [`Next`] to somebody else.
    over: CancellationToken,
}

impl Chain {
    fn new(opened: &Opened, over: CancellationToken) -> Self {
        let layers = opened.layer.outermost_first();
        Self {
            wrappers: layers.iter().flat_map(|layer| layer.wrappers.snapshot()).collect(),
            runnable: opened.runnable.clone(),
            grace: opened.layer.root.limits.cancel_grace,
            quarantine: Arc::clone(&opened.layer.root.quarantine),
            over,
        }
    }

    /// Runs the wrapper at `depth`, or the body within all of them.
    pub(crate) fn step(self: Arc<Self>, depth: usize, execution: ToolExecution) -> BoxFuture<'static, Executed> {
        let Some(wrapper) = self.wrappers.get(depth).map(Arc::clone) else {
            return self.run_body(execution).boxed();
        };
        let next = Next::new(self, depth + 1, execution.clone());
        async move { wrapper(execution, next).await }.boxed()
    }

    /// Phase 5.
    async fn run_body(self: Arc<Self>, execution: ToolExecution) -> Executed {
        let token = execution.token();
        let outcome = tokio::select! {
            biased;
            () = self.over.cancelled() => Err(ToolError::new("the execute phase of this call is over")),
            outcome = self.checked_body(execution) => outcome,
        };
        Executed::by_body(outcome, token)
    }

    async fn checked_body(&self, execution: ToolExecution) -> Result<Value, ToolError> {
        let definition = self.runnable.as_ref().map_err(Clone::clone)?;
        if execution.signal().is_cancelled() {
            return Err(aborted(&execution));
        }
        let tool = Arc::clone(&definition.tool);
        let value = run_body(tool, execution, self.grace, Arc::clone(&self.quarantine)).await?;
        definition.check_value(&value).map(|()| value)
    }
}
