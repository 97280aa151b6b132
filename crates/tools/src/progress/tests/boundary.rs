//! When the reporter is open: exactly while the execute phase runs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use futures::FutureExt;
use serde_json::json;

use super::titled;
use crate::testing::{Log, TestTool, call};
use crate::{Decision, ErrorCode, Executed, ProgressView, ToolExecution, ToolRegistry, Verdict};

/// What a report was answered, and where it was made.
type Answers = Log<(&'static str, bool)>;

fn report(execution: &ToolExecution, answers: &Answers, place: &'static str) {
    let answer = execution.report_progress(titled(place)).expect("a small view");
    answers.push((place, answer));
}

/// A registry in which every phase tries to report.
fn reporting_everywhere(answers: &Answers) -> ToolRegistry {
    let to = answers.clone();
    let mut tool = TestTool::new("scan", move |execution| {
        report(&execution, &to, "body");
        async { Ok(json!("done")) }
    });
    let to = answers.clone();
    tool.finalizer = Box::new(move |execution, _| {
        report(execution, &to, "finalizer");
        None
    });
    let registry = tool.alone();
    let to = answers.clone();
    let guard = registry.guard(move |execution| {
        report(execution, &to, "guard");
        Ok(())
    });
    guard.keep();
    let to = answers.clone();
    let wrapper = registry.around_execute(move |execution, next| {
        let to = to.clone();
        async move {
            report(&execution, &to, "before the body");
            let executed = next.run().await;
            report(&execution, &to, "after the body");
            executed
        }
        .boxed()
    });
    wrapper.keep();
    let to = answers.clone();
    let after = registry.after_execute(move |execution, _| {
        report(&execution, &to, "after-execute policy");
        async { Verdict::accept() }.boxed()
    });
    after.keep();
    registry
}

#[tokio::test]
async fn p08_p11_p18_g05_false_after_terminal_processing_begins() {
    let answers = Answers::default();
    let registry = reporting_everywhere(&answers);
    let to = answers.clone();
    let _results = registry.results().subscribe(None, move |observed| {
        report(&observed.execution, &to, "result observer");
    });
    let (seen, _subscription) = Log::of(&registry);
    assert!(!registry.execute(call("c1", "scan")).await.is_error());
    let expected = [
        ("guard", false),
        ("before the body", true),
        ("body", true),
        ("after the body", true),
        ("after-execute policy", false),
        ("finalizer", false),
        ("result observer", false),
    ];
    assert_eq!(answers.all(), expected);
    assert_eq!(seen.len(), 3);
}

#[tokio::test]
async fn p18_g05_a_denied_call_never_reports() {
    let answers = Answers::default();
    let registry = reporting_everywhere(&answers);
    let _denies = registry.before_execute(|_| Decision::Deny {
        reason: "on purpose".into(),
    });
    let (seen, _subscription) = Log::of(&registry);
    let started = Log::default();
    let to = started.clone();
    let _started = registry.started().subscribe(None, move |_| to.push(()));
    assert!(registry.execute(call("c1", "scan")).await.is_error());
    assert!(answers.all().iter().all(|(_, answer)| !answer));
    assert_eq!(answers.len(), 2, "the policy after and the finalizer");
    assert_eq!((seen.len(), started.len()), (0, 0));
}

#[tokio::test]
async fn p18_a_wrapper_may_run_the_body_twice_with_the_reporter_open() {
    let answers = Answers::default();
    let registry = reporting_everywhere(&answers);
    let _twice = registry.around_execute(|_, next| {
        async move {
            let _first: Executed = next.run().await;
            next.run().await
        }
        .boxed()
    });
    assert!(!registry.execute(call("c1", "scan")).await.is_error());
    let from_body = answers.all().into_iter().filter(|(place, _)| *place == "body");
    assert_eq!(from_body.collect::<Vec<_>>(), [("body", true), ("body", true)]);
}

#[tokio::test]
async fn p10_the_opening_is_observed_before_the_first_report() {
    let order = Log::default();
    let tool = TestTool::new("scan", |execution| async move {
        execution.report_progress(ProgressView::text("first action"))?;
        Ok(json!(null))
    });
    let registry = tool.alone();
    let (started, progress, result) = (order.clone(), order.clone(), order.clone());
    let _progress = registry.progress().subscribe(None, move |_| progress.push("progress"));
    let _result = registry.results().subscribe(None, move |_| result.push("result"));
    let _started = registry.started().subscribe(None, move |_| started.push("started"));
    registry.execute(call("c1", "scan")).await;
    assert_eq!(order.all(), ["started", "progress", "result"]);
}

#[tokio::test]
async fn p14_g05_a_task_that_outlives_its_body_reports_too_late() {
    let (late, mut handles) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = tokio::sync::watch::channel(false);
    let tool = TestTool::new("scan", move |execution| {
        let (late, mut released) = (late.clone(), released.clone());
        async move {
            let task = tokio::spawn(async move {
                released.wait_for(|&is_over| is_over).await.expect("the test lets go");
                execution.report_progress(titled("late"))
            });
            late.send(task).expect("the test listens");
            Ok(json!(null))
        }
    });
    let registry = tool.alone();
    let (seen, _subscription) = Log::of(&registry);
    registry.execute(call("c1", "scan")).await;
    release.send(true).expect("the task waits");
    let task = handles.recv().await.expect("the body sent it");
    assert_eq!(task.await.expect("no panic"), Ok(false));
    assert_eq!(seen.len(), 0);
}

#[tokio::test]
async fn p19_g31_a_body_that_drains_after_the_cancel_may_report_until_it_returns() {
    let tool = TestTool::new("scan", |execution| async move {
        execution.report_progress(ProgressView::text("running"))?;
        execution.signal().cancelled().await;
        let answer = execution.report_progress(ProgressView::text("cleaning up"));
        assert_eq!(answer, Ok(true));
        Ok(json!(null))
    });
    let registry = tool.alone();
    let (seen, _subscription) = Log::of(&registry);
    let call = call("c1", "scan");
    let signal = call.signal.clone();
    let _cancels = registry.progress().subscribe(None, move |_| signal.cancel());
    let result = registry.execute(call).await;
    assert_eq!(result.outcome.expect_err("cancelled").code(), Some(ErrorCode::Aborted));
    assert_eq!(seen.texts(), ["running", "cleaning up"]);
}

#[tokio::test]
async fn p20_late_calls_are_silent_whether_valid_or_not() {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let tool = TestTool::new("scan", move |execution| {
        *keep.lock().expect("not poisoned") = Some(execution);
        async { Ok(json!(null)) }
    });
    tool.alone().execute(call("c1", "scan")).await;
    let execution = kept.lock().expect("not poisoned").take().expect("the body kept it");
    assert_eq!(execution.report_progress(titled("fine")), Ok(false));
    assert_eq!(execution.report_progress(titled(&"x".repeat(1 << 20))), Ok(false));
}

#[tokio::test]
async fn p24_an_observer_that_reports_again_neither_blocks_nor_reorders() {
    let kept = Arc::new(Mutex::new(None::<ToolExecution>));
    let keep = Arc::clone(&kept);
    let tool = TestTool::new("scan", move |execution| {
        *keep.lock().expect("not poisoned") = Some(execution.clone());
        async move {
            execution.report_progress(ProgressView::text("1"))?;
            execution.report_progress(ProgressView::text("2"))?;
            Ok(json!(null))
        }
    });
    let registry = tool.alone();
    let _echoes = registry.progress().subscribe(None, move |report| {
        let text = report.view.content[0].as_text().expect("text");
        if text.len() == 1 {
            let execution = kept.lock().expect("not poisoned").clone().expect("the body kept it");
            let echo = ProgressView::text(format!("{text}, echoed"));
            assert_eq!(execution.report_progress(echo), Ok(true));
        }
    });
    // It subscribed later and yet sees each report before its echo.
    let (seen, _subscription) = Log::of(&registry);
    registry.execute(call("c1", "scan")).await;
    assert_eq!(seen.texts(), ["1", "1, echoed", "2", "2, echoed"]);
}

#[tokio::test]
async fn the_reporter_closes_when_the_body_panics() {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let tool = TestTool::new("scan", move |execution| {
        *keep.lock().expect("not poisoned") = Some(execution);
        async { panic!("on purpose") }
    });
    tool.alone().execute(call("c1", "scan")).await;
    let execution = kept.lock().expect("not poisoned").take().expect("the body kept it");
    assert_eq!(execution.report_progress(titled("late")), Ok(false));
}

#[tokio::test]
async fn the_reporter_closes_when_the_execution_is_dropped() {
    let (send, mut executions) = tokio::sync::mpsc::unbounded_channel();
    let tool = TestTool::new("scan", move |execution| {
        send.send(execution).expect("the test listens");
        std::future::pending()
    });
    let registry = tool.alone();
    let mut running = Box::pin(registry.execute(call("c1", "scan")));
    let execution = tokio::select! {
        _ = &mut running => panic!("the body never returns"),
        execution = executions.recv() => execution.expect("the body sent it"),
    };
    assert_eq!(execution.report_progress(titled("running")), Ok(true));
    drop(running);
    assert_eq!(execution.report_progress(titled("late")), Ok(false));
}

/// A thread that reports until it is too late, counting what was accepted.
struct Spinner {
    first: mpsc::Receiver<()>,
    thread: thread::JoinHandle<usize>,
}

fn spin(execution: ToolExecution) -> Spinner {
    let (tell, first) = mpsc::channel();
    let thread = thread::spawn(move || {
        let mut accepted = 0;
        while execution.report_progress(ProgressView::text("spinning")) == Ok(true) {
            accepted += 1;
            if accepted == 1 {
                tell.send(()).expect("the body waits for it");
            }
        }
        accepted
    });
    Spinner { first, thread }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p08_g06_g09_a_spinning_reporter_at_the_boundary_a_thousand_times() {
    let spinners = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&spinners);
    let tool = TestTool::new("scan", move |execution| {
        let to = Arc::clone(&to);
        async move {
            let Spinner { first, thread } = spin(execution.clone());
            to.lock().expect("not poisoned").push(thread);
            // The race is about the end: the thread is under way when the body returns.
            first.recv().expect("the thread reports");
            let own = usize::from(execution.report_progress(titled("own"))?);
            Ok(json!(own))
        }
    });
    let registry = tool.alone();
    let (is_over, late) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let observed = Arc::new(AtomicUsize::new(0));
    let (over, count, after) = (Arc::clone(&is_over), Arc::clone(&observed), Arc::clone(&late));
    let _progress = registry.progress().subscribe(None, move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        after.fetch_add(usize::from(over.load(Ordering::SeqCst)), Ordering::SeqCst);
    });
    let over = Arc::clone(&is_over);
    let _results = registry
        .results()
        .subscribe(None, move |_| over.store(true, Ordering::SeqCst));
    for repetition in 0..1000 {
        is_over.store(false, Ordering::SeqCst);
        observed.store(0, Ordering::SeqCst);
        let own = registry.execute(call("c1", "scan")).await.outcome.expect("it reports");
        let spinner = spinners.lock().expect("not poisoned").pop().expect("one thread");
        let accepted =
            spinner.join().expect("no panic") + usize::try_from(own.as_u64().expect("a count")).expect("0 or 1");
        assert_eq!(accepted, observed.load(Ordering::SeqCst), "repetition {repetition}");
        assert_eq!(late.load(Ordering::SeqCst), 0, "repetition {repetition}");
    }
}
