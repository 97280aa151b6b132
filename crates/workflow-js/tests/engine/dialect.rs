//! Scripts as people have them for another system run unchanged: a test for each thing that they are made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use weft_workflow::StartErrorCode;

use super::harness::{Harness, error_of, value_of};
use super::saved::Shelf;

const META: &str = "export const meta = {\n  name: \"port-check\",\n  description: 'Checks, in \"two\" steps',\n  whenToUse: `when asked`,\n  phases: [\n    { title: 'Look', detail: 'find', model: 'p/small' },\n    { title: 'Judge' },\n  ],\n}\n";

async fn run(body: &str, args: Option<Value>) -> (Value, Vec<String>) {
    let harness = Harness::new();
    let mut request = harness.request(&format!("{META}{body}"));
    (request.meta, request.args) = (None, args);
    let result = harness.run_request(request).await;
    (value_of(&result), harness.seen())
}

async fn returns(body: &str, args: Option<Value>, expected: Value) {
    assert_eq!(run(body, args).await.0, expected, "{body}");
}

#[tokio::test]
async fn metadata_of_every_writing_and_a_body_without_semicolons() {
    returns(
        "const first = await agent('one')\nreturn { first }",
        None,
        json!({ "first": "one" }),
    )
    .await;
}

#[tokio::test]
async fn args_are_what_was_given() {
    let body = "return [args === undefined ? 'none' : args, Array.isArray(args), typeof args]";
    for (given, expected) in [
        (None, json!(["none", false, "undefined"])),
        (Some(json!(null)), json!([null, false, "object"])),
        (Some(json!(["a"])), json!([["a"], true, "object"])),
        (Some(json!("a")), json!(["a", false, "string"])),
    ] {
        returns(body, given, expected).await;
    }
}

#[tokio::test]
async fn a_fan_out_behind_a_barrier_whose_failures_are_null() {
    let body = "
        phase('Look')
        const all = await parallel(args.map(item => () => agent(item, { label: `look:${item}`, phase: 'Look' })))
        const kept = all.filter(Boolean)
        log(`${kept.length} of ${all.length}`)
        return kept";
    let (value, seen) = run(body, Some(json!(["a", "fails", "b"]))).await;
    assert_eq!(value, json!(["a", "b"]));
    for line in ["phase Look", "log 2 of 3", "agent 1 \"look:a\" in \"Look\""] {
        assert!(seen.iter().any(|found| found == line), "{line}: {seen:?}");
    }
}

#[tokio::test]
async fn a_pipeline_whose_stages_see_the_result_the_item_and_its_place() {
    let body = "return await pipeline(
          args,
          async (item) => ({ found: await agent(`find ${item}`) }),
          (result, item, index) => `${index}:${item}:${result.found}`,
        )";
    returns(body, Some(json!(["a", "b"])), json!(["0:a:find a", "1:b:find b"])).await;
}

#[tokio::test]
async fn structured_answers_and_votes() {
    let body = "
        const VERDICT = { type: 'object', required: ['real'], properties: { real: { type: 'boolean' } } }
        const votes = await parallel(Array.from({ length: 3 }, (_, i) => () => agent(`judge ${i}`, { schema: VERDICT })))
        return votes.filter(v => v && v.real).length >= 2";
    returns(body, None, json!(true)).await;
}

#[tokio::test]
async fn loops_that_end_when_nothing_new_is_found() {
    let body = "
        const seen = new Set(); let dry = 0
        while (dry < 2) {
          const round = await parallel([() => agent('a'), () => agent('b')])
          const fresh = round.filter(r => !seen.has(r))
          if (!fresh.length) { dry++; continue }
          dry = 0; fresh.forEach(r => seen.add(r))
        }
        return [...seen].sort()";
    returns(body, None, json!(["a", "b"])).await;
}

#[tokio::test]
async fn a_saved_workflow_within_a_run() {
    let harness = Harness::new();
    let mut request = harness.request(&format!("{META}return await workflow('inner', {{ n: 1 }})"));
    request.meta = None;
    let inner = format!("{META}return args.n + 1");
    request.saved = Some(Arc::new(Shelf(BTreeMap::from([("inner", inner)]))));
    assert_eq!(value_of(&*harness.run_request(request).await), json!(2));
}

#[tokio::test]
async fn clock_and_chance_need_not_be_avoided() {
    let body = "return [typeof Date.now(), new Date().getTime() === Date.now(), typeof Math.random()]";
    returns(body, None, json!(["number", true, "number"])).await;
}

#[tokio::test]
async fn what_is_not_supported_is_refused_by_name() {
    for (body, part) in [
        ("return await agent('x', { retries: 3 })", "\"retries\""),
        ("return await workflow({ scriptPath: 'x.js' })", "`scriptPath`"),
        ("return require('fs')", "require"),
    ] {
        let harness = Harness::new();
        let result = harness.run(body).await;
        assert!(error_of(&result).contains(part), "{body}: {:?}", result.error);
    }
    for (body, part) in [
        ("import fs from 'fs';", "modules"),
        ("const x: string = 'a';", "TypeScript"),
        ("interface Found { a: string }", "TypeScript"),
        ("export default 1;", "only `export`"),
    ] {
        let harness = Harness::new();
        let error = harness.refuse(harness.request(&format!("\n{body}")));
        assert_eq!(error.code(), StartErrorCode::ScriptParse, "{body}");
        assert!(
            error.message().contains(part) && error.message().contains("line 2"),
            "{body}: {error}"
        );
    }
}

#[tokio::test]
async fn wfs16_a_stray_backtick_is_blamed_on_nothing_else() {
    let script = "export const meta = { name: 'x', description: 'case' }\nconst p = `Explain the command `last -F` to me`;\nreturn await agent(p);";
    let harness = Harness::new();
    let error = harness.refuse(harness.request(script));
    assert!(
        error.message().contains("line 2") && error.message().contains("last -F"),
        "{error}"
    );
    assert!(!error.message().contains("TypeScript"), "{error}");
}
