//! Whether a call may run: policies, the user, guards, arguments, unknown tools, and the check point.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, pending};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{code_of, observed, tracing_phases};
use crate::pipeline::Opened;
use crate::testing::{Log, TestTool, call, text_of};
use crate::{
    Approval, ApprovalRequest, Approver, Decision, ErrorCode, Extensions, ProposedCall, ToolCallRequest, ToolRegistry,
};

/// An approver made of a closure.
struct Answers<F>(F);

impl<F> Approver for Answers<F>
where
    F: Fn(ApprovalRequest, CancellationToken) -> BoxFuture<'static, Approval> + Send + Sync,
{
    fn ask(&self, request: ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        (self.0)(request, cancel)
    }
}

fn answering(approval: Approval) -> Arc<dyn Approver> {
    Arc::new(Answers(move |_, _| async move { approval }.boxed()))
}

/// A registry with a risky tool, where risky calls are asked about.
fn asking() -> ToolRegistry {
    let mut tool = TestTool::idle("write");
    tool.parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    tool.needs_approval = Box::new(|arguments| arguments["path"] != "harmless");
    let registry = tool.alone();
    let policy = registry.before_execute(|call: &ProposedCall<'_>| match call.access.is_risky() {
        true => Decision::Ask,
        false => Decision::Allow,
    });
    policy.keep();
    registry
}

fn denial(reason: &str) -> String {
    format!("Error: permission to run tool write was denied: {reason}")
}

#[tokio::test]
async fn rule16_the_answer_of_the_approver_decides() {
    for (approval, expected) in [
        (Approval::AllowedOnce, "\"done\"".to_owned()),
        (Approval::Rejected, denial("the user rejected it")),
        (Approval::Standing(0), denial("the user rejected it")),
        (Approval::Cancelled, denial("the question to the user was cancelled")),
        (
            Approval::Unavailable,
            denial("it needs the user's approval, and nobody could be asked"),
        ),
    ] {
        let registry = asking();
        registry.set_approver(answering(approval));
        let result = observed(&registry, call("c1", "write")).await;
        assert_eq!(text_of(&result), expected);
    }
}

#[tokio::test]
async fn rule16_without_an_approver_or_an_agent_nobody_could_be_asked() {
    let nobody = denial("it needs the user's approval, and nobody could be asked");
    let registry = asking();
    assert_eq!(text_of(&registry.execute(call("c1", "write")).await), nobody);
    registry.set_approver(answering(Approval::AllowedOnce));
    let without_agent = ToolCallRequest::new("c1".into(), "write", "");
    assert_eq!(text_of(&registry.execute(without_agent).await), nobody);
}

#[tokio::test]
async fn the_nearest_approver_is_asked_about_the_very_call() {
    let registry = asking();
    registry.set_approver(answering(Approval::Rejected));
    let layer = registry.layer();
    let asked = Log::default();
    let to = asked.clone();
    layer.set_approver(Arc::new(Answers(move |request, _| {
        to.push(request);
        async { Approval::AllowedOnce }.boxed()
    })));
    let call = ToolCallRequest {
        raw_arguments: r#"{"path": "a"}"#.into(),
        ..call("c1", "write")
    };
    let expected = ApprovalRequest {
        agent: call.agent.expect("an agent"),
        call_id: "c1".into(),
        root_call_id: "c1".into(),
        tool: "write".into(),
        arguments: json!({ "path": "a" }),
        access: crate::Access::Other,
        standing: Vec::new(),
        asker: None,
    };
    assert!(!layer.layer().execute(call).await.is_error());
    assert_eq!(asked.all(), [expected]);
}

#[tokio::test]
async fn rule20_an_approval_cancelled_together_with_the_call_is_no_denial() {
    let registry = asking();
    registry.set_approver(Arc::new(Answers(|_, cancel: CancellationToken| {
        async move {
            cancel.cancelled().await;
            Approval::Cancelled
        }
        .boxed()
    })));
    let call = call("c1", "write");
    let signal = call.signal.clone();
    let (result, ()) = tokio::join!(registry.execute(call), async { signal.cancel() });
    assert_eq!(code_of(&result), Some(ErrorCode::AbortedBeforeDispatch));
}

