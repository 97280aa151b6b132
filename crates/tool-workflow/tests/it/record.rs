//! The durable record of a run.

use std::sync::{Arc, Mutex, mpsc};

use serde_json::{Value, json};
use weft_session::SessionUpdate;
use weft_tools::{Extensions, Tool, ToolCallRequest, ToolError, ToolExecution, ToolRegistry};
use weft_types::{ContentBlock, Event, EventBody, MemberOutcome, ToolSpec, text_of};
use weft_workflow::{ObservationKind, RunResult, StartRequest, TestDisposal, TestRun};

use crate::support::{Bench, Caller, Warnings, said, session, started};

const WHOLE: [&str; 4] = [
    "run-1 start demo",
    "run-1 1 start \"a\" None child-1",
    "run-1 1 Completed",
    "run-1 end Completed",
];

/// Plays a run with one member that completes.
async fn one_member(bench: &Bench) -> String {
    let (run, result) = bench.begin().await;
    run.member_start(1, "a");
    run.member_end(1, "a", MemberOutcome::Completed);
    run.complete("null", 1);
    let result = result.await.expect("no panic");
    assert_eq!(run.disposals(), 1);
    said(&result)
}

#[tokio::test]
async fn g35_v01_a_top_level_run_is_recorded_in_the_order_of_its_events() {
    let bench = Bench::new(started);
    one_member(&bench).await;
    assert_eq!(bench.records(), WHOLE);
}

fn member(seq: u64, label: &str, phase: Option<&str>) -> ObservationKind {
    ObservationKind::AgentStart {
        seq,
        label: label.to_owned(),
        phase: phase.map(str::to_owned),
        child_id: "c".into(),
    }
}

/// Types and data of everything in the session's log.
fn types_and_data(bench: &Bench) -> Vec<(String, Value)> {
    let events = bench.context.session.events().expect("readable");
    let json = events.iter().map(|event| serde_json::to_value(&**event).expect("JSON"));
    json.map(|event| {
        (
            event["type"].as_str().expect("a type").to_owned(),
            event["data"].clone(),
        )
    })
    .collect()
}

#[tokio::test]
async fn g38_v01_the_four_records_have_exactly_their_fields_and_an_absent_phase_has_no_key() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.emit(member(1, "", None));
    run.emit(member(2, "b", Some("")));
    run.member_end(2, "b", MemberOutcome::Failed);
    run.member_end(1, "", MemberOutcome::Cancelled);
    run.finish(RunResult::failed("e", 2));
    result.await.expect("no panic");
    let expected = [
        ("run-start", json!({ "runId": "run-1", "name": "demo" })),
        (
            "agent-start",
            json!({ "runId": "run-1", "seq": 1, "label": "", "childId": "c" }),
        ),
        (
            "agent-start",
            json!({ "runId": "run-1", "seq": 2, "label": "b", "phase": "", "childId": "c" }),
        ),
        ("agent-end", json!({ "runId": "run-1", "seq": 2, "outcome": "failed" })),
        (
            "agent-end",
            json!({ "runId": "run-1", "seq": 1, "outcome": "cancelled" }),
        ),
        ("run-end", json!({ "runId": "run-1", "stopReason": "error" })),
    ];
    let expected = expected.map(|(kind, data)| (format!("tool-workflow/{kind}"), data));
    assert_eq!(types_and_data(&bench), expected);
}

#[tokio::test]
async fn g39_labels_and_phases_are_recorded_to_the_letter() {
    let long = ["x".repeat(48), "x".repeat(49), "l\né🚀".to_owned() + &"x".repeat(300)];
    let labels = ["", " ", "\n", "👩‍👩‍👧‍👦", "\u{202e}", &long[0], &long[1], &long[2]];
    let phases = ["A", "a", "A ", " A", "", "__proto__", "A\n", "Ａ"];
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    for (seq, (label, phase)) in (1..).zip(labels.into_iter().zip(phases)) {
        run.emit(member(seq, label, Some(phase)));
    }
    run.settle(RunResult::failed("e", 8));
    result.await.expect("no panic");
    let recorded = types_and_data(&bench);
    let recorded: Vec<_> = recorded[1..]
        .iter()
        .map(|(_, data)| {
            (
                data["label"].as_str().expect("text"),
                data["phase"].as_str().expect("text"),
            )
        })
        .collect();
    assert_eq!(recorded, labels.into_iter().zip(phases).collect::<Vec<_>>());
}

