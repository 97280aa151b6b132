//! What becomes of an outcome: validation, cancellation, policies after the body, finalisers.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weft_types::ContentBlock;

use super::{code_of, observed};
use crate::testing::{Log, Outcome, TestTool, call, text_of};
use crate::{ErrorCode, ProgressView, Replacement, ToolError, ToolExecution, ToolRegistry, ToolResult, Verdict};

type After = BoxFuture<'static, Verdict>;

fn says(verdict: Verdict) -> impl Fn(ToolExecution, Arc<ToolResult>) -> After + Send + Sync {
    move |_, _| {
        let verdict = verdict.clone();
        async move { verdict }.boxed()
    }
}

fn replaces(replacement: Replacement) -> Verdict {
    Verdict::Accept {
        replace: Some(replacement),
        contexts: Vec::new(),
    }
}

#[tokio::test]
async fn a_value_that_does_not_fit_is_a_failure() {
    let mut tool = TestTool::new("t", |_| async { Ok(json!({ "n": "one", "m": 2 })) });
    tool.output = json!({ "properties": { "n": { "type": "integer" }, "m": { "type": "string" } } });
    let result = observed(&tool.alone(), call("c1", "t")).await;
    assert_eq!(code_of(&result), Some(ErrorCode::InvalidToolOutput));
    let text = text_of(&result);
    assert!(text.starts_with("Error: invalid value of tool t: /"), "{text}");
    assert!(text.contains("; "), "{text}");
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |value, _| json!([value]))
}

#[tokio::test]
async fn values_and_metadata_that_no_log_could_hold_are_failures() {
    let deep = TestTool::new("t", |_| async { Ok(nested(121)) }).alone();
    let result = observed(&deep, call("c1", "t")).await;
    assert_eq!(code_of(&result), Some(ErrorCode::InvalidToolOutput));
    let mut tool = TestTool::idle("t");
    tool.meta = Box::new(|_| Some(nested(121)));
    let result = observed(&tool.alone(), call("c2", "t")).await;
    assert_eq!(code_of(&result), Some(ErrorCode::InvalidToolOutput));
    assert_eq!(result.meta, None);
}

#[tokio::test]
async fn a_value_that_cannot_be_rendered_is_a_failure() {
    let registry = TestTool::new("t", |_| async { Ok(json!("unrenderable")) }).alone();
    let result = observed(&registry, call("c1", "t")).await;
    assert!(text_of(&result).starts_with("Error: tool t panicked while it rendered its value: "));
}

#[tokio::test]
async fn a_failure_keeps_its_message_and_code_and_concludes_nothing() {
    let registry = TestTool::new("t", |execution| async move {
        execution.conclude_turn();
        execution.defer_context(ContentBlock::text("context"));
        Err(ToolError::with_code(ErrorCode::ToolTimeout, "took too long"))
    });
    let result = observed(&registry.alone(), call("c1", "t")).await;
    assert_eq!(text_of(&result), "Error: took too long");
    assert_eq!(code_of(&result), Some(ErrorCode::ToolTimeout));
    assert!(!result.concludes_turn);
    assert_eq!(result.contexts, [ContentBlock::text("context")]);
    let record = result.outcome.expect_err("failed").to_record();
    assert_eq!(
        (record.message.as_str(), record.code.as_deref()),
        ("took too long", Some("TOOL_TIMEOUT"))
    );
}

/// A tool that waits for the cancel, which its own report causes, and then ends in some way.
fn cancelled_midway(outcome: impl Fn() -> Outcome + Send + Sync + 'static) -> (ToolRegistry, CancellationToken) {
    let outcome = Arc::new(outcome);
    let tool = TestTool::new("t", move |execution| {
        let outcome = Arc::clone(&outcome);
        async move {
            execution.defer_context(ContentBlock::text("context"));
            execution.report_progress(ProgressView::default())?;
            execution.signal().cancelled().await;
            outcome()
        }
    });
    let (registry, signal) = (tool.alone(), CancellationToken::new());
    let fires = signal.clone();
    let cancels = registry.progress().subscribe(None, move |_| fires.cancel());
    // The registry owns the observer; both end with the test.
    let keep = Mutex::new(Some(cancels));
    let kept = registry.guard(move |_| {
        let _alive = &keep;
        Ok(())
    });
    kept.keep();
    (registry, signal)
}

