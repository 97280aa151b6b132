//! What a call may look like and how it is presented.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weft_tool_workflow::WorkflowToolConfig;
use weft_tools::{CallView, ErrorCode, Extensions, ToolCallRequest, ToolKind};
use weft_workflow::{StartRequest, TestRun};

use crate::support::{Bench, Caller, said, session, started};

fn finishing() -> Bench {
    Bench::new(|run: &TestRun, _: &StartRequest| {
        run.complete("null", 0);
        Ok(())
    })
}

#[track_caller]
fn title(arguments: &Value) -> String {
    let view = finishing().registry.present_call("workflow", &arguments.to_string());
    let CallView::Generic {
        title,
        kind: ToolKind::Other,
        raw_input,
        content,
        locations,
    } = view
    else {
        panic!("a generic card of no kind, got {view:?}")
    };
    assert!(content.is_empty() && locations.is_empty());
    assert_eq!(raw_input, Some(arguments["script"].clone()), "the script itself");
    title
}

#[test]
fn the_card_is_titled_after_the_workflow_and_shows_the_script() {
    let meta = json!({ "name": "demo", "description": "d" });
    assert_eq!(title(&json!({ "script": "return 1", "meta": meta })), "workflow: demo");
    assert_eq!(title(&json!({ "script": "// name: own\nreturn 1" })), "workflow: own");
    assert_eq!(
        title(&json!({ "script": "// name: own", "meta": meta })),
        "workflow: demo"
    );
    assert_eq!(title(&json!({ "script": "return 1" })), "workflow");
    let long = json!({ "name": "n\n".repeat(500), "description": "d" });
    assert_eq!(
        title(&json!({ "script": "", "meta": long })).chars().count(),
        "workflow: ".len() + 200
    );
}

#[test]
fn g81_recorded_arguments_that_no_longer_fit_have_the_generic_card() {
    let registry = finishing().registry;
    for raw in ["{\"script\": 7}", "[]", "no JSON", "{}"] {
        let view = registry.present_call("workflow", raw);
        assert_eq!(view.title(), "workflow", "{raw}");
        assert!(matches!(view, CallView::Generic { raw_input: Some(_), .. }), "{raw}");
    }
}

#[tokio::test]
async fn a_workflow_that_names_itself_is_titled_alike_from_call_to_end() {
    let bench = Bench::new(|run: &TestRun, _: &StartRequest| {
        run.phase("Scan");
        run.complete("null", 0);
        Ok(())
    });
    let result = bench
        .registry
        .execute(bench.call_with(&json!({ "script": "// name: own" })))
        .await;
    assert!(said(&result).starts_with("workflow \"own\" completed (0 agents).\n"));
    assert_eq!(bench.views()[0].title.as_deref(), Some("workflow: own – Scan"));
}

#[tokio::test]
async fn arguments_that_do_not_fit_start_nothing() {
    let bench = finishing();
    let bad = [
        json!({}),
        json!({ "script": 1 }),
        json!({ "script": "x", "meta": { "name": "n" } }),
    ];
    for arguments in bad {
        let result = bench.registry.execute(bench.call_with(&arguments)).await;
        assert_eq!(
            result.outcome.expect_err("bad arguments").code(),
            Some(ErrorCode::InvalidArgs),
            "{arguments}"
        );
    }
    assert!(bench.engine.runs().is_empty());
}

#[tokio::test]
async fn args_of_any_kind_arrive_as_they_are() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    let bench = Bench::new(move |run: &TestRun, request: &StartRequest| {
        into.lock().expect("not poisoned").push(request.args.clone());
        run.complete("null", 0);
        Ok(())
    });
    let given = [
        json!({ "k": [1] }),
        json!([1, 2]),
        json!("{\"k\":1}"),
        json!(7),
        json!(null),
    ];
    for args in &given {
        let meta = json!({ "name": "n", "description": "d" });
        let call = bench.call_with(&json!({ "script": "x", "meta": meta, "args": args }));
        assert!(!bench.registry.execute(call).await.is_error());
    }
    assert_eq!(*seen.lock().expect("not poisoned"), given.map(Some));
}

#[tokio::test]
async fn g86_an_agent_on_the_deepest_level_is_refused_a_workflow() {
    let bench = finishing();
    for (depth, refused) in [(0, false), (1, false), (2, true), (3, true)] {
        let caller = Caller::new(&bench.registry, session("deep", depth));
        let result = bench.registry.execute(caller.call()).await;
        assert_eq!(result.is_error(), refused, "level {depth}");
        if refused {
            let text = said(&result);
            assert!(
                text.contains(&format!("{} levels below", depth + 1)) && text.contains("max_depth is 2"),
                "{text}"
            );
            assert!(caller.records().is_empty());
        }
    }
    assert_eq!(bench.engine.runs().len(), 2);
}

#[tokio::test]
async fn a_call_without_an_agent_is_refused() {
    let bench = finishing();
    let raw = bench.call().raw_arguments;
    let result = bench
        .registry
        .execute(ToolCallRequest::new("c".into(), "workflow", raw))
        .await;
    assert!(said(&result).contains("without a calling agent"));
    assert!(bench.engine.runs().is_empty());
}

#[test]
fn it_runs_alone_and_asks_nobody() {
    let bench = finishing();
    assert!(
        !bench
            .registry
            .needs_approval("workflow", &bench.call().raw_arguments, &Extensions::new())
    );
    let spec = bench.registry.specs().remove(0);
    assert_eq!(
        spec.parameters["required"],
        json!(null),
        "meta may stand in the script, and the script in the run that is resumed"
    );
    let told = [
        "agent(prompt",
        "pipeline(",
        "parallel(",
        "phase(title)",
        "log(line)",
        "args",
        "null",
        "65,535",
    ];
    for word in told {
        assert!(spec.description.contains(word), "the model is not told of {word}");
    }
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let config = WorkflowToolConfig::default;
    let refused = config().result_chars(0).expect_err("too few");
    assert_eq!(
        refused.to_string(),
        "limit workflow.result_chars is 0, expected 1 to 1000000"
    );
    assert_eq!(
        config().max_depth(17).expect_err("too many").setting(),
        "agent.max_depth"
    );
    assert_eq!(
        config().shown_members(0).expect_err("too few").setting(),
        "shown_members"
    );
    let millis = std::time::Duration::from_millis;
    assert_eq!(
        config().teardown(millis(99)).expect_err("too short").setting(),
        "teardown_ms"
    );
    config().teardown(millis(100)).expect("the least");
}

#[tokio::test]
async fn the_tool_can_have_another_name() {
    let config = WorkflowToolConfig::default().name("orchestrate");
    let bench = Bench::with(started, config, weft_tools::ToolLimits::default());
    assert_eq!(bench.registry.specs()[0].name, "orchestrate");
}
