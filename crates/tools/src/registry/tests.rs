//! Layers, registration, restrictions, presentation.

use std::sync::Arc;

use serde_json::json;
use weft_types::ContentBlock;

use crate::testing::{TestTool, call};
use crate::{
    CallView, ProgressLimits, RegisterError, Registration, RestrictError, ResultForView, ResultView, ToolKind,
    ToolRegistry,
};

fn empty() -> ToolRegistry {
    ToolRegistry::new(ProgressLimits::default())
}

fn names(registry: &ToolRegistry) -> Vec<String> {
    registry.specs().into_iter().map(|spec| spec.name).collect()
}

fn try_register(registry: &ToolRegistry, tool: TestTool) -> Result<Registration, RegisterError> {
    registry.register(Arc::new(tool))
}

/// A tool that returns where it stands.
fn standing(name: &'static str, place: &'static str) -> TestTool {
    TestTool::new(name, move |_| async move { Ok(json!(place)) })
}

async fn answer(registry: &ToolRegistry, name: &str) -> String {
    match registry.execute(call("c1", name)).await.outcome {
        Ok(value) => value.as_str().expect("text").to_owned(),
        Err(error) => error.code().expect("a code").to_string(),
    }
}

#[tokio::test]
async fn the_nearest_tool_of_a_name_wins_in_either_order_of_registration() {
    let root = empty();
    let early = root.layer();
    standing("read", "early").join(&early);
    standing("read", "root").join(&root);
    let late = root.layer().layer();
    standing("read", "late").join(&late);
    assert_eq!(answer(&root, "read").await, "root");
    assert_eq!(answer(&early, "read").await, "early");
    assert_eq!(answer(&late, "read").await, "late");
    assert_eq!(answer(&root.layer(), "read").await, "root");
}

#[tokio::test]
async fn specs_are_in_order_of_registration_outer_layers_first_and_stable() {
    let root = empty();
    for name in ["read", "write", "bash"] {
        TestTool::idle(name).join(&root);
    }
    let layer = root.layer();
    for name in ["workflow", "write"] {
        TestTool::idle(name).join(&layer);
    }
    assert_eq!(names(&layer), ["read", "write", "bash", "workflow"]);
    assert_eq!(layer.specs(), layer.specs());
    assert_eq!(names(&root), ["read", "write", "bash"]);
}

#[test]
fn no_model_is_told_of_an_unlisted_tool_which_still_presents_calls() {
    let root = empty();
    TestTool::idle("read").join(&root);
    let mut tool = TestTool::idle("far");
    tool.call_view = Box::new(|_| {
        Some(CallView::Generic {
            title: "far away".to_owned(),
            kind: ToolKind::Other,
            raw_input: None,
            content: Vec::new(),
            locations: Vec::new(),
        })
    });
    root.register_unlisted(Arc::new(tool)).expect("a good tool").keep();
    assert_eq!(names(&root), ["read"]);
    assert_eq!(root.layer().present_call("far", "{}").title(), "far away");
}

#[tokio::test]
async fn dropping_a_registration_unregisters_but_not_for_calls_under_way() {
    let root = empty();
    standing("read", "root").join(&root);
    let layer = root.layer();
    let registration = Arc::new(std::sync::Mutex::new(None));
    let drops = Arc::clone(&registration);
    let _policy = layer.before_execute(move |_| {
        drop(drops.lock().expect("not poisoned").take());
        crate::Decision::Allow
    });
    let shadow = try_register(&layer, standing("read", "layer")).expect("a good tool");
    *registration.lock().expect("not poisoned") = Some(shadow);
    assert_eq!(answer(&layer, "read").await, "layer");
    assert_eq!(answer(&layer, "read").await, "root");
}

