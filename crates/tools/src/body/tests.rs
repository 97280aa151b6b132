//! How bodies end: by return, by panic, by the cancel, or not at all.

use std::future::pending;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::testing::{Outcome, TestTool, call, text_of};
use crate::{ErrorCode, ProgressView, ToolExecution, ToolLimits, ToolRegistry};

/// A body that can only be aborted, and tells when it was.
fn never_returns(gone: &Arc<Notify>) -> impl Future<Output = Outcome> + use<> {
    let told = Arc::clone(gone);
    async move {
        let _guard = TellsWhenDropped(told);
        pending().await
    }
}

struct TellsWhenDropped(Arc<Notify>);

impl Drop for TellsWhenDropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn a_panic_fails_its_call_only() {
    let registry = TestTool::new("bad", |_| async { panic!("index 3 out of range") }).alone();
    TestTool::idle("good").join(&registry);
    let (bad, good) = tokio::join!(
        registry.execute(call("c1", "bad")),
        registry.execute(call("c2", "good"))
    );
    assert_eq!(text_of(&bad), "Error: tool bad panicked: index 3 out of range");
    assert_eq!(good.outcome, Ok(json!("done")));
    assert_eq!(registry.quarantined(), 0);
}

#[tokio::test]
async fn a_panic_before_the_first_await_is_no_different() {
    let registry = TestTool::new("bad", |_: ToolExecution| -> std::future::Ready<_> { panic!("at once") }).alone();
    let result = registry.execute(call("c1", "bad")).await;
    assert_eq!(text_of(&result), "Error: tool bad panicked: at once");
}

#[tokio::test]
async fn a_panic_that_carries_no_text_has_a_placeholder() {
    let registry = TestTool::new("bad", |_| async { std::panic::panic_any(7) }).alone();
    let result = registry.execute(call("c1", "bad")).await;
    assert_eq!(
        text_of(&result),
        "Error: tool bad panicked: a panic that carries no text"
    );
}

#[tokio::test(start_paused = true)]
async fn h18_a_body_that_ignores_the_cancel_is_abandoned_after_the_grace() {
    let (send, mut executions) = tokio::sync::mpsc::unbounded_channel();
    let gone = Arc::new(Notify::new());
    let tool = TestTool::new("deaf", {
        let gone = Arc::clone(&gone);
        move |execution| {
            send.send(execution).expect("the test listens");
            never_returns(&gone)
        }
    });
    let registry = tool.alone();
    let call = call("c1", "deaf");
    let signal = call.signal.clone();
    let running = tokio::spawn({
        let registry = registry.clone();
        async move { registry.execute(call).await }
    });
    let execution = executions.recv().await.expect("the body started");
    // No grace runs before the cancel, however long it takes.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(!running.is_finished());
    let cancelled = Instant::now();
    signal.cancel();
    let result = running.await.expect("no panic");
    assert_eq!(cancelled.elapsed(), Duration::from_secs(10));
    let error = result.outcome.expect_err("abandoned");
    assert_eq!(error.code(), Some(ErrorCode::DidNotStop));
    let expected = "tool deaf did not stop within 10s after it was cancelled and was abandoned";
    assert_eq!(error.message(), expected);
    assert_eq!(execution.report_progress(ProgressView::default()), Ok(false));
    gone.notified().await;
}

#[tokio::test(start_paused = true)]
async fn h18_the_grace_is_a_setting() {
    let limits = ToolLimits::default()
        .cancel_grace(Duration::from_millis(250))
        .expect("within its range");
    let registry = ToolRegistry::new(limits);
    TestTool::new("deaf", |_| pending()).join(&registry);
    let call = call("c1", "deaf");
    let signal = call.signal.clone();
    let _cancels = registry.layer().around_execute(|_, next| next.run());
    let running = registry.execute(call);
    let begun = Instant::now();
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        signal.cancel();
    };
    let (result, ()) = tokio::join!(running, cancel);
    assert_eq!(
        result.outcome.expect_err("abandoned").code(),
        Some(ErrorCode::DidNotStop)
    );
    assert_eq!(begun.elapsed(), Duration::from_millis(1250));
}

#[test]
fn h18_a_grace_out_of_range_is_refused() {
    for millis in [0, 99, 600_001] {
        let refused = ToolLimits::default()
            .cancel_grace(Duration::from_millis(millis))
            .expect_err("out of range");
        assert_eq!(refused.setting(), "cancel_grace_ms");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h18_a_body_that_never_yields_is_counted_until_it_ends() {
    let (release, released) = mpsc::channel::<()>();
    let (entered, mut enter) = tokio::sync::mpsc::unbounded_channel();
    let released = std::sync::Mutex::new(Some(released));
    let tool = TestTool::new("stuck", move |_| {
        let released = released.lock().expect("not poisoned").take().expect("called once");
        let entered = entered.clone();
        async move {
            entered.send(()).expect("the test listens");
            // Until the test lets go: an error means that it failed.
            let _ = released.recv();
            Ok(json!(null))
        }
    });
    let limits = ToolLimits::default()
        .cancel_grace(Duration::from_millis(100))
        .expect("within its range");
    let registry = ToolRegistry::new(limits);
    tool.join(&registry);
    let call = call("c1", "stuck");
    let signal = call.signal.clone();
    let started = async {
        enter.recv().await.expect("the body starts");
        signal.cancel();
    };
    let (result, ()) = tokio::join!(registry.execute(call), started);
    assert_eq!(
        result.outcome.expect_err("abandoned").code(),
        Some(ErrorCode::DidNotStop)
    );
    assert_eq!(registry.quarantined(), 1);
    release.send(()).expect("the body waits");
    while registry.quarantined() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn dropping_the_execution_aborts_the_body() {
    let (gone, entered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let tool = TestTool::new("slow", {
        let (gone, entered) = (Arc::clone(&gone), Arc::clone(&entered));
        move |_| {
            entered.notify_one();
            never_returns(&gone)
        }
    });
    let registry = tool.alone();
    let mut running = Box::pin(registry.execute(call("c1", "slow")));
    tokio::select! {
        _ = &mut running => panic!("the body never returns"),
        () = entered.notified() => {}
    }
    drop(running);
    gone.notified().await;
    assert_eq!(registry.quarantined(), 0);
}
