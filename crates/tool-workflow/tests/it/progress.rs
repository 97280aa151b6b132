//! What the card shows while a run goes on.

use std::sync::{Arc, Mutex};

use weft_tool_workflow::WorkflowToolConfig;
use weft_tools::{ProgressLimits, ResultForView, ResultView, ToolLimits};
use weft_types::MemberOutcome;
use weft_workflow::{
    ObservationChecker, ObservationKind, RunInfo, RunLimits, StartRequest, TestRun, WorkflowEngine, WorkflowMeta,
    WorkflowObservation,
};

use crate::support::{Bench, done, said, started};

#[tokio::test]
async fn e10_the_card_follows_the_run_line_by_line() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.phase("Scan");
    run.log("two files");
    run.member_start(1, "a");
    run.member_start(2, "b");
    run.member_end(1, "a", MemberOutcome::Completed);
    run.member_end(2, "b", MemberOutcome::Failed);
    run.complete("[\"done\", null]", 2);
    let result = result.await.expect("no panic");
    let head = "- Phase: Scan\n- Latest: two files\n";
    let expected = [
        (None, done(0, 0, 0)),
        (Some("Scan"), format!("- Phase: Scan\n{}", done(0, 0, 0))),
        (Some("Scan"), format!("{head}{}", done(0, 0, 0))),
        (Some("Scan"), format!("{head}- Running (1): a\n{}", done(0, 0, 0))),
        (Some("Scan"), format!("{head}- Running (2): a, b\n{}", done(0, 0, 0))),
        (Some("Scan"), format!("{head}- Running (1): b\n{}", done(1, 0, 0))),
        (Some("Scan"), format!("{head}{}", done(1, 1, 0))),
    ];
    let titles = expected
        .iter()
        .map(|(phase, _)| phase.map(|phase| format!("workflow: demo – {phase}")));
    assert_eq!(
        bench.texts(),
        expected.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>()
    );
    let seen: Vec<_> = bench.views().iter().map(|view| view.title.clone()).collect();
    assert_eq!(seen, titles.collect::<Vec<_>>());
    let text = "workflow \"demo\" completed (2 agents).\nrun id: run-1\nReturn value:\n[\n  \"done\",\n  null\n]";
    assert_eq!(said(&result), text);
}

#[tokio::test]
async fn d01_the_capture_is_installed_before_the_start() {
    let listeners = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&listeners);
    let slot = Arc::new(Mutex::new(None::<Arc<dyn WorkflowEngine>>));
    let engine = Arc::clone(&slot);
    let bench = Bench::new(move |run: &TestRun, _: &StartRequest| {
        let engine = engine.lock().expect("not poisoned").clone().expect("set");
        *seen.lock().expect("not poisoned") = Some(engine.observations().len());
        run.complete("null", 0);
        Ok(())
    });
    *slot.lock().expect("not poisoned") = Some(Arc::clone(&bench.engine) as Arc<dyn WorkflowEngine>);
    assert_eq!(bench.listeners(), 0);
    bench.registry.execute(bench.call()).await;
    assert_eq!(*listeners.lock().expect("not poisoned"), Some(1));
    slot.lock().expect("not poisoned").take();
}

fn busy_plan(run: &TestRun, _request: &StartRequest) -> Result<(), weft_workflow::StartError> {
    run.start();
    run.phase("Scan");
    run.log("line");
    run.member_start(1, "a");
    run.member_end(1, "a", MemberOutcome::Completed);
    run.complete("{}", 1);
    Ok(())
}

#[tokio::test]
async fn d02_g22_other_listeners_see_the_same_with_and_without_the_tool() {
    let record = |bench: &Bench| {
        let seen = Arc::new(Mutex::new(Vec::<WorkflowObservation>::new()));
        let into = Arc::clone(&seen);
        let subscription = bench.engine.observations().subscribe(None, move |observation| {
            into.lock().expect("not poisoned").push(observation.clone());
        });
        (seen, subscription)
    };
    let with = Bench::new(busy_plan);
    let (seen_with, _with) = record(&with);
    with.registry.execute(with.call()).await;
    let without = Bench::new(busy_plan);
    let (seen_without, _without) = record(&without);
    let request = StartRequest {
        script: "return 1".to_owned(),
        meta: Some(serde_json::json!({ "name": "demo", "description": "d" })),
        args: None,
        provider: None,
        limits: RunLimits::default(),
        depth: 0,
        origin: None,
        saved: None,
        members: Arc::new(crate::members::NoMembers),
        cancel: tokio_util::sync::CancellationToken::new(),
    };
    drop(without.engine.start(request).expect("accepted"));
    let seen_with = seen_with.lock().expect("not poisoned");
    let mut checker = ObservationChecker::new();
    assert!(seen_with.iter().all(|observation| checker.observe(observation).is_ok()));
    assert_eq!(
        (
            seen_with.len(),
            *seen_without.lock().expect("not poisoned") == *seen_with
        ),
        (6, true)
    );
}