#[test]
fn a_name_is_taken_once_in_a_layer_and_free_again_after_its_end() {
    let root = empty();
    let first = try_register(&root, TestTool::idle("read")).expect("a good tool");
    let twice = try_register(&root, TestTool::idle("read")).expect_err("taken");
    assert_eq!(
        twice.to_string(),
        "cannot register tool read: its layer already has a tool of that name"
    );
    drop(first);
    try_register(&root, TestTool::idle("read")).expect("free again").keep();
    assert_eq!(names(&root), ["read"]);
}

#[test]
fn reserved_and_malformed_names_are_refused() {
    let reserved = try_register(&empty(), TestTool::idle("run_code")).expect_err("reserved");
    assert!(matches!(reserved, RegisterError::ReservedName { .. }));
    let long = "x".repeat(65);
    for name in ["", "a b", "a/b", "größe", "a\n", &*Box::leak(long.into_boxed_str())] {
        let refused = try_register(&empty(), TestTool::idle(name)).expect_err("no name");
        assert!(matches!(refused, RegisterError::InvalidName { .. }), "{refused}");
    }
}

#[test]
fn schemas_are_compiled_at_registration() {
    let mut tool = TestTool::idle("read");
    tool.parameters = json!({ "type": "string" });
    let refused = try_register(&empty(), tool).expect_err("not an object");
    let expected = "cannot register tool read: unsupported schema of its parameters: its type must be \"object\"";
    assert_eq!(refused.to_string(), expected);
    for (parameters, output) in [
        (json!({ "type": "object", "properties": 1 }), json!(true)),
        (
            json!({ "type": "object", "$ref": "https://example.com/a" }),
            json!(true),
        ),
        (json!({ "type": "object" }), json!({ "type": "nothing" })),
        (json!({ "type": "object" }), json!(7)),
    ] {
        let mut tool = TestTool::idle("read");
        (tool.parameters, tool.output) = (parameters, output);
        let refused = try_register(&empty(), tool).expect_err("no schema");
        assert!(matches!(refused, RegisterError::UnsupportedSchema { .. }), "{refused}");
    }
}

#[tokio::test]
async fn a_known_tool_whose_schema_is_unsound_after_all_fails_its_calls() {
    let registry = empty();
    let mut tool = TestTool::idle("read");
    tool.output = json!({ "type": "nothing" });
    registry
        .register_known(Arc::new(tool))
        .expect("not looked at yet")
        .keep();
    let error = registry
        .execute(call("c", "read"))
        .await
        .outcome
        .expect_err("it cannot be checked");
    assert!(error.message().contains("its schema cannot be used: "), "{error}");
}

fn three() -> ToolRegistry {
    let root = empty();
    for name in ["read", "write", "bash"] {
        TestTool::idle(name).join(&root);
    }
    root
}

#[tokio::test]
async fn restrictions_hide_inherited_tools_from_specs_and_calls_and_intersect() {
    let layer = three().layer();
    TestTool::idle("own").join(&layer);
    let allow = layer.restrict(Some(&["read", "write"]), None).expect("known names");
    assert_eq!(names(&layer), ["read", "write", "own"]);
    assert_eq!(answer(&layer, "bash").await, "UNKNOWN_TOOL");
    let deny = layer.restrict(None, Some(&["write"])).expect("known names");
    assert_eq!(names(&layer), ["read", "own"]);
    drop(allow);
    assert_eq!(names(&layer), ["read", "bash", "own"]);
    drop(deny);
    assert_eq!(names(&layer), ["read", "write", "bash", "own"]);
}

#[tokio::test]
async fn a_restriction_binds_inner_layers_and_not_the_layers_own_tools() {
    let root = three();
    let outer = root.layer();
    let _restriction = outer.restrict(Some(&["read"]), None).expect("known names");
    TestTool::idle("bash").join(&outer);
    let inner = outer.layer();
    assert_eq!(names(&inner), ["read", "bash"]);
    assert_eq!(names(&root), ["read", "write", "bash"]);
    assert_eq!(answer(&inner, "write").await, "UNKNOWN_TOOL");
}

