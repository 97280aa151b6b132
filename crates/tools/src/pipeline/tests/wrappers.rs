//! What wrappers around the body may do.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{code_of, observed};
use crate::testing::{Log, TestTool, call, text_of};
use crate::{ErrorCode, Executed, Next, ToolError};

#[tokio::test]
async fn the_first_wrapper_of_the_outermost_layer_is_outermost() {
    let registry = TestTool::idle("t").alone();
    let layer = registry.layer();
    let order = Log::default();
    let note = |who: &'static str| {
        let to = order.clone();
        move |_, next: Next| {
            let to = to.clone();
            async move {
                to.push((who, "in"));
                let executed = next.run().await;
                to.push((who, "out"));
                executed
            }
            .boxed()
        }
    };
    let _inner = layer.around_execute(note("inner"));
    let _outer = registry.around_execute(note("outer"));
    let _second = registry.around_execute(note("second"));
    layer.execute(call("c1", "t")).await;
    let expected = [
        ("outer", "in"),
        ("second", "in"),
        ("inner", "in"),
        ("inner", "out"),
        ("second", "out"),
        ("outer", "out"),
    ];
    assert_eq!(order.all(), expected);
}

#[tokio::test]
async fn a_replaced_signal_reaches_the_body_and_so_does_the_callers() {
    for by_caller in [false, true] {
        let tool = TestTool::new("t", |execution| async move {
            execution.report_progress(crate::ProgressView::default())?;
            execution.signal().cancelled().await;
            Err(ToolError::new("stopped"))
        });
        let registry = tool.alone();
        let own = CancellationToken::new();
        let passed = own.clone();
        let _wrapper = registry.around_execute(move |_, next| next.run_with_signal(passed.clone()));
        let call = call("c1", "t");
        let fires = if by_caller { call.signal.clone() } else { own };
        let _cancels = registry.progress().subscribe(None, move |_| fires.cancel());
        let result = registry.execute(call).await;
        assert_eq!(text_of(&result), "Error: stopped");
    }
}

#[tokio::test]
async fn a_success_under_a_wrappers_own_signal_stays_a_success() {
    let registry = TestTool::new("t", |execution| async move {
        execution.report_progress(crate::ProgressView::default())?;
        execution.signal().cancelled().await;
        Ok(json!("partial"))
    });
    let registry = registry.alone();
    let own = CancellationToken::new();
    let (passed, fires) = (own.clone(), own);
    let _wrapper = registry.around_execute(move |_, next| next.run_with_signal(passed.clone()));
    let _cancels = registry.progress().subscribe(None, move |_| fires.cancel());
    assert_eq!(registry.execute(call("c1", "t")).await.outcome, Ok(json!("partial")));
}

#[tokio::test]
async fn rule17_a_value_of_a_wrappers_own_is_checked_and_one_of_the_body_is_passed_on() {
    let mut tool = TestTool::new("t", |_| async { Ok(json!(1)) });
    tool.output = json!({ "type": "integer" });
    let registry = tool.alone();
    let passes = registry.around_execute(|_, next| next.run());
    assert_eq!(observed(&registry, call("c1", "t")).await.outcome, Ok(json!(1)));
    drop(passes);
    let good = registry.around_execute(|_, _| async { Executed::new(Ok(json!(2))) }.boxed());
    assert_eq!(observed(&registry, call("c2", "t")).await.outcome, Ok(json!(2)));
    drop(good);
    let _bad = registry.around_execute(|_, _| async { Executed::new(Ok(json!("two"))) }.boxed());
    let result = observed(&registry, call("c3", "t")).await;
    assert_eq!(code_of(&result), Some(ErrorCode::InvalidToolOutput));
}

