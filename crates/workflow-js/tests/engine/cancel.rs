//! Cancelling and disposing of runs.

use std::time::{Duration, Instant};

use weft_types::RunStop;
use weft_workflow::{Disposal, WorkflowEngine};

use super::harness::{Harness, Lifeline, attend, config, error_of};

/// Settings under which a script ends only by a cancel.
fn patient() -> weft_workflow_js::EngineConfig {
    let mut config = config();
    config.max_slice = Duration::from_secs(600);
    config
}

#[tokio::test]
async fn g70_an_endless_loop_ends_at_a_cancel_within_the_grace() {
    for spin in [
        "while (true) {}",
        "while (true) await 0",
        "for (;;) { try { for (;;) {} } finally { continue } }",
    ] {
        let harness = Harness::with(patient());
        let run = harness.start(&format!("await agent('x'); log('spinning'); {spin}"));
        harness.wait_for("log spinning").await;
        let began = Instant::now();
        run.cancel(Some("enough"));
        let result = harness.finish(&*run).await;
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "{spin}: {:?}",
            began.elapsed()
        );
        assert_eq!(
            (result.stop, error_of(&result)),
            (RunStop::Cancelled, "workflow run cancelled: enough")
        );
        assert_eq!(result.agents_started, 1);
    }
}

