//! Saved workflows that a script runs by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use weft_workflow::{SavedWorkflow, SavedWorkflowError, SavedWorkflows, StartRequest, WorkflowEngine as _};

use super::harness::{Harness, error_of, value_of};

/// Scripts by name.
pub(super) struct Shelf(pub(super) BTreeMap<&'static str, String>);

impl SavedWorkflows for Shelf {
    fn list(&self) -> Vec<SavedWorkflow> {
        Vec::new()
    }

    fn script(&self, name: &str) -> Result<String, SavedWorkflowError> {
        let found = self.0.get(name).cloned();
        found.ok_or_else(|| SavedWorkflowError::unknown(name, self.0.keys().map(|name| (*name).to_owned())))
    }
}

fn request(harness: &Harness, script: &str, saved: &[(&'static str, &str)]) -> StartRequest {
    let meta = |name: &str| format!("export const meta = {{ name: '{name}', description: 'saved' }};");
    let shelf = saved.iter().map(|(name, body)| {
        let script = if body.starts_with("export") {
            (*body).to_owned()
        } else {
            format!("{}{body}", meta(name))
        };
        (*name, script)
    });
    StartRequest {
        saved: Some(Arc::new(Shelf(shelf.collect()))),
        ..harness.request(script)
    }
}

async fn returns(script: &str, saved: &[(&'static str, &str)], expected: Value) {
    let harness = Harness::new();
    let result = harness.run_request(request(&harness, script, saved)).await;
    assert_eq!(value_of(&result), expected, "{script}");
}

/// What a call of `workflow()` throws: its code and its message.
async fn throws(call: &str, saved: &[(&'static str, &str)], code: &str, part: &str) {
    let harness = Harness::new();
    let script = format!("try {{ await {call}; return 'nothing' }} catch (e) {{ return [e.code, e.message] }}");
    let result = harness.run_request(request(&harness, &script, saved)).await;
    let value = value_of(&result);
    assert_eq!(value[0], code, "{value}");
    assert!(
        value[1].as_str().is_some_and(|message| message.contains(part)),
        "{value}"
    );
}

#[tokio::test]
async fn a_saved_workflow_has_its_own_args_and_phases_and_shares_the_runs_members() {
    let harness = Harness::new();
    let script = "phase('Outer'); await agent('one');
        const got = await workflow('check', { files: ['a', 'b'] });
        await agent('four');
        return [got, args]";
    let check = "
        await agent('two'); phase('Read'); await agent('three', { phase: 'Other' });
        return { seen: args, answer: await agent('in read') }";
    let mut request = request(&harness, script, &[("check", check)]);
    request.args = Some(json!("outer"));
    let result = harness.run_request(request).await;
    let seen = json!([{ "seen": { "files": ["a", "b"] }, "answer": "in read" }, "outer"]);
    assert_eq!(value_of(&result), seen);
    assert_eq!(result.agents_started, 5);
    let started: Vec<_> = (harness.seen().into_iter())
        .filter(|line| line.starts_with("phase") || line.contains(" in "))
        .collect();
    assert_eq!(
        started,
        [
            "phase Outer",
            "agent 1 \"one\" in \"Outer\"",
            "agent 2 \"two\" in \"check\"",
            "phase check › Read",
            "agent 3 \"three\" in \"check › Other\"",
            "agent 4 \"in read\" in \"check › Read\"",
            "agent 5 \"four\" in \"Outer\"",
        ]
    );
}

#[tokio::test]
async fn members_of_saved_workflows_count_towards_the_runs_limit() {
    let harness = Harness::new();
    let mut request = request(
        &harness,
        "await agent('1'); return await workflow('two')",
        &[("two", "await agent('2'); return await agent('3')")],
    );
    request.limits.agents = Some(2);
    let result = harness.run_request(request).await;
    assert!(error_of(&result).contains("at most 2 times"), "{:?}", result.error);
    assert_eq!(result.agents_started, 2);
}

#[tokio::test]
async fn a_saved_workflow_runs_as_often_as_it_is_asked_for_and_in_parallel() {
    let script = "return await parallel([1, 2, 3].map((n) => () => workflow(n < 3 ? 'double' : 'triple', n)))";
    let saved = [
        ("double", "await agent('wait'); return args * 2"),
        ("triple", "return args * 3"),
    ];
    returns(script, &saved, json!([2, 4, 9])).await;
}

#[tokio::test]
async fn args_and_values_are_copies_of_plain_json() {
    let script = "const given = { list: [1] };
        const got = await workflow('change', given);
        return [given, got, await workflow('nothing'), await workflow('kind')]";
    let saved = [
        ("change", "args.list.push(2); return args"),
        ("nothing", ""),
        ("kind", "return typeof args"),
    ];
    returns(
        script,
        &saved,
        json!([{ "list": [1] }, { "list": [1, 2] }, null, "undefined"]),
    )
    .await;
    throws(
        "workflow('x', () => 1)",
        &[],
        "INVALID_ARGUMENT",
        "args of workflow() must be plain JSON",
    )
    .await;
    let date = [("date", "return { at: new Date() }")];
    throws(
        "workflow('date')",
        &date,
        "RESULT_UNSERIALIZABLE",
        "\"date\" returned must be plain JSON: value.at",
    )
    .await;
}

#[tokio::test]
async fn a_second_level_is_refused_by_name() {
    let saved = [("outer", "return await workflow('inner')"), ("inner", "return 1")];
    throws(
        "workflow('outer')",
        &saved,
        "NESTING",
        "workflow(\"inner\") is not supported",
    )
    .await;
}

#[tokio::test]
async fn what_is_no_saved_workflow_is_refused_with_those_that_there_are() {
    let saved = [("a", "return 1"), ("b", "return 1")];
    throws(
        "workflow('c')",
        &saved,
        "SAVED_WORKFLOW",
        "there is no saved workflow \"c\"; there are a, b",
    )
    .await;
    throws(
        "workflow({ scriptPath: 'x.js' })",
        &saved,
        "INVALID_ARGUMENT",
        "not an object",
    )
    .await;
    throws(
        "workflow({ scriptPath: 'x.js' })",
        &saved,
        "INVALID_ARGUMENT",
        "`scriptPath`",
    )
    .await;
    throws("workflow('')", &saved, "INVALID_ARGUMENT", "not empty").await;
    throws(
        "workflow('n'.repeat(1000))",
        &saved,
        "SAVED_WORKFLOW",
        "no saved workflow",
    )
    .await;
    let harness = Harness::new();
    let result = harness.run("return await workflow('c')").await;
    assert!(
        error_of(&result).contains("no saved workflows here"),
        "{:?}",
        result.error
    );
}

#[tokio::test]
async fn a_saved_workflow_that_is_no_script_says_where_and_runs_nothing() {
    let broken = [("bad", "\nreturn 1 +;")];
    throws("workflow('bad')", &broken, "SAVED_WORKFLOW", "line 2").await;
    throws(
        "workflow('bad')",
        &[("bad", "return 1 }); agent('out'); (() => {")],
        "SAVED_WORKFLOW",
        "does not parse",
    )
    .await;
    throws(
        "workflow('bad')",
        &[("bad", "export const meta = { name: 1 };")],
        "SAVED_WORKFLOW",
        "name",
    )
    .await;
}

#[tokio::test]
async fn what_a_saved_workflow_throws_can_be_caught_and_its_place_is_noted() {
    let harness = Harness::new();
    let script = "try { await workflow('bad') } catch (e) { return [e.message, e instanceof TypeError] }";
    let result = harness
        .run_request(request(&harness, script, &[("bad", "\nthrow new TypeError('no');")]))
        .await;
    assert_eq!(value_of(&result), json!(["no", true]));
    assert_eq!(
        result.notes,
        ["the saved workflow \"bad\" threw: TypeError: no (line 2)"]
    );
}

#[tokio::test]
async fn a_body_may_declare_names_that_hide_the_hooks() {
    let saved = [(
        "own",
        "const args = 1; const agent = 2; let workflow = 3; return [args, agent, workflow]",
    )];
    returns("return await workflow('own', 7)", &saved, json!([1, 2, 3])).await;
}

#[tokio::test]
async fn a_cancel_ends_a_run_that_is_inside_of_a_saved_workflow() {
    let harness = Harness::new();
    let run = harness.engine.start(request(
        &harness,
        "return await workflow('hang')",
        &[("hang", "return await agent('gate:never')")],
    ));
    let run = run.expect("accepted");
    super::harness::attend(&*run);
    harness.wait_for("agent 1 \"gate:never\" in \"hang\"").await;
    run.cancel(None);
    let result = harness.finish(&*run).await;
    assert!(
        error_of(&result).starts_with("workflow run cancelled"),
        "{:?}",
        result.error
    );
}