#[tokio::test]
async fn rule20_only_a_success_turns_into_aborted_and_deferred_contexts_stay() {
    let (registry, signal) = cancelled_midway(|| Ok(json!("done")));
    let result = observed(
        &registry,
        crate::ToolCallRequest {
            signal,
            ..call("c1", "t")
        },
    )
    .await;
    assert_eq!(code_of(&result), Some(ErrorCode::Aborted));
    assert_eq!(text_of(&result), "Error: tool t was cancelled");
    assert_eq!(result.contexts, [ContentBlock::text("context")]);
    let (registry, signal) = cancelled_midway(|| Err(ToolError::new("run was cancelled by its owner")));
    let result = observed(
        &registry,
        crate::ToolCallRequest {
            signal,
            ..call("c2", "t")
        },
    )
    .await;
    assert_eq!(text_of(&result), "Error: run was cancelled by its owner");
}

#[tokio::test]
async fn rule20_policies_after_the_body_are_shown_the_abort_and_not_the_success() {
    let (registry, signal) = cancelled_midway(|| Ok(json!("done")));
    let seen = Log::default();
    let to = seen.clone();
    let _policy = registry.after_execute(move |_, result| {
        to.push(text_of(&result));
        async { Verdict::accept() }.boxed()
    });
    observed(
        &registry,
        crate::ToolCallRequest {
            signal,
            ..call("c1", "t")
        },
    )
    .await;
    assert_eq!(seen.all(), ["Error: tool t was cancelled"]);
}

#[tokio::test]
async fn rule20_a_policy_cannot_turn_a_cancelled_call_into_a_success() {
    let registry = TestTool::idle("t").alone();
    let call = call("c1", "t");
    let signal = call.signal.clone();
    let _policy = registry.after_execute(move |_, result| {
        assert!(!result.is_error());
        signal.cancel();
        async { replaces(Replacement::Value(json!("fine"))) }.boxed()
    });
    assert_eq!(code_of(&observed(&registry, call).await), Some(ErrorCode::Aborted));
}

#[tokio::test]
async fn rule19_a_policy_may_replace_the_content_or_the_value_of_a_success() {
    let mut tool = TestTool::new("t", |_| async { Ok(json!(1)) });
    tool.output = json!({ "type": "integer" });
    let registry = tool.alone();
    let content = Replacement::Content(vec![ContentBlock::text("short")]);
    let policy = registry.after_execute(says(replaces(content)));
    let result = observed(&registry, call("c1", "t")).await;
    assert_eq!((text_of(&result).as_str(), &result.outcome), ("short", &Ok(json!(1))));
    drop(policy);
    let policy = registry.after_execute(says(replaces(Replacement::Value(json!(2)))));
    let result = observed(&registry, call("c2", "t")).await;
    assert_eq!((text_of(&result).as_str(), &result.outcome), ("2", &Ok(json!(2))));
    drop(policy);
    let _policy = registry.after_execute(says(replaces(Replacement::Value(json!("two")))));
    assert_eq!(
        code_of(&observed(&registry, call("c3", "t")).await),
        Some(ErrorCode::InvalidToolOutput)
    );
}

#[tokio::test]
async fn rule19_a_policy_may_not_replace_the_value_of_a_failure() {
    let registry = TestTool::new("t", |_| async { Err(ToolError::new("broken")) }).alone();
    let _policy = registry.after_execute(says(replaces(Replacement::Value(json!("mended")))));
    let result = observed(&registry, call("c1", "t")).await;
    assert_eq!(
        text_of(&result),
        "Error: a policy after tool t replaced the value of a call that had failed"
    );
}

#[tokio::test]
async fn rule19_a_block_is_a_failure_with_its_feedback_and_drops_what_the_body_deferred() {
    let tool = TestTool::new("t", |execution| async move {
        execution.defer_context(ContentBlock::text("from the body"));
        execution.conclude_turn();
        Ok(json!(1))
    });
    let registry = tool.alone();
    let _adds = registry.after_execute(says(Verdict::Accept {
        replace: None,
        contexts: vec![ContentBlock::text("from a policy")],
    }));
    let result = observed(&registry, call("c1", "t")).await;
    assert_eq!(
        result.contexts,
        ["from the body", "from a policy"].map(ContentBlock::text)
    );
    let layer = registry.layer();
    let _blocks = layer.after_execute(says(Verdict::Block {
        feedback: "try again".into(),
    }));
    let _never = layer.after_execute(|_, _| panic!("a block is the last word"));
    let result = observed(&layer, call("c2", "t")).await;
    assert_eq!(text_of(&result), "Error: try again");
    assert_eq!(result.contexts, [ContentBlock::text("from a policy")]);
    assert!(!result.concludes_turn);
}