#[tokio::test]
async fn rule17_a_value_of_another_execution_is_checked_too() {
    let kept = Arc::new(Mutex::new(None));
    let any = TestTool::new("any", |_| async { Ok(json!("text")) }).alone();
    let keep = Arc::clone(&kept);
    let keeps = any.around_execute(move |_, next| {
        let keep = Arc::clone(&keep);
        async move {
            let executed = next.run().await;
            *keep.lock().expect("not poisoned") = Some(executed.clone());
            executed
        }
        .boxed()
    });
    any.execute(call("c1", "any")).await;
    drop(keeps);
    let mut tool = TestTool::idle("t");
    tool.output = json!({ "type": "integer" });
    let registry = tool.alone();
    let _smuggles = registry.around_execute(move |_, _| {
        let executed = kept.lock().expect("not poisoned").clone().expect("kept");
        async move { executed }.boxed()
    });
    let result = registry.execute(call("c2", "t")).await;
    assert_eq!(code_of(&result), Some(ErrorCode::InvalidToolOutput));
}

#[tokio::test]
async fn a_wrapper_cannot_answer_for_a_tool_that_is_not_there() {
    let registry = TestTool::idle("t").alone();
    let _answers = registry.around_execute(|_, _| async { Executed::new(Ok(json!("made up"))) }.boxed());
    let result = observed(&registry, call("c1", "other")).await;
    assert_eq!(code_of(&result), Some(ErrorCode::UnknownTool));
}

#[tokio::test]
async fn rule20_a_success_without_the_body_while_the_caller_has_cancelled_is_aborted_before_dispatch() {
    let registry = TestTool::idle("t").alone();
    let call = call("c1", "t");
    let signal = call.signal.clone();
    let _answers = registry.around_execute(move |_, _| {
        signal.cancel();
        async { Executed::new(Ok(json!("cached"))) }.boxed()
    });
    let result = observed(&registry, call).await;
    assert_eq!(code_of(&result), Some(ErrorCode::AbortedBeforeDispatch));
}

#[tokio::test]
async fn a_body_does_not_start_under_a_signal_that_has_fired() {
    let registry = TestTool::new("t", |_| async { panic!("must not run") }).alone();
    let own = CancellationToken::new();
    own.cancel();
    let wrapper = registry.around_execute(move |_, next| next.run_with_signal(own.clone()));
    let result = observed(&registry, call("c1", "t")).await;
    assert_eq!(code_of(&result), Some(ErrorCode::AbortedBeforeDispatch));
    drop(wrapper);
    let call = call("c2", "t");
    let signal = call.signal.clone();
    let _cancels = registry.started().subscribe(None, move |_| signal.cancel());
    let result = observed(&registry, call).await;
    assert_eq!(code_of(&result), Some(ErrorCode::AbortedBeforeDispatch));
}

#[tokio::test]
async fn rule18_a_panic_of_a_wrapper_is_final_and_aborts_the_body_it_waited_for() {
    let registry = TestTool::new("t", |_| std::future::pending()).alone();
    let _wrapper = registry.around_execute(|_, next| {
        async move {
            let body = next.run();
            tokio::select! {
                biased;
                executed = body => executed,
                () = std::future::ready(()) => panic!("on purpose"),
            }
        }
        .boxed()
    });
    let after = Log::default();
    let to = after.clone();
    let _after = registry.after_execute(move |_, _| {
        to.push(());
        async { crate::Verdict::accept() }.boxed()
    });
    let result = observed(&registry, call("c1", "t")).await;
    assert_eq!(text_of(&result), "Error: a policy around tool t panicked: on purpose");
    assert_eq!(after.len(), 0);
    while registry.quarantined() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn nothing_runs_for_a_wrapper_that_handed_its_body_to_somebody_else() {
    let runs = Log::default();
    let to = runs.clone();
    let tool = TestTool::new("t", move |_| {
        to.push(());
        async { Ok(json!(null)) }
    });
    let registry = tool.alone();
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let _wrapper = registry.around_execute(move |_, next| {
        *keep.lock().expect("not poisoned") = Some(next);
        async { Executed::new(Err(ToolError::new("no"))) }.boxed()
    });
    assert_eq!(text_of(&registry.execute(call("c1", "t")).await), "Error: no");
    let next = kept.lock().expect("not poisoned").take().expect("kept");
    let late = next.run().await.into_outcome().expect_err("too late");
    assert_eq!(late.message(), "the execute phase of this call is over");
    assert_eq!(runs.len(), 0);
}