#[tokio::test]
async fn d05_g68_a_run_under_another_id_starts_empty_and_a_late_start_is_taken_in() {
    let bench = Bench::new(|run: &TestRun, _: &StartRequest| {
        run.claim("claimed".into());
        run.phase("of another id");
        Ok(())
    });
    let (run, result) = bench.begin().await;
    run.log("also of another id");
    let meta = Arc::clone(&run.info().meta);
    let claimed = Arc::new(RunInfo {
        id: "claimed".into(),
        meta,
    });
    run.emit_as(&claimed, ObservationKind::Start);
    run.emit_as(&claimed, ObservationKind::Log { message: "late".into() });
    run.complete("1", 0);
    let result = result.await.expect("no panic");
    assert!(said(&result).contains("run id: claimed"));
    assert_eq!(
        bench.texts(),
        [done(0, 0, 0), format!("- Latest: late\n{}", done(0, 0, 0))]
    );
    assert_eq!(
        (bench.listeners(), bench.records()),
        (0, vec!["claimed start demo".into(), "claimed end Completed".into()])
    );
}

#[tokio::test]
async fn d07_the_engine_is_asked_for_nothing_but_the_run() {
    let seen = Arc::new(Mutex::new(None));
    let into = Arc::clone(&seen);
    let bench = Bench::new(move |run: &TestRun, request: &StartRequest| {
        let shown = (
            request.script.clone(),
            request.meta.clone(),
            request.args.clone(),
            request.depth,
        );
        *into.lock().expect("not poisoned") = Some(shown);
        assert_eq!((&request.provider, request.limits), (&None, RunLimits::default()));
        run.complete("null", 0);
        Ok(())
    });
    let meta = serde_json::json!({ "name": "n", "description": "d" });
    let arguments = serde_json::json!({ "script": "s", "meta": meta, "args": [1, "x"], "other": "ignored" });
    bench.registry.execute(bench.call_with(&arguments)).await;
    let expected = ("s".to_owned(), Some(meta), Some(serde_json::json!([1, "x"])), 0);
    assert_eq!(seen.lock().expect("not poisoned").take(), Some(expected));
}

#[tokio::test]
async fn d08_g18_a_run_that_ends_inside_of_start_loses_nothing() {
    let bench = Bench::new(busy_plan);
    let result = bench.registry.execute(bench.call()).await;
    assert!(!result.is_error());
    let text = format!("- Phase: Scan\n- Latest: line\n{}", done(1, 0, 0));
    assert_eq!(bench.texts(), [text], "one report with the final state");
    let records = [
        "run-1 start demo",
        "run-1 1 start \"a\" None child-1",
        "run-1 1 Completed",
        "run-1 end Completed",
    ];
    assert_eq!(bench.records(), records);
    assert_eq!(bench.listeners(), 0);
}

#[tokio::test]
async fn g19_foreign_runs_inside_of_start_leave_no_trace() {
    let bench = Bench::new(|run: &TestRun, _: &StartRequest| {
        let foreign = ["x", "y"].map(|id| {
            let meta = WorkflowMeta {
                name: "foreign".into(),
                description: "d".into(),
                ..WorkflowMeta::default()
            };
            Arc::new(RunInfo {
                id: id.into(),
                meta: meta.into(),
            })
        });
        for info in &foreign {
            run.emit_as(info, ObservationKind::Start);
            run.emit_as(
                info,
                ObservationKind::Phase {
                    title: "foreign".into(),
                },
            );
            run.emit_as(
                info,
                ObservationKind::AgentStart {
                    seq: 1,
                    label: "same label".into(),
                    phase: None,
                    child_id: "foreign child".into(),
                },
            );
        }
        run.start();
        run.member_start(1, "same label");
        Ok(())
    });
    let (run, result) = bench.begin().await;
    run.member_end(1, "same label", MemberOutcome::Completed);
    run.complete("null", 1);
    result.await.expect("no panic");
    let running = format!("- Running (1): same label\n{}", done(0, 0, 0));
    assert_eq!(bench.texts(), [running, done(1, 0, 0)]);
    assert!(bench.records().iter().all(|record| record.starts_with("run-1 ")));
}