#[tokio::test]
async fn g40_v06_v07_the_end_is_written_after_the_disposal_and_what_it_emits() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.set_disposal(TestDisposal::Pending);
    run.member_start(1, "a");
    run.complete("null", 1);
    run.disposing().await;
    assert_eq!(bench.records().len(), 2);
    run.member_end(1, "a", MemberOutcome::Cancelled);
    assert_eq!(bench.records().len(), 3);
    assert!(!result.is_finished());
    run.set_disposal(TestDisposal::Quiet);
    result.await.expect("no panic");
    assert_eq!(bench.records()[2..], ["run-1 1 Cancelled", "run-1 end Completed"]);
}

#[tokio::test]
async fn g36_v03_a_refused_start_records_nothing() {
    let bench = Bench::new(started);
    let bad = json!({ "script": "x", "meta": { "name": "n", "description": "d", "surplus": 1, "phases": [{}] } });
    let refused = bench.registry.execute(bench.call_with(&bad)).await;
    assert!(refused.is_error());
    let surplus = json!({ "script": "x", "meta": { "name": "n", "description": "", "surplus": 1 } });
    let refused = bench.registry.execute(bench.call_with(&surplus)).await;
    let text = said(&refused);
    assert!(
        text.contains("meta.surplus is unknown") && text.contains("meta.description"),
        "all at once: {text}"
    );
    assert!(bench.records().is_empty() && bench.engine.runs().is_empty());
}

/// A tool that calls the workflow tool.
struct Nesting {
    registry: ToolRegistry,
}

impl Tool for Nesting {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "nesting".into(),
            description: "d".into(),
            parameters: json!({ "type": "object" }),
        }
    }

    fn output_schema(&self) -> serde_json::Value {
        json!({})
    }

    fn execute(
        self: Arc<Self>,
        execution: ToolExecution,
    ) -> futures::future::BoxFuture<'static, Result<serde_json::Value, ToolError>> {
        Box::pin(async move {
            let arguments = json!({ "script": "x", "meta": { "name": "inner", "description": "d" } });
            let call = execution.nested("call-1:1".into(), "workflow", arguments.to_string());
            self.registry.execute(call).await.outcome
        })
    }

    fn render(&self, _arguments: &serde_json::Value, value: &serde_json::Value) -> Vec<ContentBlock> {
        vec![ContentBlock::text(value.to_string())]
    }
}

#[tokio::test]
async fn g41_v02_a_nested_call_runs_and_reports_and_writes_nothing() {
    let bench = Bench::new(|run: &TestRun, _: &StartRequest| {
        run.member_start(1, "a");
        run.member_end(1, "a", MemberOutcome::Completed);
        run.complete(&format!("\"{}\"", "z".repeat(60_000)), 1);
        Ok(())
    });
    let registry = bench.registry.clone();
    bench
        .registry
        .register(Arc::new(Nesting { registry }))
        .expect("a good tool")
        .keep();
    let call = ToolCallRequest {
        extensions: Extensions::new().with(Arc::clone(&bench.context)),
        agent: Some(bench.context.agent),
        ..ToolCallRequest::new("call-1".into(), "nesting", "{}")
    };
    let value = bench.registry.execute(call).await.outcome.expect("it works");
    assert_eq!(
        value["result"].as_str().map(str::len),
        Some(60_000),
        "G-84: whole for a nested caller"
    );
    assert!(bench.records().is_empty());
    let reports = bench.reports();
    assert!(reports.len() == 1 && reports[0].nested && reports[0].call_id.as_str() == "call-1:1");
}

#[tokio::test]
async fn g42_v04_a_run_without_members_has_a_start_and_an_end() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.complete("null", 0);
    result.await.expect("no panic");
    assert_eq!(bench.records(), ["run-1 start demo", "run-1 end Completed"]);
}

#[tokio::test]
async fn g43_v05_two_runs_of_one_agent_interleave_and_each_has_its_own_members_and_end() {
    let bench = Bench::new(started);
    let (first, first_result) = bench.begin().await;
    let second_call = ToolCallRequest {
        call_id: "call-2".into(),
        ..bench.call()
    };
    let second_result = bench.spawn(second_call);
    let second = bench.engine.run(1).await;
    first.member_start(1, "a");
    second.member_start(1, "b");
    first.member_end(1, "a", MemberOutcome::Failed);
    second.member_end(1, "b", MemberOutcome::Completed);
    second.complete("2", 1);
    assert!(!second_result.await.expect("no panic").is_error());
    first.finish(RunResult::failed("e", 1));
    assert!(first_result.await.expect("no panic").is_error());
    assert_eq!(
        bench.records(),
        [
            "run-1 start demo",
            "run-2 start demo",
            "run-1 1 start \"a\" None child-1",
            "run-2 1 start \"b\" None child-1",
            "run-1 1 Failed",
            "run-2 1 Completed",
            "run-2 end Completed",
            "run-1 end Error",
        ]
    );
}