#[tokio::test]
async fn an_answer_that_comes_with_the_cancel_does_not_start_the_body() {
    let registry = asking();
    let call = call("c1", "write");
    let signal = call.signal.clone();
    registry.set_approver(Arc::new(Answers(move |_, _| {
        signal.cancel();
        async { Approval::AllowedOnce }.boxed()
    })));
    assert_eq!(
        code_of(&registry.execute(call).await),
        Some(ErrorCode::AbortedBeforeDispatch)
    );
}

#[tokio::test(start_paused = true)]
async fn an_approver_that_ignores_the_cancel_is_given_up_after_the_grace() {
    let registry = asking();
    registry.set_approver(Arc::new(Answers(|_, _| pending().boxed())));
    let call = call("c1", "write");
    let signal = call.signal.clone();
    let begun = Instant::now();
    let (result, ()) = tokio::join!(registry.execute(call), async { signal.cancel() });
    assert_eq!(code_of(&result), Some(ErrorCode::AbortedBeforeDispatch));
    assert_eq!(begun.elapsed(), Duration::from_secs(10));
}

#[tokio::test]
async fn a_panicking_approver_fails_the_call_and_not_the_registry() {
    let registry = asking();
    registry.set_approver(Arc::new(Answers(|_, _| panic!("on purpose"))));
    let result = observed(&registry, call("c1", "write")).await;
    assert_eq!(text_of(&result), "Error: a policy on tool write panicked: on purpose");
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_cannot_run() {
    let registry = asking();
    let asked = Log::default();
    let to = asked.clone();
    registry.set_approver(Arc::new(Answers(move |_, _| {
        to.push(());
        async { Approval::AllowedOnce }.boxed()
    })));
    let _asks_always = registry.before_execute(|_| Decision::Ask);
    for (name, arguments) in [("write", r#"{"path": 1}"#), ("write", "{"), ("none", "{}")] {
        assert!(
            !registry.needs_approval(name, arguments, &Extensions::new()),
            "{name} {arguments}"
        );
        let call = ToolCallRequest {
            raw_arguments: arguments.into(),
            ..call("c1", name)
        };
        assert!(registry.execute(call).await.is_error());
    }
    assert_eq!(asked.len(), 0);
}

#[test]
fn needs_approval_foretells_whether_the_user_will_be_asked() {
    let registry = asking();
    assert!(registry.needs_approval("write", "", &Extensions::new()));
    assert!(registry.needs_approval("write", r#"{"path": "a"}"#, &Extensions::new()));
    assert!(!registry.needs_approval("write", r#"{"path": "harmless"}"#, &Extensions::new()));
    let layer = registry.layer();
    let denies = layer.before_execute(|_| Decision::Deny { reason: String::new() });
    assert!(!layer.needs_approval("write", "", &Extensions::new()));
    drop(denies);
    assert!(layer.needs_approval("write", "", &Extensions::new()));
}

#[tokio::test]
async fn a_tool_that_panics_over_its_risk_is_risky() {
    let mut tool = TestTool::idle("write");
    tool.needs_approval = Box::new(|_| panic!("on purpose"));
    let registry = tool.alone();
    let _policy = registry.before_execute(|call| match call.access.is_risky() {
        true => Decision::Ask,
        false => Decision::Allow,
    });
    assert!(registry.needs_approval("write", "", &Extensions::new()));
}

#[tokio::test]
async fn the_strictest_policy_decides_whatever_the_layer() {
    let registry = TestTool::idle("write").alone();
    let layer = registry.layer();
    let order = Log::default();
    let decide = |who: &'static str, decision: Decision| {
        let to = order.clone();
        move |_: &ProposedCall<'_>| {
            to.push(who);
            decision.clone()
        }
    };
    let deny = Decision::Deny {
        reason: "not today".into(),
    };
    let _inner = layer.before_execute(decide("inner", Decision::Allow));
    let _ask = registry.before_execute(decide("outer", Decision::Ask));
    let _denies = layer.before_execute(decide("inner, later", deny));
    let _never = layer.before_execute(decide("after the denial", Decision::Allow));
    assert_eq!(text_of(&layer.execute(call("c1", "write")).await), denial("not today"));
    assert_eq!(order.all(), ["outer", "inner", "inner, later"]);
    assert_eq!(
        text_of(&registry.execute(call("c1", "write")).await),
        denial("it needs the user's approval, and nobody could be asked")
    );
}

#[tokio::test]
async fn rule18_policies_and_guards_see_calls_of_unknown_tools_and_denials_pass_through_after_policies() {
    let (registry, order) = tracing_phases(TestTool::idle("read"));
    let result = observed(&registry, call("c1", "raed")).await;
    assert_eq!(code_of(&result), Some(ErrorCode::UnknownTool));
    assert_eq!(text_of(&result), "Error: unknown tool \"raed\"; there are read");
    assert_eq!(order.all(), ["before", "guard", "around", "after"]);
    let _denies = registry.guard(|_| Err("closed".into()));
    let result = observed(&registry, call("c2", "read")).await;
    assert_eq!(
        text_of(&result),
        "Error: permission to run tool read was denied: closed"
    );
    assert_eq!(order.all()[4..], ["before", "guard", "after", "finalize"]);
}

#[tokio::test]
async fn rule18_a_panic_of_a_policy_is_final() {
    let (registry, order) = tracing_phases(TestTool::idle("read"));
    let panics = registry.before_execute(|_| panic!("on purpose"));
    let result = observed(&registry, call("c1", "read")).await;
    assert_eq!(text_of(&result), "Error: a policy on tool read panicked: on purpose");
    assert_eq!(order.all(), ["before", "finalize"]);
    drop(panics);
    let _panics = registry.guard(|_| panic!("on purpose"));
    observed(&registry, call("c2", "read")).await;
    assert_eq!(order.all()[2..], ["before", "guard", "finalize"]);
}

#[tokio::test]
async fn guards_come_outermost_first_and_one_added_during_the_walk_is_asked_too() {
    let registry = TestTool::idle("read").alone();
    let layer = registry.layer();
    let order = Log::default();
    let (to, within) = (order.clone(), layer.clone());
    let _inner = layer.guard(move |_| {
        to.push("inner");
        let to = to.clone();
        let added = within.guard(move |_| {
            to.push("added");
            Err("added".into())
        });
        added.keep();
        Ok(())
    });
    let to = order.clone();
    let _outer = registry.guard(move |_| {
        to.push("outer");
        Ok(())
    });
    let result = layer.execute(call("c1", "read")).await;
    assert!(text_of(&result).ends_with("denied: added"));
    assert_eq!(order.all(), ["outer", "inner", "added"]);
}

#[tokio::test]
async fn arguments_are_checked_against_the_parameters_before_the_body() {
    let mut tool = TestTool::new("read", |_| async { panic!("must not run") });
    tool.parameters = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["path"] });
    let registry = tool.alone();
    let call = ToolCallRequest {
        raw_arguments: r#"{"n": "one"}"#.into(),
        ..call("c1", "read")
    };
    let result = observed(&registry, call).await;
    assert_eq!(code_of(&result), Some(ErrorCode::InvalidArgs));
    let text = text_of(&result);
    assert!(text.starts_with("Error: invalid arguments of tool read: "), "{text}");
    assert!(
        text.contains("/n: \"one\" is not of type \"integer\"") && text.contains("; "),
        "{text}"
    );
}

#[tokio::test]
async fn text_that_is_not_json_reaches_policies_as_text_and_no_body() {
    let registry = TestTool::new("read", |_| async { panic!("must not run") }).alone();
    let seen = Log::default();
    let to = seen.clone();
    let _policy = registry.before_execute(move |call| {
        to.push(call.arguments.clone());
        Decision::Allow
    });
    let call = ToolCallRequest {
        raw_arguments: "{path: a}".into(),
        ..call("c1", "read")
    };
    let result = observed(&registry, call).await;
    assert_eq!(code_of(&result), Some(ErrorCode::InvalidArgs));
    assert_eq!(seen.all(), [Value::from("{path: a}")]);
}

#[tokio::test]
async fn an_unknown_tool_is_told_of_a_bounded_list() {
    let registry = ToolRegistry::new(crate::ProgressLimits::default());
    let names: Vec<&'static str> = (0..60).map(|n| &*Box::leak(format!("t{n}").into_boxed_str())).collect();
    let result = registry.execute(call("c1", "x")).await;
    assert_eq!(text_of(&result), "Error: unknown tool \"x\"; there are no tools");
    names.into_iter().for_each(|name| TestTool::idle(name).join(&registry));
    let text = text_of(&registry.execute(call("c1", &"x".repeat(10_000))).await);
    assert!(
        text.contains("t49, …") && !text.contains("t50") && text.len() < 600,
        "{text}"
    );
}

#[tokio::test]
async fn the_check_point_holds_up_the_body_and_its_failure_fails_the_call() {
    let (registry, order) = tracing_phases(TestTool::idle("read"));
    let to = order.clone();
    let checkpoint = async move {
        to.push("durable");
        Ok(())
    };
    let opened = Opened::new(&registry.layer, call("c1", "read"));
    let result = opened.run(Some(checkpoint.boxed())).await.finish().await;
    assert!(!result.is_error());
    assert_eq!(order.all()[..4], ["before", "guard", "durable", "around"]);

    let opened = Opened::new(&registry.layer, call("c2", "read"));
    let checkpoint = async { Err("the disk is full".into()) };
    let result = opened.run(Some(checkpoint.boxed())).await.finish().await;
    assert_eq!(text_of(&result), "Error: tool read was not started: the disk is full");
}

#[tokio::test]
async fn a_cancel_during_the_check_point_keeps_the_body_from_starting() {
    let registry = TestTool::new("read", |_| async { panic!("must not run") }).alone();
    let call = call("c1", "read");
    let signal = call.signal.clone();
    let checkpoint = async move {
        signal.cancel();
        Ok(())
    };
    let started = Log::default();
    let to = started.clone();
    let _started = registry.started().subscribe(None, move |_| to.push(()));
    let opened = Opened::new(&registry.layer, call);
    let result = opened.run(Some(checkpoint.boxed())).await.finish().await;
    assert_eq!(code_of(&result), Some(ErrorCode::AbortedBeforeDispatch));
    assert_eq!(started.len(), 0);
}

#[tokio::test]
async fn a_cancelled_call_does_not_wait_for_a_check_point_that_hangs() {
    let registry = TestTool::new("read", |_| async { panic!("must not run") }).alone();
    let call = call("c1", "read");
    let signal = call.signal.clone();
    let opened = Opened::new(&registry.layer, call);
    let (settled, ()) = tokio::join!(opened.run(Some(pending().boxed())), async { signal.cancel() });
    assert_eq!(code_of(&settled.finish().await), Some(ErrorCode::AbortedBeforeDispatch));
}

#[tokio::test]
async fn the_user_is_not_asked_about_a_call_that_is_cancelled_already() {
    let registry = asking();
    registry.set_approver(Arc::new(Answers(|_, _| panic!("must not be asked"))));
    let call = call("c1", "write");
    let signal = call.signal.clone();
    let opened = Opened::new(&registry.layer, call);
    signal.cancel();
    let result = opened.run(None).await.finish().await;
    assert_eq!(code_of(&result), Some(ErrorCode::AbortedBeforeDispatch));
}

#[tokio::test]
async fn prm04_a_call_that_would_do_something_else_when_it_starts_is_denied() {
    for asked in [true, false] {
        let mut tool = TestTool::idle("write");
        let turned = Arc::new(AtomicBool::new(asked));
        let now = Arc::clone(&turned);
        tool.needs_approval = Box::new(move |_| now.load(Ordering::Relaxed));
        let registry = tool.alone();
        let turning = Arc::clone(&turned);
        let _asks = registry.before_execute(move |call| match call.access.is_risky() {
            true => Decision::Ask,
            false => Decision::Allow,
        });
        let _turns = registry.guard(move |_| {
            turning.store(!asked, Ordering::Relaxed);
            Ok(())
        });
        registry.set_approver(answering(Approval::AllowedOnce));
        let text = text_of(&registry.execute(call("c1", "write")).await);
        assert!(text.contains("has changed since that was decided"), "{text}");
    }
}

#[tokio::test]
async fn what_is_denied_while_the_user_is_asked_does_not_run() {
    let registry = asking();
    let denies = Arc::new(AtomicBool::new(false));
    let denies_now = Arc::clone(&denies);
    let _late = registry.before_execute(
        move |call| match denies_now.load(Ordering::Relaxed) && call.is_approved {
            true => Decision::Deny {
                reason: "a rule forbids it".into(),
            },
            false => Decision::Allow,
        },
    );
    registry.set_approver(Arc::new(Answers(move |_, _| {
        denies.store(true, Ordering::Relaxed);
        async { Approval::AllowedOnce }.boxed()
    })));
    let text = text_of(&registry.execute(call("c1", "write")).await);
    assert_eq!(text, denial("a rule forbids it"));
}
