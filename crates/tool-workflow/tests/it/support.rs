//! An agent's surroundings without the agent: a registry, a session, an engine to be driven.

mod files;
mod rig;
mod warnings;

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use weft_agent::{AgentContext, PermissionMode, Permissions, Subagents};
use weft_model::ModelTable;
use weft_observe::Subscription;
use weft_session::{Invariant, MemoryLog, Session};
use weft_tool_workflow::{RecordInvariant, WorkflowTool, WorkflowToolConfig};
use weft_tools::{
    Extensions, ProgressObservation, ProgressView, Registration, ToolCallRequest, ToolLimits, ToolRegistry, ToolResult,
};
use weft_types::{AgentId, Event, EventBody, Origin, SessionHeader, UnixMillis, text_of};
use weft_workflow::{StartError, StartRequest, TestEngine, TestRun, WorkflowEngine};

pub(crate) use files::{FailingFiles, Fault};
pub(crate) use rig::{Rig, Stored};
pub(crate) use warnings::Warnings;

/// One calling agent, its session and what its calls report.
pub(crate) struct Caller {
    pub(crate) context: Arc<AgentContext>,
    reports: Arc<Mutex<Vec<ProgressObservation>>>,
    _subscription: Subscription,
}

/// A registry with the tool, and one caller.
pub(crate) struct Bench {
    pub(crate) engine: Arc<TestEngine>,
    pub(crate) registry: ToolRegistry,
    pub(crate) registration: Option<Registration>,
    pub(crate) caller: Caller,
}

impl Deref for Bench {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

/// A plan that starts the run and leaves the rest to the test.
pub(crate) fn started(run: &TestRun, _request: &StartRequest) -> Result<(), StartError> {
    run.start();
    Ok(())
}

impl Bench {
    pub(crate) fn new(
        plan: impl Fn(&TestRun, &StartRequest) -> Result<(), StartError> + Send + Sync + 'static,
    ) -> Self {
        Self::with(plan, WorkflowToolConfig::default(), ToolLimits::default())
    }

    pub(crate) fn with(
        plan: impl Fn(&TestRun, &StartRequest) -> Result<(), StartError> + Send + Sync + 'static,
        config: WorkflowToolConfig,
        limits: ToolLimits,
    ) -> Self {
        Self::assemble(TestEngine::new(plan), config, limits, session("main", 0))
    }

    /// A caller in this session.
    pub(crate) fn on(session: Arc<Session>) -> Self {
        let config = WorkflowToolConfig::default();
        Self::assemble(TestEngine::new(started), config, ToolLimits::default(), session)
    }

    /// A caller in this session, on an engine with this plan.
    pub(crate) fn planned(
        session: Arc<Session>,
        plan: impl Fn(&TestRun, &StartRequest) -> Result<(), StartError> + Send + Sync + 'static,
    ) -> Self {
        let config = WorkflowToolConfig::default();
        Self::assemble(TestEngine::new(plan), config, ToolLimits::default(), session)
    }

    fn assemble(
        engine: Arc<TestEngine>,
        config: WorkflowToolConfig,
        limits: ToolLimits,
        session: Arc<Session>,
    ) -> Self {
        let registry = ToolRegistry::new(limits);
        let tool = WorkflowTool::new(Arc::clone(&engine) as Arc<dyn WorkflowEngine>, config);
        let registration = registry.register(Arc::new(tool)).expect("a good tool");
        let caller = Caller::new(&registry, session);
        Self {
            engine,
            registry,
            registration: Some(registration),
            caller,
        }
    }

    /// Runs a call of the main caller in a task of its own.
    pub(crate) fn spawn(&self, call: ToolCallRequest) -> JoinHandle<ToolResult> {
        let registry = self.registry.clone();
        tokio::spawn(async move { registry.execute(call).await })
    }

    /// Begins the usual call and waits for its run.
    pub(crate) async fn begin(&self) -> (TestRun, JoinHandle<ToolResult>) {
        let result = self.spawn(self.call());
        (self.engine.run(0).await, result)
    }