#[tokio::test]
async fn policies_after_see_what_the_ones_before_them_made() {
    let registry = TestTool::idle("t").alone();
    let layer = registry.layer();
    let seen = Log::default();
    let to = seen.clone();
    let _inner = layer.after_execute(move |_, result| {
        to.push(text_of(&result));
        async { Verdict::accept() }.boxed()
    });
    let _outer = registry.after_execute(says(replaces(Replacement::Value(json!("changed")))));
    layer.execute(call("c1", "t")).await;
    assert_eq!(seen.all(), ["\"changed\""]);
}

#[tokio::test]
async fn rule18_a_panic_of_a_policy_after_is_final() {
    let registry = TestTool::idle("t").alone();
    let _panics = registry.after_execute(|_, _| panic!("on purpose"));
    let _never = registry.after_execute(|_, _| panic!("must not be asked"));
    let result = observed(&registry, call("c1", "t")).await;
    assert_eq!(text_of(&result), "Error: a policy after tool t panicked: on purpose");
}

#[tokio::test]
async fn the_finalizer_has_the_last_word_on_content_and_is_asked_exactly_once_for_every_outcome() {
    let asked = Log::default();
    let bodies: [fn() -> Outcome; 2] = [|| Ok(json!(1)), || Err(ToolError::new("broken"))];
    for body in bodies {
        let mut tool = TestTool::new("t", move |_| async move { body() });
        let to = asked.clone();
        tool.finalizer = Box::new(move |_, result| {
            to.push(result.is_error());
            Some(vec![ContentBlock::text(format!("final: {}", text_of(result)))])
        });
        let result = observed(&tool.alone(), call("c1", "t")).await;
        assert!(text_of(&result).starts_with("final: "));
    }
    assert_eq!(asked.all(), [false, true]);
}

#[tokio::test]
async fn rule21a_a_panicking_finalizer_makes_an_ordinary_failure() {
    let mut tool = TestTool::new("t", |execution| async move {
        execution.conclude_turn();
        Ok(json!(1))
    });
    tool.meta = Box::new(|_| Some(json!("meta")));
    tool.finalizer = Box::new(|_, _| panic!("on purpose"));
    let result = observed(&tool.alone(), call("c1", "t")).await;
    assert_eq!(
        text_of(&result),
        "Error: tool t panicked while it finalised its content: on purpose"
    );
    assert_eq!((result.meta, result.concludes_turn), (None, false));
}

#[tokio::test]
async fn rule23_a_panicking_result_observer_changes_nothing_for_others() {
    let registry = TestTool::idle("t").alone();
    let _panics = registry.results().subscribe(None, |_| panic!("on purpose"));
    assert_eq!(observed(&registry, call("c1", "t")).await.outcome, Ok(json!("done")));
}

#[tokio::test]
async fn what_is_deferred_after_the_execute_phase_has_no_effect() {
    let registry = TestTool::idle("t").alone();
    let _late = registry.after_execute(|execution, _| {
        execution.defer_context(ContentBlock::text("late"));
        execution.conclude_turn();
        async { Verdict::accept() }.boxed()
    });
    let result = observed(&registry, call("c1", "t")).await;
    assert_eq!((result.contexts, result.concludes_turn), (Vec::new(), false));
}

#[tokio::test]
async fn a_tool_that_cancels_its_own_signal_stops_nobody_else() {
    let registry = TestTool::new("t", |execution| async move {
        execution.signal().cancel();
        Ok(json!(1))
    });
    let registry = registry.alone();
    let call = call("c1", "t");
    let signal = call.signal.clone();
    assert_eq!(code_of(&observed(&registry, call).await), Some(ErrorCode::Aborted));
    assert!(!signal.is_cancelled());
}
