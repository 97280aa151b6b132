//! The ownership of a run.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::time::{Instant, timeout_at};
use weft_observe::panic_text;
use weft_workflow::{Capture, Disposal, RunInfo, RunLimits, RunOrigin, RunResult, WorkflowRun};

/// A run that is cancelled when it is dropped, unless it came to be quiet.
pub(crate) struct OwnedRun {
    handle: Arc<dyn WorkflowRun>,
    quiet: bool,
}

impl OwnedRun {
    pub(crate) fn new(handle: Arc<dyn WorkflowRun>) -> Self {
        Self { handle, quiet: false }
    }

    pub(crate) fn info(&self) -> RunInfo {
        RunInfo {
            id: self.handle.id().clone(),
            meta: Arc::clone(self.handle.meta()),
        }
    }

    pub(crate) fn origin(&self) -> RunOrigin {
        self.handle.origin()
    }

    pub(crate) fn limits(&self) -> RunLimits {
        self.handle.limits()
    }

    pub(crate) fn result(&self) -> BoxFuture<'static, Arc<RunResult>> {
        self.handle.result()
    }

    pub(crate) fn cancel(&self, reason: &str) {
        self.handle.cancel(Some(reason));
    }

    /// Disposes of the run, then lets the capture deliver what is left and releases it. Says whether nothing of the run
    /// is left; if not, it is logged once and changes nothing else.
    pub(crate) async fn quiesce(&mut self, capture: Capture, deadline: Instant) -> bool {
        let quiet = async {
            let disposal = AssertUnwindSafe(async { self.handle.dispose().await });
            match disposal.catch_unwind().await {
                Ok(Disposal::Quiet) => {}
                Ok(Disposal::GraceExpired) => return Err("its grace expired".to_owned()),
                Err(panic) => return Err(format!("its disposal panicked: {}", panic_text(&*panic))),
            }
            capture.delivered().await;
            capture.release();
            // What another thread began to deliver before the release.
            capture.delivered().await;
            Ok(())
        };
        let quiet = timeout_at(deadline, quiet).await;
        let quiet = quiet.unwrap_or_else(|_| Err("its disposal did not return in time".to_owned()));
        if let Err(why) = &quiet {
            tracing::warn!(run = %self.handle.id(), why, "a workflow run did not become quiet; its record stays open");
        }
        self.quiet = quiet.is_ok();
        self.quiet
    }
}

impl Drop for OwnedRun {
    fn drop(&mut self) {
        if !self.quiet {
            self.handle.cancel(Some("the call was abandoned"));
        }
    }
}