    /// How many listeners the engine has.
    pub(crate) fn listeners(&self) -> usize {
        self.engine.observations().len()
    }
}

impl Caller {
    pub(crate) fn new(registry: &ToolRegistry, session: Arc<Session>) -> Self {
        let agent = AgentId::mint();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&reports);
        let subscription = registry.progress().subscribe(Some(agent), move |observation| {
            into.lock().expect("not poisoned").push(observation.clone());
        });
        let context = AgentContext {
            agent,
            depth: session.header().depth,
            session,
            cwd: "/work".into(),
            subagents: Arc::new(Subagents::new()),
            models: Arc::new(ModelTable::default()),
            model: Arc::default(),
            permissions: Arc::new(Permissions::new(PermissionMode::Full)),
            approver: None,
            lent: Extensions::new(),
        };
        Self {
            context: Arc::new(context),
            reports,
            _subscription: subscription,
        }
    }

    /// A call of the workflow `demo`.
    pub(crate) fn call(&self) -> ToolCallRequest {
        self.call_with(&json!({ "script": "return 1", "meta": { "name": "demo", "description": "d" } }))
    }

    pub(crate) fn call_with(&self, arguments: &Value) -> ToolCallRequest {
        ToolCallRequest {
            agent: Some(self.context.agent),
            extensions: Extensions::new().with(Arc::clone(&self.context)),
            ..ToolCallRequest::new("call-1".into(), "workflow", arguments.to_string())
        }
    }

    pub(crate) fn reports(&self) -> Vec<ProgressObservation> {
        self.reports.lock().expect("not poisoned").clone()
    }

    pub(crate) fn views(&self) -> Vec<Arc<ProgressView>> {
        self.reports().into_iter().map(|report| report.view).collect()
    }

    /// The texts of all reports, without the run's id.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.views().iter().map(|view| shown(&text_of(&view.content))).collect()
    }

    /// The records in the session, one short line each.
    pub(crate) fn records(&self) -> Vec<String> {
        records(&self.context.session.events().expect("readable"))
    }
}

/// The records among some events, one short line each.
pub(crate) fn records(events: &[Arc<Event>]) -> Vec<String> {
    events.iter().filter_map(|event| record(&event.body)).collect()
}

fn record(body: &EventBody) -> Option<String> {
    Some(match body {
        EventBody::WorkflowRunStart { run_id, name } => format!("{run_id} start {name}"),
        EventBody::WorkflowAgentStart {
            run_id,
            seq,
            label,
            phase,
            child_id,
        } => format!("{run_id} {seq} start {label:?} {phase:?} {child_id}"),
        EventBody::WorkflowAgentEnd { run_id, seq, outcome } => format!("{run_id} {seq} {outcome:?}"),
        EventBody::WorkflowRunEnd { run_id, stop_reason } => format!("{run_id} end {stop_reason:?}"),
        _ => return None,
    })
}

pub(crate) fn header(id: &str, depth: u32) -> SessionHeader {
    SessionHeader {
        version: SessionHeader::VERSION,
        id: id.into(),
        created_at: UnixMillis(0),
        cwd: "/work".to_owned(),
        origin: Origin::User,
        parent: None,
        depth,
        label: None,
        run_id: None,
        run_seq: None,
    }
}

pub(crate) fn invariants() -> Vec<Box<dyn Invariant>> {
    vec![Box::new(RecordInvariant::new())]
}

pub(crate) fn session(id: &str, depth: u32) -> Arc<Session> {
    let log = Box::new(MemoryLog::default());
    Session::create(header(id, depth), log, Arc::new(|| UnixMillis(0)), invariants())
}

/// The text of a result.
pub(crate) fn said(result: &ToolResult) -> String {
    text_of(&result.content)
}

/// What a card shows of counts.
pub(crate) fn done(completed: u32, failed: u32, cancelled: u32) -> String {
    format!("- Done: {completed} completed, {failed} failed, {cancelled} cancelled")
}

/// What a card shows, without the line that those end in that have room for more than counts: the run's id.
pub(crate) fn shown(text: &str) -> String {
    let shown = text.rsplit_once("\n- Run id: ").map_or(text, |(shown, _)| shown);
    shown.to_owned()
}