#[tokio::test]
async fn g62_g63_members_are_recorded_and_shown_in_the_order_of_their_publication() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.member_start(3, "c");
    run.member_start(1, "a");
    run.member_end(1, "a", MemberOutcome::Completed);
    run.member_end(3, "c", MemberOutcome::Completed);
    run.complete("null", 3);
    result.await.expect("no panic");
    let order: Vec<_> = bench.records()[1..5]
        .iter()
        .map(|record| record[6..7].to_owned())
        .collect();
    assert_eq!(order, ["3", "1", "1", "3"]);
    assert!(bench.texts()[2].starts_with("- Running (2): c, a\n"));
}

#[tokio::test]
async fn an_engine_that_leaves_members_open_leaves_the_record_open() {
    let (bench, warnings) = (Bench::new(started), Warnings::catch());
    let (run, result) = bench.begin().await;
    run.member_start(1, "a");
    run.complete("null", 1);
    assert!(!result.await.expect("no panic").is_error());
    assert_eq!(bench.records(), WHOLE[..2]);
    let seen = warnings.seen();
    assert!(
        seen.len() == 1 && seen[0].contains("it ends while members [1] run"),
        "{seen:?}"
    );
    assert_eq!(bench.listeners(), 0);
}

#[tokio::test]
async fn the_run_start_is_in_the_log_before_anything_is_shown() {
    let bench = Bench::new(started);
    let order = Arc::new(Mutex::new(Vec::new()));
    let (shown, written) = (Arc::clone(&order), Arc::clone(&order));
    let _shown = bench.registry.progress().subscribe(None, move |_| {
        shown.lock().expect("not poisoned").push("shown");
    });
    let _written = bench.context.session.observe(move |update| {
        if matches!(update, SessionUpdate::Event(event) if is_run_end_or_start(event)) {
            written.lock().expect("not poisoned").push("written");
        }
    });
    let (run, result) = bench.begin().await;
    run.complete("null", 0);
    result.await.expect("no panic");
    assert_eq!(*order.lock().expect("not poisoned"), ["written", "shown", "written"]);
}

fn is_run_end_or_start(event: &Event) -> bool {
    matches!(
        event.body,
        EventBody::WorkflowRunStart { .. } | EventBody::WorkflowRunEnd { .. }
    )
}

#[tokio::test]
async fn g86_each_run_is_recorded_in_the_session_of_its_own_caller() {
    let bench = Bench::new(|run: &TestRun, _: &StartRequest| {
        run.complete("null", 0);
        Ok(())
    });
    let child = Caller::new(&bench.registry, session("child", 1));
    bench.registry.execute(bench.call()).await;
    bench.registry.execute(child.call()).await;
    assert_eq!(bench.records(), ["run-1 start demo", "run-1 end Completed"]);
    assert_eq!(child.records(), ["run-2 start demo", "run-2 end Completed"]);
}

#[tokio::test]
async fn the_end_of_the_record_waits_for_what_another_thread_is_delivering() {
    let bench = Bench::new(started);
    let (entered_tx, entered) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(Some(gate));
    let _slow = bench.registry.progress().subscribe(None, move |report| {
        if text_of(&report.view.content).contains("slow line")
            && let Some(gate) = gate.lock().expect("not poisoned").take()
        {
            entered_tx.send(()).expect("the test listens");
            gate.recv().expect("the test opens it");
        }
    });
    let (run, result) = bench.begin().await;
    let emitting = run.clone();
    let thread = std::thread::spawn(move || emitting.log("slow line"));
    entered.recv().expect("a report is on its way");
    run.member_start(1, "a");
    run.member_end(1, "a", MemberOutcome::Completed);
    run.complete("null", 1);
    run.disposing().await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(!result.is_finished());
    open.send(()).expect("the observer waits");
    assert!(!result.await.expect("no panic").is_error());
    thread.join().expect("no panic");
    assert_eq!(bench.records(), WHOLE);
}
