//! An engine without a script language, for tests: a plan in Rust decides what is emitted and when.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;
use weft_types::{MemberOutcome, RunId, SessionId, UnixMillis};

use crate::{
    Disposal, ObservationKind, RunInfo, RunLimits, RunOrigin, RunResult, StartError, StartErrorCode, StartRequest,
    WorkflowEngine, WorkflowMeta, WorkflowObservation, WorkflowObservers, WorkflowRun,
};

type Plan = dyn Fn(&TestRun, &StartRequest) -> Result<(), StartError> + Send + Sync;

/// An engine whose runs do what a plan says, however wrong.
///
/// The plan is called inside `start()`, after the metadata were read and before anything was emitted: it emits the
/// start of the run itself, or does not.
pub struct TestEngine {
    observers: WorkflowObservers,
    plan: Box<Plan>,
    runs: watch::Sender<Vec<TestRun>>,
}

/// How the disposal of a run behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestDisposal {
    /// It resolves at once.
    Quiet,
    /// It resolves at once, having given up.
    GraceExpired,
    /// It waits until the behaviour is set to another one.
    Pending,
    /// It panics.
    Panics,
}

/// One run, to be driven by a test. Clones are the same run.
#[derive(Clone)]
pub struct TestRun {
    inner: Arc<Inner>,
}

struct Inner {
    observers: WorkflowObservers,
    info: Arc<RunInfo>,
    /// The id the handle claims, if another one than the observations'.
    claimed: Mutex<Option<RunId>>,
    result: watch::Sender<Option<Arc<RunResult>>>,
    cancels: watch::Sender<Vec<Option<String>>>,
    disposal: watch::Sender<TestDisposal>,
    disposals: watch::Sender<usize>,
}

struct Handle {
    run: TestRun,
    id: RunId,
    origin: RunOrigin,
    limits: RunLimits,
}

impl TestEngine {
    /// The origin of runs whose request has none.
    pub const ORIGIN: RunOrigin = RunOrigin {
        started_at: UnixMillis(1_000_000_000_000),
        seed: 7,
    };

    /// An engine with a plan. The runs' ids are `run-1`, `run-2` and so on.
    pub fn new(plan: impl Fn(&TestRun, &StartRequest) -> Result<(), StartError> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            observers: WorkflowObservers::new("workflow"),
            plan: Box::new(plan),
            runs: watch::Sender::new(Vec::new()),
        })
    }

    /// The runs started so far.
    pub fn runs(&self) -> Vec<TestRun> {
        self.runs.borrow().clone()
    }

    /// Waits for the run of this index to be started, counted from 0.
    pub async fn run(&self, index: usize) -> TestRun {
        let mut runs = self.runs.subscribe();
        let started = runs.wait_for(|runs| runs.len() > index).await;
        started.expect("the engine owns the sender")[index].clone()
    }
}

impl WorkflowEngine for TestEngine {
    fn start(&self, request: StartRequest) -> Result<Arc<dyn WorkflowRun>, StartError> {
        let meta = request.meta.as_ref().map_or_else(
            || {
                self.meta_of(&request.script)
                    .ok_or_else(|| StartError::new(StartErrorCode::MetaInvalid, "workflow meta is missing"))
            },
            |meta| {
                WorkflowMeta::from_json(meta)
                    .map_err(|error| StartError::new(StartErrorCode::MetaInvalid, error.to_string()))
            },
        )?;
        let id = RunId::new(format!("run-{}", self.runs.borrow().len() + 1));
        let run = TestRun::new(&self.observers, RunInfo { id, meta: meta.into() });
        self.runs.send_modify(|runs| runs.push(run.clone()));
        (self.plan)(&run, &request)?;
        let id = lock(&run.inner.claimed)
            .clone()
            .unwrap_or_else(|| run.info().id.clone());
        let origin = request.origin.unwrap_or(TestEngine::ORIGIN);
        let limits = request.limits;
        Ok(Arc::new(Handle {
            run,
            id,
            origin,
            limits,
        }))
    }

    fn observations(&self) -> &WorkflowObservers {
        &self.observers
    }

    /// The name after a leading `// name: `.
    fn meta_of(&self, script: &str) -> Option<WorkflowMeta> {
        let name = script.lines().next()?.strip_prefix("// name: ")?;
        Some(WorkflowMeta {
            name: name.to_owned(),
            description: "a test".to_owned(),
            ..WorkflowMeta::default()
        })
    }
}

impl TestRun {
    fn new(observers: &WorkflowObservers, info: RunInfo) -> Self {
        Self {
            inner: Arc::new(Inner {
                observers: observers.clone(),
                info: Arc::new(info),
                claimed: Mutex::new(None),
                result: watch::Sender::new(None),
                cancels: watch::Sender::new(Vec::new()),
                disposal: watch::Sender::new(TestDisposal::Quiet),
                disposals: watch::Sender::new(0),
            }),
        }
    }

    /// What its observations say it is.
    pub fn info(&self) -> &Arc<RunInfo> {
        &self.inner.info
    }

    /// Makes the handle claim another id than the observations have. Only inside `start()`.
    pub fn claim(&self, id: RunId) {
        *lock(&self.inner.claimed) = Some(id);
    }