#[test]
fn the_visible_set_is_fixed_when_the_restriction_is_made() {
    let root = three();
    let layer = root.layer();
    let _restriction = layer.restrict(None, Some(&["bash"])).expect("known names");
    TestTool::idle("later").join(&root);
    assert_eq!(names(&layer), ["read", "write"]);
}

#[test]
fn a_restriction_needs_an_outer_layer_a_list_and_known_names() {
    let root = three();
    assert_eq!(
        root.restrict(Some(&["read"]), None).expect_err("root"),
        RestrictError::RootLayer
    );
    let layer = root.layer();
    assert_eq!(layer.restrict(None, None).expect_err("no list"), RestrictError::NoList);
    let unknown = layer
        .restrict(Some(&["read", "raed"]), Some(&["bsah"]))
        .expect_err("unknown");
    assert_eq!(
        unknown.to_string(),
        "cannot restrict tools: no outer layer has raed, bsah"
    );
}

fn generic(title: &str, raw_input: serde_json::Value) -> CallView {
    CallView::Generic {
        title: title.into(),
        kind: ToolKind::Other,
        raw_input: Some(raw_input),
        content: Vec::new(),
        locations: Vec::new(),
    }
}

const NO_RESULT_VIEW: ResultView = ResultView::Generic {
    title: None,
    content: None,
};

#[test]
fn a_view_falls_back_to_the_generic_one_whatever_is_wrong() {
    let view = CallView::Terminal {
        title: "ls".into(),
        description: None,
        cwd: None,
    };
    let mut tool = TestTool::idle("bash");
    tool.parameters = json!({ "type": "object", "properties": { "command": { "type": "string" } } });
    let shown = view.clone();
    tool.call_view = Box::new(move |arguments| {
        assert_ne!(arguments["command"], "panic", "on purpose");
        arguments.get("command").map(|_| shown.clone())
    });
    tool.result_view = Box::new(|arguments| {
        assert_ne!(arguments["command"], "panic", "on purpose");
        arguments.get("command").map(|_| ResultView::Terminal {
            title: None,
            output: Some("a".into()),
            exit: None,
        })
    });
    let registry = tool.alone();
    let content = [ContentBlock::text("raw")];
    let result = ResultForView {
        content: &content,
        is_error: false,
        meta: None,
    };
    assert_eq!(registry.present_call("bash", r#"{"command": "ls"}"#), view);
    assert_ne!(
        registry.present_result("bash", r#"{"command": "ls"}"#, result),
        NO_RESULT_VIEW
    );
    for (name, raw, input) in [
        ("bash", "", json!({})),
        ("bash", r#"{"command": "panic"}"#, json!({ "command": "panic" })),
        ("bash", r#"{"command": 1}"#, json!({ "command": 1 })),
        ("bash", "[1]", json!([1])),
        ("bash", "{command", json!("{command")),
        ("gone", r#"{"command": "ls"}"#, json!({ "command": "ls" })),
    ] {
        assert_eq!(registry.present_call(name, raw), generic(name, input));
        assert_eq!(registry.present_result(name, raw, result), NO_RESULT_VIEW);
    }
}

#[test]
fn a_layer_presents_with_its_own_tools() {
    let root = three();
    let layer = root.layer();
    let mut tool = TestTool::idle("read");
    tool.call_view = Box::new(|_| Some(generic("from the layer", json!(null))));
    tool.join(&layer);
    assert_eq!(layer.present_call("read", "").title(), "from the layer");
    assert_eq!(root.present_call("read", "").title(), "read");
}

#[test]
fn layers_share_the_observers_of_their_root() {
    let root = empty();
    let layer = root.layer();
    let _subscription = layer.progress().subscribe(None, |_| {});
    assert_eq!(root.progress().len(), 1);
}

#[test]
fn a_registration_that_outlives_its_layer_does_nothing() {
    let layer = empty().layer();
    let registration = try_register(&layer, TestTool::idle("read")).expect("a good tool");
    drop(layer);
    drop(registration);
}