#[tokio::test]
async fn d09_g16_reports_show_phase_line_labels_and_counts_as_they_change() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.phase("A");
    run.log("line");
    run.member_start(1, "one");
    run.member_start(2, "two");
    run.member_end(2, "two", MemberOutcome::Failed);
    run.phase("B");
    run.member_end(1, "one", MemberOutcome::Completed);
    run.complete("null", 2);
    result.await.expect("no panic");
    let last = bench.texts().pop().expect("reports");
    assert_eq!(last, format!("- Phase: B\n- Latest: line\n{}", done(1, 1, 0)));
    assert_eq!(bench.texts().len(), 8);
}

#[tokio::test]
async fn d10_g17_each_of_five_thousand_lines_replaces_the_one_before() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    for n in 1..=5_000 {
        run.log(&format!("line {n:04}"));
    }
    run.complete("null", 0);
    result.await.expect("no panic");
    let texts = bench.texts();
    assert_eq!(texts.len(), 5_001, "no throttling here");
    assert!(texts[1..].iter().all(|text| text.len() == texts[1].len()));
    assert_eq!(texts[5_000], format!("- Latest: line 5000\n{}", done(0, 0, 0)));
}

#[tokio::test]
async fn d13_what_changes_nothing_visible_is_not_reported() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    for _ in 0..3 {
        run.phase("Scan");
        run.log("line");
        run.start();
        run.member_start(1, "a");
    }
    run.complete("null", 1);
    result.await.expect("no panic");
    assert_eq!(bench.texts().len(), 4);
}

#[tokio::test]
async fn d11_a_line_of_ten_megabytes_is_cut_before_it_is_shown() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.log(&"é".repeat(5 << 20));
    run.complete("null", 0);
    assert!(!result.await.expect("no panic").is_error());
    assert_eq!(
        bench.texts()[1],
        format!("- Latest: {}…\n{}", "é".repeat(199), done(0, 0, 0))
    );
}

#[tokio::test]
async fn g29_the_result_leaves_the_title_to_the_call() {
    let bench = Bench::new(busy_plan);
    let call = bench.call();
    let view = bench.registry.present_call("workflow", &call.raw_arguments);
    assert_eq!(view.title(), "workflow: demo");
    let raw = call.raw_arguments.clone();
    let result = bench.registry.execute(call).await;
    assert_eq!(bench.views()[0].title.as_deref(), Some("workflow: demo – Scan"));
    let shown = ResultForView {
        content: &result.content,
        is_error: false,
        meta: result.meta.as_ref(),
    };
    let nothing = ResultView::Generic {
        title: None,
        content: None,
    };
    assert_eq!(bench.registry.present_result("workflow", &raw, shown), nothing);
}

#[tokio::test]
async fn a_registry_with_small_limits_still_gets_counts() {
    let progress = ProgressLimits::default().content_bytes(80).expect("in range");
    let progress = progress.title_bytes(10).expect("in range");
    let limits = ToolLimits::default().progress(progress);
    let bench = Bench::with(busy_plan, WorkflowToolConfig::default(), limits);
    let result = bench.registry.execute(bench.call()).await;
    assert!(!result.is_error());
    assert_eq!((bench.texts(), &bench.views()[0].title), (vec![done(1, 0, 0)], &None));
}

#[tokio::test]
async fn a_registry_with_tiny_limits_shows_nothing_and_the_run_goes_on() {
    let progress = ProgressLimits::default().content_bytes(1).expect("in range");
    let warnings = crate::support::Warnings::catch();
    let limits = ToolLimits::default().progress(progress);
    let bench = Bench::with(started, WorkflowToolConfig::default(), limits);
    let (run, result) = bench.begin().await;
    run.log("one");
    run.log("two");
    run.member_start(1, "a");
    run.member_end(1, "a", MemberOutcome::Completed);
    run.complete("null", 1);
    assert!(!result.await.expect("no panic").is_error());
    assert_eq!(
        (bench.texts().len(), warnings.seen().len()),
        (0, 1),
        "{:?}",
        warnings.seen()
    );
    assert_eq!(bench.records().len(), 4, "the record does not depend on the card");
}
