//! The handle of a run, and what it shares with the run's owner.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use weft_types::RunId;
use weft_workflow::{Disposal, RunInfo, RunLimits, RunOrigin, RunResult, WorkflowMeta, WorkflowRun};

/// What a run is cancelled for without a reason.
const NO_REASON: &str = "workflow cancelled";

/// A run's handle. Dropping it cancels the run.
pub(super) struct JsRun {
    info: Arc<RunInfo>,
    origin: RunOrigin,
    limits: RunLimits,
    claim: Arc<Claim>,
    result: watch::Receiver<Option<Arc<RunResult>>>,
    disposal: watch::Receiver<Option<Disposal>>,
}

/// The owner's end of a run's handle.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) info: Arc<RunInfo>,
    pub(super) origin: RunOrigin,
    pub(super) claim: Arc<Claim>,
    pub(super) result: watch::Sender<Option<Arc<RunResult>>>,
    pub(super) disposal: watch::Sender<Option<Disposal>>,
}

/// Who decides how a run ends: whoever claims it first.
#[derive(Debug)]
pub(super) struct Claim {
    state: Mutex<State>,
    /// Fires when a cancel has claimed the run.
    pub(super) cancelled: CancellationToken,
    /// Fires when the holder has asked for the result.
    attended: CancellationToken,
    /// Fires when the run is to be disposed of, or has no holder any more.
    disposing: CancellationToken,
    disposing_since: OnceLock<Instant>,
}

#[derive(Debug)]
enum State {
    Open,
    Cancelled(String),
    Settled,
}

impl Claim {
    fn new() -> Self {
        Self {
            state: Mutex::new(State::Open),
            cancelled: CancellationToken::new(),
            attended: CancellationToken::new(),
            disposing: CancellationToken::new(),
            disposing_since: OnceLock::new(),
        }
    }

    /// Claims the run for a cancel, unless it is claimed already.
    pub(super) fn cancel(&self, reason: &str) {
        let mut state = self.lock();
        if matches!(*state, State::Open) {
            *state = State::Cancelled(reason.to_owned());
            drop(state);
            self.cancelled.cancel();
        }
    }

    /// Claims the run for an outcome of its own.
    ///
    /// # Errors
    ///
    /// A cancel was first, for this reason.
    pub(super) fn settle(&self) -> Result<(), String> {
        let mut state = self.lock();
        match &*state {
            State::Cancelled(reason) => Err(reason.clone()),
            State::Open | State::Settled => {
                *state = State::Settled;
                Ok(())
            }
        }
    }

    /// Whether nobody has claimed the run.
    pub(super) fn is_open(&self) -> bool {
        matches!(*self.lock(), State::Open)
    }

    /// Waits until the holder is ready for what the run will tell, or does not want it to go on.
    pub(super) async fn attended(&self) {
        tokio::select! {
            () = self.attended.cancelled() => {}
            () = self.cancelled.cancelled() => {}
        }
    }

    fn dispose(&self, reason: &str) {
        self.cancel(reason);
        self.disposing_since.get_or_init(Instant::now);
        self.disposing.cancel();
    }

    /// Waits until somebody wants to be rid of the run, and then for what is left of the grace.
    pub(super) async fn out_of_patience(&self, grace: Duration) {
        self.disposing.cancelled().await;
        let since = self.disposing_since.get().copied().unwrap_or_else(Instant::now);
        sleep_until(since + grace).await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is replaced whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JsRun {
    pub(super) fn new(info: Arc<RunInfo>, origin: RunOrigin, limits: RunLimits) -> (Self, Shared) {
        let (claim, result, disposal) = (
            Arc::new(Claim::new()),
            watch::Sender::new(None),
            watch::Sender::new(None),
        );
        let run = Self {
            info: Arc::clone(&info),
            origin,
            limits,
            claim: Arc::clone(&claim),
            result: result.subscribe(),
            disposal: disposal.subscribe(),
        };
        let shared = Shared {
            info,
            origin,
            claim,
            result,
            disposal,
        };
        (run, shared)
    }
}

impl WorkflowRun for JsRun {
    fn id(&self) -> &RunId {
        &self.info.id
    }

    fn meta(&self) -> &Arc<WorkflowMeta> {
        &self.info.meta
    }

    fn origin(&self) -> RunOrigin {
        self.origin
    }

    fn limits(&self) -> RunLimits {
        self.limits
    }

    /// The script begins when this is called for the first time: between the start and this the holder can prepare
    /// for what it will be told.
    fn result(&self) -> BoxFuture<'static, Arc<RunResult>> {
        self.claim.attended.cancel();
        let mut result = self.result.clone();
        async move {
            let settled = result.wait_for(Option::is_some).await.map(|result| result.clone());
            // Without an owner, nothing is going to settle any more.
            let lost = || Arc::new(RunResult::failed("the runtime that ran the workflow is gone", 0));
            settled.ok().flatten().unwrap_or_else(lost)
        }
        .boxed()
    }

    /// As the seam has it; a phase or log line that another thread is emitting at this moment may still be under way
    /// when this returns.
    fn cancel(&self, reason: Option<&str>) {
        self.claim.cancel(reason.unwrap_or(NO_REASON));
    }

    fn dispose(&self) -> BoxFuture<'static, Disposal> {
        self.claim.dispose("workflow disposed");
        let mut disposal = self.disposal.clone();
        async move {
            let disposed = disposal.wait_for(Option::is_some).await.map(|disposal| *disposal);
            disposed.ok().flatten().unwrap_or(Disposal::GraceExpired)
        }
        .boxed()
    }
}

impl Drop for JsRun {
    fn drop(&mut self) {
        self.claim.dispose("its holder dropped it");
    }
}

impl fmt::Debug for JsRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsRun")
            .field("id", &self.info.id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use weft_types::UnixMillis;

    use super::*;

    #[test]
    fn the_first_claim_wins() {
        let claim = Claim::new();
        assert!(claim.is_open());
        claim.cancel("first");
        claim.cancel("second");
        assert_eq!(claim.settle(), Err("first".into()));
        let claim = Claim::new();
        assert_eq!(claim.settle(), Ok(()));
        claim.cancel("too late");
        assert!(!claim.cancelled.is_cancelled());
    }
    #[test]
    fn the_script_waits_until_the_result_is_asked_for_or_nobody_wants_it() {
        let meta = WorkflowMeta {
            name: "n".into(),
            description: "d".into(),
            when_to_use: None,
            phases: Vec::new(),
        };
        let info = Arc::new(RunInfo {
            id: RunId::new("r"),
            meta: Arc::new(meta),
        });
        let begins = |shared: &Shared| shared.claim.attended().now_or_never().is_some();
        let origin = RunOrigin {
            started_at: UnixMillis(0),
            seed: 0,
        };
        let (run, shared) = JsRun::new(Arc::clone(&info), origin, RunLimits::default());
        assert!(!begins(&shared));
        drop(run.result());
        assert!(begins(&shared));
        let (run, shared) = JsRun::new(info, origin, RunLimits::default());
        drop(run);
        assert!(begins(&shared));
    }
}
