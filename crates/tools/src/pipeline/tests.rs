//! The phases of one execution, rule by rule. Who may run at all is in `admission`, what becomes of an
//! outcome in `outcome`, wrappers are in `wrappers`.

mod admission;
mod outcome;
mod wrappers;

use std::sync::Arc;

use futures::FutureExt;
use serde_json::json;
use weft_types::ContentBlock;

use crate::testing::{Log, TestTool, call, text_of};
use crate::{
    Decision, ErrorCode, Extensions, ProgressView, ToolCallRequest, ToolError, ToolRegistry, ToolResult, Verdict,
};

/// A registry whose every phase writes its name down.
fn tracing_phases(tool: TestTool) -> (ToolRegistry, Log<&'static str>) {
    let order = Log::default();
    let mut tool = tool;
    let to = order.clone();
    tool.finalizer = Box::new(move |_, _| {
        to.push("finalize");
        None
    });
    let registry = tool.alone();
    let to = order.clone();
    let before = registry.before_execute(move |_| {
        to.push("before");
        Decision::Allow
    });
    before.keep();
    let to = order.clone();
    let guard = registry.guard(move |_| {
        to.push("guard");
        Ok(())
    });
    guard.keep();
    let to = order.clone();
    let around = registry.around_execute(move |_, next| {
        to.push("around");
        next.run()
    });
    around.keep();
    let to = order.clone();
    let after = registry.after_execute(move |_, _| {
        to.push("after");
        async { Verdict::accept() }.boxed()
    });
    after.keep();
    (registry, order)
}

/// Executes a call with its results observed; they must be one and the one returned.
async fn observed(registry: &ToolRegistry, call: ToolCallRequest) -> ToolResult {
    let seen = Log::default();
    let to = seen.clone();
    let _results = registry
        .results()
        .subscribe(None, move |observed| to.push(Arc::clone(&observed.result)));
    let result = registry.execute(call).await;
    let [observed] = &seen.all()[..] else {
        panic!("one result, not {}", seen.len())
    };
    assert_eq!(**observed, result);
    result
}

#[track_caller]
fn code_of(result: &ToolResult) -> Option<ErrorCode> {
    result.outcome.as_ref().expect_err("a failure").code()
}

#[tokio::test]
async fn phases_come_in_their_order() {
    let body = Log::default();
    let to = body.clone();
    let tool = TestTool::new("t", move |_| {
        to.push("body");
        async { Ok(json!("done")) }
    });
    let (registry, order) = tracing_phases(tool);
    let (result, to) = (order.clone(), order.clone());
    let _started = registry.started().subscribe(None, move |_| to.push("started"));
    let _results = registry.results().subscribe(None, move |_| result.push("result"));
    registry.execute(call("c1", "t")).await;
    let expected = ["before", "guard", "started", "around", "after", "finalize", "result"];
    assert_eq!(order.all(), expected);
    assert_eq!(body.len(), 1);
}

#[tokio::test]
async fn an_aborted_call_meets_no_policy_but_has_its_result_observed() {
    let (registry, order) = tracing_phases(TestTool::idle("t"));
    let call = call("c1", "t");
    call.signal.cancel();
    let result = observed(&registry, call).await;
    assert_eq!(code_of(&result), Some(ErrorCode::AbortedBeforeDispatch));
    assert_eq!(text_of(&result), "Error: tool t was cancelled before it started");
    assert_eq!(order.all(), ["finalize"]);
}

#[tokio::test]
async fn a_success_has_its_value_content_metadata_contexts_and_may_conclude_the_turn() {
    let mut tool = TestTool::new("t", |execution| async move {
        execution.defer_context(ContentBlock::text("by the way"));
        execution.conclude_turn();
        Ok(json!({ "n": 1 }))
    });
    tool.meta = Box::new(|value| Some(json!({ "of": value["n"] })));
    let result = observed(&tool.alone(), call("c1", "t")).await;
    let expected = ToolResult {
        outcome: Ok(json!({ "n": 1 })),
        content: vec![ContentBlock::text(r#"{"n":1}"#)],
        meta: Some(json!({ "of": 1 })),
        contexts: vec![ContentBlock::text("by the way")],
        concludes_turn: true,
    };
    assert_eq!(result, expected);
}

#[tokio::test]
async fn an_execution_knows_who_calls_with_what() {
    let tool = TestTool::new("t", |execution| async move {
        let lent = execution.extension::<String>().expect("lent by the caller");
        assert!(execution.extension::<Vec<u8>>().is_none());
        Ok(json!([
            execution.call_id().as_str(),
            execution.root_call_id().as_str(),
            execution.name(),
            execution.arguments(),
            execution.agent().is_some(),
            execution.is_nested(),
            lent.as_str(),
        ]))
    });
    let registry = tool.alone();
    let call = ToolCallRequest {
        raw_arguments: r#"{"a": 1}"#.into(),
        extensions: Extensions::new().with(Arc::new("lent".to_owned())),
        ..call("c1", "t")
    };
    let result = registry.execute(call).await;
    assert_eq!(
        result.outcome,
        Ok(json!(["c1", "c1", "t", { "a": 1 }, true, false, "lent"]))
    );
}

#[tokio::test]
async fn a_nested_call_carries_on_the_chain_and_has_no_metadata() {
    let mut leaf = TestTool::new("leaf", |execution| async move {
        assert!(execution.is_nested() && execution.agent().is_some());
        assert!(execution.extension::<String>().is_some());
        Ok(json!(execution.root_call_id().as_str()))
    });
    leaf.meta = Box::new(|_| Some(json!("meta")));
    let registry = leaf.alone();
    let inner = registry.clone();
    let middle = TestTool::new("middle", move |execution| {
        let inner = inner.clone();
        async move {
            let request = execution.nested("c1:1:1".into(), "leaf", "");
            assert_eq!(request.parent, Some(execution.token()));
            let result = inner.execute(request).await;
            assert_eq!(result.meta, None);
            result.outcome
        }
    });
    middle.join(&registry);
    let inner = registry.clone();
    let outer = TestTool::new("outer", move |execution| {
        let inner = inner.clone();
        async move {
            inner
                .execute(execution.nested("c1:1".into(), "middle", ""))
                .await
                .outcome
        }
    });
    outer.join(&registry);
    let call = ToolCallRequest {
        extensions: Extensions::new().with(Arc::new("lent".to_owned())),
        ..call("c1", "outer")
    };
    assert_eq!(registry.execute(call).await.outcome, Ok(json!("c1")));
}

#[tokio::test]
async fn cancelling_a_call_cancels_what_it_calls() {
    let leaf = TestTool::new("leaf", |execution| async move {
        execution.report_progress(ProgressView::default())?;
        execution.signal().cancelled().await;
        Err(ToolError::new("stopped"))
    });
    let registry = leaf.alone();
    let inner = registry.clone();
    let outer = TestTool::new("outer", move |execution| {
        let inner = inner.clone();
        async move { inner.execute(execution.nested("c1:1".into(), "leaf", "")).await.outcome }
    });
    outer.join(&registry);
    let call = call("c1", "outer");
    let signal = call.signal.clone();
    let _cancels = registry.progress().subscribe(None, move |_| signal.cancel());
    assert_eq!(text_of(&registry.execute(call).await), "Error: stopped");
}
