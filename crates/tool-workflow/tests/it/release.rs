//! Whatever happens, nothing is left behind.

use std::sync::Arc;
use std::time::Duration;

use weft_tool_workflow::WorkflowToolConfig;
use weft_tools::{ErrorCode, ToolLimits};
use weft_types::MemberOutcome;
use weft_workflow::{ObservationKind, RunResult, StartError, StartErrorCode, StartRequest, TestDisposal, TestRun};

use crate::support::{Bench, Warnings, done, said, started};

#[tokio::test]
async fn d06_g20_a_start_that_fails_after_emitting_shows_and_leaves_nothing() {
    let bench = Bench::new(|run: &TestRun, _: &StartRequest| {
        run.start();
        run.phase("Scan");
        run.member_start(1, "a");
        Err(StartError::new(StartErrorCode::ScriptParse, "line 2: unexpected end"))
    });
    let result = bench.registry.execute(bench.call()).await;
    assert_eq!(said(&result), "Error: line 2: unexpected end");
    assert!(bench.texts().is_empty() && bench.records().is_empty());
    assert_eq!(bench.listeners(), 0);
    bench.engine.runs()[0].log("late");
}

#[tokio::test]
async fn g23_a_cancelled_call_ends_its_run_and_says_so() {
    let bench = Bench::new(started);
    let call = bench.call();
    let signal = call.signal.clone();
    let result = bench.spawn(call);
    let run = bench.engine.run(0).await;
    run.member_start(1, "a");
    signal.cancel();
    run.cancelled().await;
    assert_eq!(run.cancels(), [Some("the call was cancelled".to_owned())]);
    run.member_end(1, "a", MemberOutcome::Cancelled);
    run.finish(RunResult::cancelled("the engine's own words", 1));
    let result = result.await.expect("no panic");
    assert_eq!(
        said(&result),
        "Error: workflow run was cancelled (the call was cancelled)\nrun id: run-1"
    );
    assert_eq!(
        result.outcome.expect_err("cancelled").code(),
        None,
        "its own error is kept"
    );
    assert_eq!(bench.texts().last(), Some(&done(0, 0, 1)));
    assert_eq!(bench.records()[2..], ["run-1 1 Cancelled", "run-1 end Cancelled"]);
    assert_eq!((bench.listeners(), run.disposals()), (0, 1));
}

#[tokio::test]
async fn g24_a_run_whose_worker_died_fails_the_call() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.member_start(1, "a");
    run.member_end(1, "a", MemberOutcome::Cancelled);
    run.finish(RunResult::failed("the worker died: killed by signal 9", 1));
    let text = "Error: workflow run failed: the worker died: killed by signal 9\nrun id: run-1";
    assert_eq!(said(&result.await.expect("no panic")), text);
    assert_eq!(bench.records()[3..], ["run-1 end Error"]);
    assert_eq!(bench.listeners(), 0);
}

#[tokio::test]
async fn g25_a_script_that_throws_before_it_told_anything_fails_the_call() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.finish(RunResult::failed("Error: boom\n    at line 3", 0));
    let text = "Error: workflow run failed: Error: boom\n    at line 3\nrun id: run-1";
    assert_eq!(said(&result.await.expect("no panic")), text);
    assert_eq!((bench.texts(), bench.listeners()), (vec![done(0, 0, 0)], 0));
}

#[tokio::test]
async fn g27_unloading_the_tool_leaves_a_call_that_is_under_way_alone() {
    let mut bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.log("before");
    drop(bench.registration.take());
    let unknown = bench.registry.execute(bench.call()).await;
    assert_eq!(
        unknown.outcome.expect_err("unloaded").code(),
        Some(ErrorCode::UnknownTool)
    );
    run.log("after");
    assert_eq!(bench.texts().len(), 3, "its holder still follows it");
    run.complete("7", 0);
    assert!(!result.await.expect("no panic").is_error());
    assert_eq!((bench.listeners(), run.disposals()), (0, 1));
    run.log("late");
    assert_eq!(bench.texts().len(), 3);
}

#[tokio::test]
async fn g26_a_call_that_is_dropped_cancels_its_run_and_listens_no_more() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.log("before");
    result.abort();
    run.cancelled().await;
    assert_eq!(run.cancels(), [Some("the call was abandoned".to_owned())]);
    assert_eq!(bench.listeners(), 0);
    run.log("late");
    assert_eq!(bench.texts().len(), 2);
    assert_eq!(bench.records(), ["run-1 start demo"], "a beginning of a record");
}

#[tokio::test]
async fn d12_g66_a_run_that_never_tells_its_end_is_released_when_the_call_settles() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    assert_eq!(bench.listeners(), 1);
    run.settle(RunResult::failed("silent", 0));
    result.await.expect("no panic");
    assert_eq!(bench.listeners(), 0);
    run.log("late");
    assert_eq!((bench.texts().len(), bench.records().len()), (1, 2));
}

#[tokio::test]
async fn d12_the_end_of_the_run_releases_before_the_call_settles() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.end(&RunResult::failed("e", 0));
    assert_eq!(bench.listeners(), 0);
    run.settle(RunResult::failed("e", 0));
    result.await.expect("no panic");
}

