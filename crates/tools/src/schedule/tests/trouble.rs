//! Cancels in the middle of a step, and journals that break.

use super::*;
use crate::ErrorCode;

/// Calls that share the step's signal, as those of an agent do.
fn sharing(signal: &CancellationToken, requests: &[(&str, &str)]) -> Vec<ToolCallRequest> {
    let mut requests = calls(requests);
    requests.iter_mut().for_each(|call| call.signal = signal.clone());
    requests
}

#[tokio::test]
async fn rule27_on_a_cancel_what_started_is_waited_for_and_the_rest_is_written_down_as_never_started() {
    let (stage, registry) = staged();
    let (journal, signal) = (Journal::default(), CancellationToken::new());
    let requests = sharing(&signal, &[("a", "read"), ("b", "read"), ("w", "write"), ("c", "read")]);
    let steps = async {
        stage.settle().await;
        signal.cancel();
        stage.settle().await;
        assert_eq!(journal.lines.all(), ["call a", "call b"]);
        stage.release("b").await;
        assert_eq!(journal.lines.all(), ["call a", "call b"]);
        stage.release("a").await;
    };
    let limits = CallLimits::default();
    let (results, ()) = tokio::join!(run_calls(&registry, requests, limits, &journal, &signal), steps);
    let codes: Vec<_> = results
        .expect("a sound journal")
        .iter()
        .map(|result| result.outcome.as_ref().expect_err("cancelled").code().expect("a code"))
        .collect();
    let never = ErrorCode::AbortedBeforeDispatch;
    assert_eq!(codes, [ErrorCode::Aborted, ErrorCode::Aborted, never, never]);
    let expected = [
        "call a",
        "call b",
        "result a ABORTED",
        "result b ABORTED",
        "call w",
        "result w ABORTED_BEFORE_DISPATCH",
        "call c",
        "result c ABORTED_BEFORE_DISPATCH",
    ];
    assert_eq!(journal.lines.all(), expected);
    assert_eq!(stage.started.all(), ["a", "b"]);
}

#[tokio::test]
async fn rule27_after_a_cancel_nothing_starts_in_a_free_place_of_the_pool() {
    let (stage, registry) = staged();
    let (journal, signal) = (Journal::default(), CancellationToken::new());
    let requests = sharing(&signal, &[("a", "read"), ("b", "read"), ("c", "read")]);
    let limits = CallLimits::default().max_parallel(2).expect("within its range");
    let steps = async {
        stage.settle().await;
        signal.cancel();
        stage.release("b").await;
        assert_eq!(journal.lines.all(), ["call a", "call b"]);
        stage.release("a").await;
    };
    let (results, ()) = tokio::join!(run_calls(&registry, requests, limits, &journal, &signal), steps);
    assert_eq!(results.expect("a sound journal").len(), 3);
    assert_eq!(journal.lines.all()[4..], ["call c", "result c ABORTED_BEFORE_DISPATCH"]);
}

#[tokio::test]
async fn rule27_the_steps_signal_alone_keeps_calls_from_starting() {
    let (stage, registry) = staged();
    let (journal, signal) = (Journal::default(), CancellationToken::new());
    signal.cancel();
    let requests = calls(&[("a", "read"), ("b", "write")]);
    let results = run_calls(&registry, requests, CallLimits::default(), &journal, &signal).await;
    assert_eq!(results.expect("a sound journal").len(), 2);
    assert_eq!(stage.started.len(), 0);
    let never = "ABORTED_BEFORE_DISPATCH";
    let expected = [
        "call a",
        &format!("result a {never}"),
        "call b",
        &format!("result b {never}"),
    ];
    assert_eq!(journal.lines.all(), expected);
}