    /// Emits as this run.
    pub fn emit(&self, kind: ObservationKind) {
        self.emit_as(&self.inner.info, kind);
    }

    /// Emits as any run.
    pub fn emit_as(&self, info: &Arc<RunInfo>, kind: ObservationKind) {
        let run = Arc::clone(info);
        self.inner
            .observers
            .emit(Some(&info.id), &WorkflowObservation { run, kind });
    }

    /// Emits the run's start.
    pub fn start(&self) {
        self.emit(ObservationKind::Start);
    }

    /// Emits a phase.
    pub fn phase(&self, title: &str) {
        self.emit(ObservationKind::Phase {
            title: title.to_owned(),
        });
    }

    /// Emits a log line.
    pub fn log(&self, message: &str) {
        let message = message.to_owned();
        self.emit(ObservationKind::Log { message });
    }

    /// Emits the start of a member without a phase, whose session is `child-` and its number.
    pub fn member_start(&self, seq: u64, label: &str) {
        self.emit(ObservationKind::AgentStart {
            seq,
            label: label.to_owned(),
            phase: None,
            child_id: SessionId::new(format!("child-{seq}")),
        });
    }

    /// Emits the end of such a member.
    pub fn member_end(&self, seq: u64, label: &str, outcome: MemberOutcome) {
        self.emit(ObservationKind::AgentEnd {
            seq,
            label: label.to_owned(),
            phase: None,
            child_id: SessionId::new(format!("child-{seq}")),
            outcome,
        });
    }

    /// Emits the run's end as a result has it.
    pub fn end(&self, result: &RunResult) {
        self.emit(ObservationKind::End {
            stop: result.stop,
            error: result.error.clone(),
            agents_started: result.agents_started,
        });
    }

    /// Settles the run without emitting anything. The first result stays.
    pub fn settle(&self, result: RunResult) {
        self.inner.result.send_if_modified(|slot| {
            let first = slot.is_none();
            slot.get_or_insert_with(|| Arc::new(result));
            first
        });
    }

    /// Emits the run's end and settles it.
    pub fn finish(&self, result: RunResult) {
        self.end(&result);
        self.settle(result);
    }

    /// Completes the run with a JSON text as value.
    ///
    /// # Panics
    ///
    /// If the text is not JSON.
    pub fn complete(&self, json: &str, agents_started: u64) {
        let value = serde_json::from_str(json).expect("a test gives JSON");
        self.finish(RunResult::completed(value, agents_started));
    }

    /// Decides how the disposal behaves; one that is pending goes on accordingly.
    pub fn set_disposal(&self, disposal: TestDisposal) {
        self.inner.disposal.send_replace(disposal);
    }

    /// The reasons of all cancels so far, also those that came too late.
    pub fn cancels(&self) -> Vec<Option<String>> {
        self.inner.cancels.borrow().clone()
    }

    /// Waits for a cancel.
    pub async fn cancelled(&self) {
        let mut cancels = self.inner.cancels.subscribe();
        let seen = cancels.wait_for(|cancels| !cancels.is_empty()).await;
        drop(seen.expect("the run owns the sender"));
    }

    /// How often it was disposed of.
    pub fn disposals(&self) -> usize {
        *self.inner.disposals.borrow()
    }

    /// Waits for a disposal to begin.
    pub async fn disposing(&self) {
        let mut disposals = self.inner.disposals.subscribe();
        let seen = disposals.wait_for(|disposals| *disposals > 0).await;
        drop(seen.expect("the run owns the sender"));
    }
}

impl WorkflowRun for Handle {
    fn id(&self) -> &RunId {
        &self.id
    }

    fn meta(&self) -> &Arc<WorkflowMeta> {
        &self.run.inner.info.meta
    }

    fn origin(&self) -> RunOrigin {
        self.origin
    }

    fn limits(&self) -> RunLimits {
        self.limits
    }

    fn result(&self) -> BoxFuture<'static, Arc<RunResult>> {
        let mut result = self.run.inner.result.subscribe();
        let inner = Arc::clone(&self.run.inner);
        async move {
            let settled = result.wait_for(Option::is_some).await;
            let result = settled.expect("the run owns the sender").clone();
            drop(inner);
            result.expect("waited for")
        }
        .boxed()
    }

    fn cancel(&self, reason: Option<&str>) {
        let reason = reason.map(str::to_owned);
        self.run.inner.cancels.send_modify(|cancels| cancels.push(reason));
    }

    fn dispose(&self) -> BoxFuture<'static, Disposal> {
        self.run.inner.disposals.send_modify(|disposals| *disposals += 1);
        let inner = Arc::clone(&self.run.inner);
        async move {
            let mut disposal = inner.disposal.subscribe();
            let decided = disposal.wait_for(|disposal| *disposal != TestDisposal::Pending).await;
            match *decided.expect("the run owns the sender") {
                TestDisposal::GraceExpired => Disposal::GraceExpired,
                TestDisposal::Panics => panic!("the disposal panics on purpose"),
                TestDisposal::Quiet | TestDisposal::Pending => Disposal::Quiet,
            }
        }
        .boxed()
    }
}

impl fmt::Debug for TestEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestEngine")
            .field("runs", &self.runs.borrow().len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for TestRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestRun")
            .field("id", &self.inner.info.id)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