#[tokio::test]
async fn g67_what_follows_the_end_is_ignored() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    let end = RunResult::failed("first", 1);
    run.end(&end);
    run.end(&end);
    run.phase("late");
    run.member_start(1, "late");
    run.member_end(1, "late", MemberOutcome::Completed);
    run.settle(end);
    run.settle(RunResult::failed("second", 1));
    assert!(said(&result.await.expect("no panic")).contains("first"));
    assert_eq!(
        (bench.texts().len(), bench.records()),
        (1, vec!["run-1 start demo".into(), "run-1 end Error".into()])
    );
}

/// How long the tool waits for engines that do not keep their own grace.
const TEARDOWN: Duration = Duration::from_secs(3);

fn impatient() -> Bench {
    let config = WorkflowToolConfig::default().teardown(TEARDOWN).expect("in range");
    Bench::with(started, config, ToolLimits::default())
}

#[tokio::test(start_paused = true)]
async fn g69_a_disposal_that_never_returns_costs_the_record_its_end_and_nothing_else() {
    let (bench, warnings) = (impatient(), Warnings::catch());
    let (run, result) = bench.begin().await;
    run.set_disposal(TestDisposal::Pending);
    let before = tokio::time::Instant::now();
    run.complete("\"kept\"", 0);
    let result = result.await.expect("no panic");
    assert_eq!(before.elapsed(), TEARDOWN);
    assert!(said(&result).contains("\"kept\"") && !result.is_error());
    assert_eq!(bench.records(), ["run-1 start demo"], "never before quiescence");
    assert_eq!(
        (bench.listeners(), warnings.seen().len()),
        (0, 1),
        "{:?}",
        warnings.seen()
    );
}

#[tokio::test]
async fn a_disposal_that_fails_keeps_the_outcome_and_is_logged_once() {
    for disposal in [TestDisposal::Panics, TestDisposal::GraceExpired] {
        let (bench, warnings) = (Bench::new(started), Warnings::catch());
        let (run, result) = bench.begin().await;
        run.set_disposal(disposal);
        run.complete("\"kept\"", 0);
        let result = result.await.expect("no panic");
        assert!(said(&result).contains("\"kept\"") && !result.is_error(), "{disposal:?}");
        assert_eq!(bench.records(), ["run-1 start demo"], "{disposal:?}");
        let seen = warnings.seen();
        assert!(
            seen.len() == 1 && seen[0].contains("did not become quiet"),
            "{disposal:?}: {seen:?}"
        );
        assert_eq!(bench.listeners(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ignores_its_cancel_is_given_up() {
    let bench = impatient();
    let call = bench.call();
    let signal = call.signal.clone();
    let result = bench.spawn(call);
    let run = bench.engine.run(0).await;
    run.set_disposal(TestDisposal::Pending);
    run.log("still there");
    let before = tokio::time::Instant::now();
    signal.cancel();
    let result = result.await.expect("no panic");
    assert_eq!(before.elapsed(), TEARDOWN, "one bound for result and disposal together");
    assert_eq!(
        said(&result),
        "Error: workflow run was cancelled (the call was cancelled)\nrun id: run-1"
    );
    assert_eq!(
        (bench.listeners(), bench.records()),
        (0, vec!["run-1 start demo".to_owned()])
    );
}

#[tokio::test]
async fn a_cancel_after_the_result_does_not_reach_the_run() {
    let bench = Bench::new(started);
    let call = bench.call();
    let signal = call.signal.clone();
    let result = bench.spawn(call);
    let run = bench.engine.run(0).await;
    run.set_disposal(TestDisposal::Pending);
    run.complete("1", 0);
    run.disposing().await;
    signal.cancel();
    run.set_disposal(TestDisposal::Quiet);
    let error = result
        .await
        .expect("no panic")
        .outcome
        .expect_err("the call was cancelled all the same");
    assert_eq!(error.code(), Some(ErrorCode::Aborted));
    assert!(run.cancels().is_empty());
    assert_eq!(bench.records()[1..], ["run-1 end Completed"]);
}

#[tokio::test]
async fn g37_a_call_cancelled_before_its_body_starts_no_run() {
    let bench = Bench::new(started);
    let call = bench.call();
    call.signal.cancel();
    let result = bench.registry.execute(call).await;
    assert_eq!(
        result.outcome.expect_err("cancelled").code(),
        Some(ErrorCode::AbortedBeforeDispatch)
    );
    assert!(bench.engine.runs().is_empty() && bench.records().is_empty());
}

#[tokio::test]
async fn an_engine_that_panics_in_start_fails_the_call_only() {
    let bench = Bench::new(|run: &TestRun, _: &StartRequest| {
        run.start();
        panic!("on purpose")
    });
    let result = bench.registry.execute(bench.call()).await;
    assert!(result.is_error());
    assert_eq!((bench.listeners(), bench.texts().len()), (0, 0));
}

#[tokio::test]
async fn g64_g65_members_that_end_with_the_run_end_once_and_before_it() {
    let bench = Bench::new(started);
    let (run, result) = bench.begin().await;
    run.member_start(1, "stray");
    run.member_end(1, "stray", MemberOutcome::Cancelled);
    run.member_end(1, "stray", MemberOutcome::Completed);
    run.emit(ObservationKind::Log { message: "last".into() });
    run.complete("null", 1);
    result.await.expect("no panic");
    assert_eq!(bench.records()[2..], ["run-1 1 Cancelled", "run-1 end Completed"]);
    assert_eq!(
        Arc::strong_count(&bench.caller.context),
        1,
        "nothing holds the caller any more"
    );
}