#[tokio::test]
async fn a_call_cancelled_while_the_user_is_asked_never_starts() {
    let (stage, registry) = staged();
    let _asks = registry.before_execute(|_| Decision::Ask);
    registry.set_approver(Arc::new(Heeding));
    let (journal, signal) = (Journal::default(), CancellationToken::new());
    let requests = sharing(&signal, &[("a", "read"), ("b", "read")]);
    let steps = async {
        stage.settle().await;
        signal.cancel();
    };
    let limits = CallLimits::default();
    let (results, ()) = tokio::join!(run_calls(&registry, requests, limits, &journal, &signal), steps);
    let all_never = results
        .expect("a sound journal")
        .into_iter()
        .all(|result| result.outcome.expect_err("cancelled").code() == Some(ErrorCode::AbortedBeforeDispatch));
    assert!(all_never);
    assert_eq!(stage.started.len(), 0);
}

/// An approver whose user never answers, and that heeds the cancel.
struct Heeding;

impl crate::Approver for Heeding {
    fn ask(&self, _: crate::ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, crate::Approval> {
        async move {
            cancel.cancelled().await;
            crate::Approval::Cancelled
        }
        .boxed()
    }
}

async fn break_at(line: &'static str) -> (ScheduleError, Vec<String>, Vec<String>) {
    let (stage, registry) = staged();
    let journal = Journal {
        fails_at: Some(line),
        ..Journal::default()
    };
    let signal = CancellationToken::new();
    let steps = async {
        stage.settle().await;
        for id in ["b", "a", "c"] {
            if stage.started.all().iter().any(|started| started == id) {
                stage.release(id).await;
            }
        }
    };
    let requests = calls(&[("a", "read"), ("b", "read"), ("c", "read"), ("w", "write")]);
    let limits = CallLimits::default();
    let (results, ()) = tokio::join!(run_calls(&registry, requests, limits, &journal, &signal), steps);
    (
        results.expect_err("a broken journal"),
        journal.lines.all(),
        stage.started.all(),
    )
}

#[tokio::test]
async fn rule27_a_call_that_cannot_be_written_down_ends_the_walk_after_a_drain() {
    let (error, lines, started) = break_at("call c").await;
    assert_eq!(error.to_string(), "failed to record the call c: the disk is full");
    assert_eq!(started, ["a", "b"]);
    assert_eq!(lines, ["call a", "call b", "result a", "result b"]);
}

#[tokio::test]
async fn rule27_after_a_result_that_cannot_be_written_down_no_later_one_is_and_none_is_invented() {
    let (error, lines, started) = break_at("result a").await;
    assert_eq!(
        error.to_string(),
        "failed to record the result of the call a: the disk is full"
    );
    assert_eq!(started, ["a", "b", "c"]);
    assert_eq!(lines, ["call a", "call b", "call c"]);
}

#[tokio::test]
async fn a_check_point_that_fails_fails_its_call_only() {
    let registry = TestTool::idle("read").safe().alone();
    let journal = Journal {
        fails_at: Some("body a"),
        ..Journal::default()
    };
    let results = run(&registry, calls(&[("a", "read"), ("b", "read")]), &journal).await;
    assert_eq!(
        text_of(&results[0]),
        "Error: tool read was not started: the disk is full"
    );
    assert!(!results[1].is_error());
}

#[tokio::test]
async fn dropping_the_walk_aborts_what_runs_and_starts_nothing_more() {
    let (stage, registry) = staged();
    let journal = Journal::default();
    let signal = CancellationToken::new();
    let requests = calls(&[("a", "read"), ("b", "read"), ("w", "write")]);
    let mut walk = Box::pin(run_calls(&registry, requests, CallLimits::default(), &journal, &signal));
    tokio::select! {
        _ = &mut walk => panic!("nobody releases the bodies"),
        () = stage.settle() => {}
    }
    drop(walk);
    stage.settle().await;
    assert!(
        stage
            .waiting
            .lock()
            .expect("not poisoned")
            .values()
            .all(oneshot::Sender::is_closed)
    );
    assert_eq!(journal.lines.all(), ["call a", "call b"]);
}
