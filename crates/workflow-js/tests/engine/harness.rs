//! Starts scripts and records what is observed of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use weft_observe::Subscription;
use weft_workflow::{
    ObservationChecker, ObservationKind, RunLimits, RunResult, StartError, StartRequest, WorkflowEngine,
    WorkflowObservation, WorkflowRun,
};
use weft_workflow_js::{EngineConfig, JsEngine, WorkerCommand};

use super::members::FakeMembers;

/// Settings with the test worker and short times.
pub(super) fn config() -> EngineConfig {
    EngineConfig {
        worker: worker(),
        max_slice: Duration::from_millis(300),
        cancel_grace: Duration::from_millis(200),
        niceness: 0,
        ..EngineConfig::default()
    }
}

pub(super) fn worker() -> WorkerCommand {
    WorkerCommand {
        program: env!("CARGO_BIN_EXE_weft-worker-test").into(),
        args: Vec::new(),
    }
}

/// A worker that is a shell script.
pub(super) fn shell_worker(script: &str) -> WorkerCommand {
    WorkerCommand {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
    }
}

/// An engine, members, and a record of all observations.
pub(super) struct Harness {
    pub(super) engine: JsEngine,
    pub(super) members: FakeMembers,
    seen: Arc<watch::Sender<Vec<String>>>,
    checker: Arc<Mutex<(ObservationChecker, Vec<String>)>>,
    _subscription: Subscription,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::with(config())
    }

    pub(super) fn with(config: EngineConfig) -> Self {
        let engine = JsEngine::new(config).expect("the settings are valid");
        let seen = Arc::new(watch::Sender::new(Vec::new()));
        let checker = Arc::new(Mutex::new((ObservationChecker::new(), Vec::new())));
        let (record, check) = (Arc::clone(&seen), Arc::clone(&checker));
        let subscription = engine
            .observations()
            .subscribe(None, move |observation: &WorkflowObservation| {
                let mut check = check.lock().expect("nothing panics under it");
                if let Err(violation) = check.0.observe(observation) {
                    check.1.push(violation.to_string());
                }
                record.send_modify(|seen| seen.push(line(&observation.kind)));
            });
        Self {
            engine,
            members: FakeMembers::new(),
            seen,
            checker,
            _subscription: subscription,
        }
    }

    pub(super) fn request(&self, script: &str) -> StartRequest {
        StartRequest {
            script: script.to_owned(),
            meta: Some(json!({ "name": "test", "description": "a test" })),
            args: None,
            provider: None,
            limits: RunLimits::default(),
            depth: 0,
            origin: None,
            saved: None,
            members: Arc::new(self.members.clone()),
            cancel: CancellationToken::new(),
        }
    }

    pub(super) fn start(&self, script: &str) -> Arc<dyn WorkflowRun> {
        let run = self.engine.start(self.request(script)).expect("the script is accepted");
        attend(&*run);
        run
    }

    pub(super) fn refuse(&self, request: StartRequest) -> StartError {
        let seen = self.seen();
        let error = self.engine.start(request).err().expect("the request is refused");
        assert_eq!(self.seen(), seen, "a refused request publishes nothing");
        error
    }

    /// Runs a script to its end and disposes of it.
    pub(super) async fn run(&self, script: &str) -> Arc<RunResult> {
        self.finish(&*self.start(script)).await
    }

    pub(super) async fn run_request(&self, request: StartRequest) -> Arc<RunResult> {
        let run = self.engine.start(request).expect("the script is accepted");
        self.finish(&*run).await
    }

    pub(super) async fn finish(&self, run: &dyn WorkflowRun) -> Arc<RunResult> {
        let result = run.result().await;
        run.dispose().await;
        self.check();
        result
    }

    /// Everything observed so far, one line each.
    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.borrow().clone()
    }

    /// Waits until something has been observed.
    pub(super) async fn wait_for(&self, expected: &str) {
        let mut seen = self.seen.subscribe();
        let found = seen.wait_for(|seen| seen.iter().any(|line| line == expected)).await;
        drop(found.expect("the harness owns the sender"));
    }

    /// Tests that what was observed so far keeps the contract.
    #[track_caller]
    pub(super) fn check(&self) {
        let checker = self.checker.lock().expect("nothing panics under it");
        assert_eq!(checker.1, Vec::<String>::new());
    }
}

fn line(kind: &ObservationKind) -> String {
    match kind {
        ObservationKind::Start => "start".into(),
        ObservationKind::Phase { title } => format!("phase {title}"),
        ObservationKind::Log { message } => format!("log {message}"),
        ObservationKind::AgentStart { seq, label, phase, .. } => match phase {
            Some(phase) => format!("agent {seq} {label:?} in {phase:?}"),
            None => format!("agent {seq} {label:?}"),
        },
        ObservationKind::AgentEnd { seq, outcome, .. } => format!("agent {seq} {outcome:?}"),
        ObservationKind::End {
            stop, agents_started, ..
        } => format!("end {stop:?} {agents_started}"),
    }
}

/// The value of a run that completed.
#[track_caller]
pub(super) fn value_of(result: &RunResult) -> Value {
    let value = result.value.as_ref().unwrap_or_else(|| panic!("{:?}", result.error));
    serde_json::from_str(value.get()).expect("a value is JSON")
}

/// The error of a run that did not complete.
#[track_caller]
pub(super) fn error_of(result: &RunResult) -> &str {
    result
        .error
        .as_deref()
        .unwrap_or_else(|| panic!("it completed: {:?}", result.value))
}

/// Tells when a worker is dead: it holds the other end of a pipe open.
pub(super) struct Lifeline {
    folder: tempfile::TempDir,
}

impl Lifeline {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("lifeline");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a pipe can be made");
        Self { folder }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("lifeline")
    }

    /// The test worker, holding the pipe open.
    pub(super) fn worker(&self) -> WorkerCommand {
        let mut worker = shell_worker("exec 9>\"$0\"; exec \"$1\"");
        worker.args.push(self.path().into());
        worker.args.push(env!("CARGO_BIN_EXE_weft-worker-test").into());
        worker
    }

    /// Resolves when the worker is dead. To be called before the worker starts, since it waits for a reader.
    pub(super) fn dead(&self) -> impl Future<Output = ()> + use<> {
        let path = self.path();
        let read = tokio::task::spawn_blocking(move || std::fs::read(path).expect("the pipe can be read"));
        async move { drop(read.await.expect("no panic")) }
    }
}

/// Lets the script begin, as a holder does that waits for the result.
pub(super) fn attend(run: &dyn WorkflowRun) {
    drop(run.result());
}
