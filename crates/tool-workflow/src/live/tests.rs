use std::sync::Mutex;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use weft_session::MemoryLog;
use weft_tools::{Tool, ToolCallRequest, ToolError, ToolLimits, ToolRegistry};
use weft_types::{ContentBlock, Origin, SessionHeader, ToolSpec, UnixMillis};
use weft_workflow::{ObservationKind, WorkflowMeta, WorkflowObservation};

use super::*;

/// A tool that leaks its execution.
#[derive(Default)]
struct Leaking(Mutex<Option<ToolExecution>>);

impl Tool for Leaking {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "leaking".into(),
            description: "d".into(),
            parameters: json!({ "type": "object" }),
        }
    }

    fn output_schema(&self) -> Value {
        json!({})
    }

    fn execute(self: Arc<Self>, execution: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        *self.0.lock().expect("not poisoned") = Some(execution);
        Box::pin(async { Ok(Value::Null) })
    }

    fn render(&self, _arguments: &Value, _value: &Value) -> Vec<ContentBlock> {
        Vec::new()
    }
}

/// An execution whose reporter has closed.
async fn finished() -> ToolExecution {
    let (registry, tool) = (ToolRegistry::new(ToolLimits::default()), Arc::new(Leaking::default()));
    registry
        .register(Arc::clone(&tool) as Arc<dyn Tool>)
        .expect("a good tool")
        .keep();
    registry
        .execute(ToolCallRequest::new("c".into(), "leaking", "{}"))
        .await;
    let execution = tool.0.lock().expect("not poisoned").take();
    execution.expect("leaked")
}

fn run() -> Arc<RunInfo> {
    let meta = WorkflowMeta {
        name: "demo".into(),
        description: "d".into(),
        ..WorkflowMeta::default()
    };
    Arc::new(RunInfo {
        id: "r".into(),
        meta: meta.into(),
    })
}

fn doings() -> Arc<Doings> {
    Arc::new(Doings::new(Arc::default(), std::time::Duration::from_secs(60)))
}

fn session() -> Arc<Session> {
    let header = SessionHeader {
        version: SessionHeader::VERSION,
        id: "s".into(),
        created_at: UnixMillis(0),
        cwd: "/".into(),
        origin: Origin::User,
        parent: None,
        depth: 0,
        label: None,
        run_id: None,
        run_seq: None,
    };
    Session::create(
        header,
        Box::new(MemoryLog::default()),
        Arc::new(|| UnixMillis(0)),
        Vec::new(),
    )
}

fn member(run: &Arc<RunInfo>) -> WorkflowObservation {
    WorkflowObservation {
        run: Arc::clone(run),
        kind: ObservationKind::AgentStart {
            seq: 1,
            label: "a".into(),
            phase: None,
            child_id: "c".into(),
        },
    }
}

#[tokio::test]
async fn d15_a_report_that_comes_too_late_ends_the_capture() {
    let (observers, run) = (WorkflowObservers::new("workflow"), run());
    let live = Live::new(finished().await, renderer(), doings());
    let capture = live.capture(&observers, DisplayLimits::default());
    capture.select(&run);
    assert_eq!((capture.tracked_runs(), observers.len()), (0, 0));
}

#[tokio::test]
async fn d15_a_record_goes_on_when_nothing_can_be_shown_any_more() {
    let (observers, run, session) = (WorkflowObservers::new("workflow"), run(), session());
    let live = Live::new(finished().await, renderer(), doings());
    let capture = live.capture(&observers, DisplayLimits::default());
    live.record(Arc::clone(&session), &run);
    capture.select(&run);
    observers.emit(Some(&run.id), &member(&run));
    assert_eq!(session.len(), 2);
    assert_eq!(
        (capture.tracked_runs(), live.reports.load(Ordering::Acquire)),
        (1, false)
    );
}

fn renderer() -> Renderer {
    Renderer {
        call_title: String::new(),
        shown_members: 20,
        answered: Arc::default(),
    }
}
