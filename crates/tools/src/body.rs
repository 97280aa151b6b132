//! The task that a body runs in, and what becomes of one that does not stop.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::task::{AbortHandle, JoinHandle};
use tracing::Instrument;
use weft_observe::panic_text;

use crate::{ErrorCode, Tool, ToolError, ToolExecution};

type Outcome = Result<Value, ToolError>;

/// Runs a body in a task of its own until it returns, panics, or does not stop within the grace after
/// its signal fired. Dropping the future aborts the body.
pub(crate) async fn run_body(
    tool: Arc<dyn Tool>,
    execution: ToolExecution,
    grace: Duration,
    quarantine: Arc<Quarantine>,
) -> Outcome {
    let signal = execution.signal().clone();
    let name = execution.name().to_owned();
    let mut task = BodyTask::spawn(tool, execution, quarantine);
    let overdue = async {
        signal.cancelled().await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        biased;
        joined = &mut task.handle => joined.unwrap_or_else(|error| Err(ToolError::new(match error.try_into_panic() {
            Ok(panic) => format!("tool {name} panicked: {}", panic_text(&*panic)),
            Err(_) => format!("tool {name} was stopped with the runtime it ran in"),
        }))),
        () = overdue => {
            tracing::warn!(tool = name, ?grace, "a cancelled tool did not stop and is abandoned");
            let message = format!("tool {name} did not stop within {grace:?} after it was cancelled and was abandoned");
            Err(ToolError::with_code(ErrorCode::DidNotStop, message))
        }
    }
}

/// Owns the task of a body: dropped before the body has returned it aborts it.
struct BodyTask {
    handle: JoinHandle<Outcome>,
    quarantine: Arc<Quarantine>,
}

impl BodyTask {
    fn spawn(tool: Arc<dyn Tool>, execution: ToolExecution, quarantine: Arc<Quarantine>) -> Self {
        execution.set_body_started();
        // The call itself may panic as well, so that it belongs into the task.
        let handle = tokio::spawn(async move { tool.execute(execution).await }.in_current_span());
        Self { handle, quarantine }
    }
}

impl Drop for BodyTask {
    fn drop(&mut self) {
        if !self.handle.is_finished() {
            self.handle.abort();
            self.quarantine.admit(self.handle.abort_handle());
        }
    }
}

/// Bodies that were aborted and have not ended yet. One that never waits cannot be ended, only counted.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    bodies: Mutex<Vec<AbortHandle>>,
}

impl Quarantine {
    pub(crate) fn len(&self) -> usize {
        self.unfinished().len()
    }

    fn admit(&self, body: AbortHandle) {
        self.unfinished().push(body);
    }

    fn unfinished(&self) -> MutexGuard<'_, Vec<AbortHandle>> {
        // The vector is sound after every single operation.
        let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        bodies.retain(|body| !body.is_finished());
        bodies
    }
}