#[tokio::test]
async fn g70_an_endless_loop_ends_by_the_limit_of_a_slice_without_a_cancel() {
    let harness = Harness::new();
    for (script, place) in [
        (
            "\n\nconst spin = () => { while (true); };\nspin()",
            ", last seen at line 3:",
        ),
        (
            "\nawait agent('x');\nwhile (true) {}",
            ", after its call of agent() at line 2:",
        ),
        ("await null; while (true) await 0", ": an endless loop"),
    ] {
        let result = harness.run(script).await;
        let error = error_of(&result);
        let expected = format!(
            "the script used 300ms of CPU time without waiting for an agent, which is the limit (max_slice){place}"
        );
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn a_built_in_that_ignores_the_engine_is_killed_at_a_cancel() {
    let harness = Harness::with(patient());
    let run = harness.start("log('stuck'); new Array(2 ** 32 - 1).join('')");
    harness.wait_for("log stuck").await;
    let began = Instant::now();
    run.cancel(None);
    let result = harness.finish(&*run).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(error_of(&result), "workflow run cancelled: workflow cancelled");
}

#[tokio::test]
async fn g72_after_a_cancel_every_hook_throws_and_the_script_ends_all_the_same() {
    let harness = Harness::with(patient());
    let script = "for (;;) {
        try { await agent('hangs') } catch (e) { if (e.code !== 'CANCELLED') throw e }
        try { log('after') } catch {}
        try { phase('after') } catch {}
        try { await parallel([() => agent('more')]) } catch {}
        try { await pipeline([1], () => agent('more')) } catch {}
      }";
    let run = harness.start(script);
    harness.wait_for("agent 1 \"hangs\"").await;
    run.cancel(Some("enough"));
    let result = harness.finish(&*run).await;
    assert_eq!((result.stop, result.agents_started), (RunStop::Cancelled, 1));
    assert_eq!(
        harness.seen(),
        ["start", "agent 1 \"hangs\"", "agent 1 Cancelled", "end Cancelled 1"]
    );
    assert_eq!(harness.members.counts().started, 1);
}

#[tokio::test]
async fn nothing_is_narrated_after_a_cancel() {
    let harness = Harness::with(patient());
    let run = harness.start("for (;;) { log('line'); await agent('x') }");
    harness.wait_for("log line").await;
    run.cancel(None);
    let narrated = || harness.seen().iter().filter(|line| line.starts_with("log")).count();
    let before = narrated();
    harness.finish(&*run).await;
    assert_eq!(narrated(), before);
}

#[tokio::test]
async fn the_first_reason_wins_and_late_cancels_do_nothing() {
    let harness = Harness::new();
    let run = harness.start("await agent('hangs')");
    run.cancel(Some("first"));
    run.cancel(Some("second"));
    assert_eq!(error_of(&*run.result().await), "workflow run cancelled: first");
    run.cancel(Some("third"));
    assert_eq!(error_of(&*harness.finish(&*run).await), "workflow run cancelled: first");
    let done = harness.start("return 1");
    done.result().await;
    done.cancel(None);
    assert_eq!(harness.finish(&*done).await.stop, RunStop::Completed);
}

#[tokio::test]
async fn a_cancel_right_after_the_start_runs_nothing() {
    let harness = Harness::new();
    let run = harness.start("log('ran'); await agent('x')");
    run.cancel(Some("at once"));
    harness.finish(&*run).await;
    assert_eq!(harness.seen(), ["start", "end Cancelled 0"]);
    assert_eq!(harness.members.requests().len(), 0);
}

#[tokio::test]
async fn the_callers_token_cancels_as_well() {
    let harness = Harness::new();
    let request = harness.request("await agent('hangs')");
    let token = request.cancel.clone();
    let run = harness.engine.start(request).expect("accepted");
    attend(&*run);
    harness.wait_for("agent 1 \"hangs\"").await;
    token.cancel();
    let result = harness.finish(&*run).await;
    assert_eq!(
        error_of(&result),
        "workflow run cancelled: it was cancelled by its caller"
    );
}

#[tokio::test]
async fn g65_a_member_that_completes_in_the_instant_of_a_cancel_has_one_end() {
    for _ in 0..20 {
        let harness = Harness::new();
        let run = harness.start("return await agent('gate:a')");
        harness.wait_for("agent 1 \"gate:a\"").await;
        harness.members.open("a");
        run.cancel(None);
        let result = harness.finish(&*run).await;
        assert_eq!(result.stop, RunStop::Cancelled);
        let ends = harness
            .seen()
            .iter()
            .filter(|line| line.starts_with("agent 1 C"))
            .count();
        assert_eq!(ends, 1, "{:?}", harness.seen());
    }
}

#[tokio::test]
async fn g76_a_cancel_during_a_start_leaves_no_trace_but_the_count() {
    let harness = Harness::new();
    let run = harness.start("await agent('start-hangs')");
    harness.members.requested(1).await;
    run.cancel(None);
    let result = harness.finish(&*run).await;
    assert_eq!(result.agents_started, 1);
    assert_eq!(harness.seen(), ["start", "end Cancelled 1"]);
    assert_eq!(harness.members.counts().aborted_starts, 1);
}

#[tokio::test]
async fn a_cancel_rejects_calls_that_wait_for_a_slot() {
    let mut config = config();
    config.cancel_grace = Duration::from_secs(30);
    let harness = Harness::with(config);
    let script =
        "const all = parallel(Array.from({ length: 100 }, () => () => agent('hangs'))); log('called'); await all";
    let run = harness.start(script);
    harness.wait_for("log called").await;
    harness.members.wait(|counts| counts.at_work >= 16).await;
    run.cancel(None);
    let result = harness.finish(&*run).await;
    assert_eq!((result.stop, result.agents_started), (RunStop::Cancelled, 100));
    assert_eq!(harness.members.counts().started, 16);
}

#[tokio::test]
async fn members_deaf_to_everything_are_given_up_after_the_grace_and_paired() {
    let mut config = config();
    config.dispose_grace = Duration::from_millis(100);
    let harness = Harness::with(config);
    let run = harness.start("await parallel([() => agent('deaf dispose-hangs'), () => agent('hangs')])");
    harness.members.wait(|counts| counts.started >= 2).await;
    harness.wait_for("agent 1 \"deaf dispose-hangs\"").await;
    run.cancel(None);
    let result = run.result().await;
    assert_eq!(result.stop, RunStop::Cancelled);
    let seen = harness.seen();
    assert_eq!(seen.last().map(String::as_str), Some("end Cancelled 2"));
    assert!(
        seen.contains(&"agent 1 Cancelled".into()) && seen.contains(&"agent 2 Cancelled".into()),
        "{seen:?}"
    );
    assert_eq!(run.dispose().await, Disposal::GraceExpired);
    harness.check();
}

#[tokio::test]
async fn a_member_that_honours_only_its_disposal_does_not_need_the_grace() {
    let mut config = config();
    config.dispose_grace = Duration::from_secs(600);
    let harness = Harness::with(config);
    let run = harness.start("await agent('deaf')");
    harness.wait_for("agent 1 \"deaf\"").await;
    run.cancel(None);
    harness.finish(&*run).await;
    assert_eq!(harness.seen()[2..], ["agent 1 Cancelled", "end Cancelled 1"]);
}

#[tokio::test]
async fn disposing_of_a_run_at_work_cancels_it_and_waits_for_quiet() {
    let harness = Harness::with(patient());
    let run = harness.start("agent('hangs dispose-gate:d'); log('spinning'); while (true) {}");
    harness.wait_for("log spinning").await;
    harness.wait_for("agent 1 \"hangs dispose-gate:d\"").await;
    let disposal = tokio::spawn(run.dispose());
    assert_eq!(
        error_of(&*run.result().await),
        "workflow run cancelled: workflow disposed"
    );
    harness.members.open("d");
    assert_eq!(disposal.await.expect("no panic"), Disposal::Quiet);
    assert_eq!(run.dispose().await, Disposal::Quiet);
    let counts = harness.members.counts();
    assert_eq!((counts.disposals_begun, counts.disposals_done), (1, 1));
}

#[tokio::test]
async fn g69_a_disposal_that_never_ends_is_bounded_by_the_grace() {
    let mut config = config();
    config.dispose_grace = Duration::from_millis(50);
    let harness = Harness::with(config);
    let run = harness.start("return await agent('x dispose-hangs')");
    assert_eq!(run.result().await.stop, RunStop::Completed);
    assert_eq!(run.dispose().await, Disposal::GraceExpired);
    assert_eq!(run.dispose().await, Disposal::GraceExpired);
    harness.check();
}

#[tokio::test]
async fn a_grace_of_zero_waits_for_nobody() {
    let mut config = config();
    config.dispose_grace = Duration::ZERO;
    config.cancel_grace = Duration::ZERO;
    config.max_slice = Duration::from_secs(600);
    let harness = Harness::with(config);
    let run = harness.start("agent('deaf dispose-hangs'); log('spinning'); while (true) {}");
    harness.wait_for("log spinning").await;
    let began = Instant::now();
    run.dispose().await;
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(run.result().await.stop, RunStop::Cancelled);
    harness.check();
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_run_and_its_worker() {
    let lifeline = Lifeline::new();
    let mut config = patient();
    config.worker = lifeline.worker();
    let harness = Harness::with(config);
    let dead = lifeline.dead();
    let run = harness.start("agent('hangs'); log('spinning'); while (true) {}");
    harness.wait_for("log spinning").await;
    drop(run);
    harness.wait_for("end Cancelled 1").await;
    harness
        .members
        .wait(|counts| counts.disposals_done == counts.started)
        .await;
    dead.await;
    harness.check();
}

#[tokio::test]
async fn after_a_disposal_the_worker_is_gone() {
    let lifeline = Lifeline::new();
    let mut config = patient();
    config.worker = lifeline.worker();
    let harness = Harness::with(config);
    let dead = lifeline.dead();
    let run = harness.start("log('stuck'); new Array(2 ** 32 - 1).join('')");
    harness.wait_for("log stuck").await;
    assert_eq!(run.dispose().await, Disposal::Quiet);
    dead.await;
}
