//! What comes out of a script: values, and what it throws.

use serde_json::{Value, json};
use weft_types::RunStop;

use super::harness::{Harness, config, error_of, value_of};

async fn returns(script: &str, expected: Value) {
    let result = Harness::new().run(script).await;
    assert_eq!(value_of(&result), expected, "{script}");
    assert_eq!(result.notes, Vec::<String>::new(), "{script}");
}

async fn fails(script: &str, parts: &[&str]) {
    let result = Harness::new().run(script).await;
    let error = error_of(&result);
    assert_eq!(result.stop, RunStop::Error);
    for part in parts {
        assert!(error.contains(part), "{script}\nhas no {part:?}:\n{error}");
    }
}

#[tokio::test]
async fn plain_json_is_returned_as_it_is() {
    returns(
        "return { a: [1, 'b', null, true, 1.5, [], {}] }",
        json!({ "a": [1, "b", null, true, 1.5, [], {}] }),
    )
    .await;
    returns("return undefined", Value::Null).await;
    returns("", Value::Null).await;
    returns("return Object.create(null)", json!({})).await;
    returns("const x = { n: 1 }; return [x, x]", json!([{ "n": 1 }, { "n": 1 }])).await;
    returns(
        "return JSON.parse('{\"__proto__\": {\"x\": 1}}')",
        json!({ "__proto__": { "x": 1 } }),
    )
    .await;
    returns("return { get a() { return 1 } }", json!({ "a": 1 })).await;
    returns(
        "return Object.defineProperty({ b: 1 }, 'a', { value: () => 1, enumerable: false })",
        json!({ "b": 1 }),
    )
    .await;
    returns("return '\\0 \\u2028 \"\\\\ 🧪'", json!("\0 \u{2028} \"\\ 🧪")).await;
    returns("return { 'a b': 1, 'é': 2, '': 3 }", json!({ "a b": 1, "é": 2, "": 3 })).await;
}

#[tokio::test]
async fn numbers_come_out_as_javascript_has_them() {
    let script =
        "return [1, -1.5, 2**53 + 1, 1e21, 1e-7, 5e-324, Number.MAX_VALUE, 0.1 + 0.2].map(x => [x, String(x)])";
    let value = value_of(&*Harness::new().run(script).await);
    for pair in value.as_array().expect("an array") {
        let shown: f64 = pair[1].as_str().and_then(|text| text.parse().ok()).expect("a number");
        assert_eq!(pair[0].as_f64(), Some(shown), "{pair}");
    }
}

#[tokio::test]
async fn g83_what_cannot_be_returned_is_refused_with_its_path_and_minus_zero_is_zero() {
    returns("return [-0, { a: -0 }]", json!([0, { "a": 0 }])).await;
    for (expression, problem) in [
        ("new Date(0)", "value is a Date"),
        ("{ a: [() => 1] }", "value.a[0] is a function"),
        ("class {}", "value is a function"),
        ("Symbol('s')", "value is a symbol"),
        ("{ [Symbol('s')]: 1 }", "value has a symbol as a key"),
        ("{ 'odd key': 10n }", "value[\"odd key\"] is a BigInt"),
        ("[NaN]", "value[0] is NaN"),
        ("{ a: -Infinity }", "value.a is -Infinity"),
        ("{ a: undefined }", "value.a is undefined (an await may be missing)"),
        ("[agent('x')]", "value[0] is a promise (an await is missing)"),
        ("[1, , 3]", "value is an array with holes"),
        ("new Array(2 ** 32 - 1)", "value is an array with holes"),
        (
            "Object.assign([1], { x: 1 })",
            "value is an array with extra properties",
        ),
        ("new Map()", "value is a Map"),
        ("{ s: new Set() }", "value.s is a Set"),
        ("/x/g", "value is a regular expression"),
        ("new Error('x')", "value is an Error"),
        ("new Uint8Array(3)", "value is a typed array"),
        ("new (class A { x = 1 })", "value is an instance of a class"),
        ("new (class A extends Array {})", "value is an array"),
        ("new Proxy({}, {})", "value is a Proxy"),
        ("Object(1n)", "value is an instance of a class"),
        (
            "{ get a() { throw new Error('x') } }",
            "value.a has a getter that threw an Error",
        ),
        (
            "(() => { const c = { b: [] }; c.b.push(c); return c })()",
            "value.b[0] refers back to value: a circular structure",
        ),
    ] {
        fails(
            &format!("return {expression}"),
            &[
                "the script finished, but its value cannot be returned",
                "RESULT_UNSERIALIZABLE",
                problem,
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn all_problems_are_told_at_once_with_the_rest_of_the_value() {
    fails(
        "return { a: 1n, ok: 'kept', b: [() => 1] }",
        &[
            "value.a is a BigInt; value.b[0] is a function",
            "{\"a\":null,\"ok\":\"kept\",\"b\":[null]}",
        ],
    )
    .await;
    fails(
        "return Array.from({ length: 100 }, () => 1n)",
        &["value[5] is a BigInt; and 94 more"],
    )
    .await;
}

#[tokio::test]
async fn depth_is_limited_to_what_json_readers_take() {
    let nested = |levels: usize| format!("let a = 1; for (let i = 0; i < {levels}; i++) a = [a]; return a");
    let deepest = Harness::new().run(&nested(127)).await;
    assert!(value_of(&deepest).is_array());
    fails(&nested(128), &["is nested more than 127 levels deep"]).await;
    fails(&nested(200_000), &["is nested more than 127 levels deep"]).await;
}

#[tokio::test]
async fn half_a_surrogate_pair_is_replaced_and_noted() {
    let result = Harness::new().run("return { a: ['x', '🧪'.slice(0, 1) + '!'] }").await;
    assert_eq!(value_of(&result), json!({ "a": ["x", "\u{fffd}!"] }));
    assert_eq!(
        result.notes,
        ["value.a[1] held half of a surrogate pair, which became U+FFFD"]
    );
    let harness = Harness::new();
    harness
        .run("log('🧪'.slice(1)); phase('🧪'.slice(0, 1)); await agent('🧪'.slice(0, 1))")
        .await;
    assert_eq!(
        harness.seen()[1..4],
        ["log \u{fffd}", "phase \u{fffd}", "agent 1 \"\u{fffd}\" in \"\u{fffd}\""]
    );
}

#[tokio::test]
async fn a_value_beyond_its_limit_is_cut_and_stays_json() {
    let mut config = config();
    config.max_result_bytes = 1_000;
    let harness = Harness::with(config);
    let result = harness
        .run("return { list: Array.from({ length: 1000 }, (_, i) => ({ i, text: 'x'.repeat(50) })), last: 1 }")
        .await;
    let value = value_of(&result);
    let list = value["list"].as_array().expect("the list is cut, not gone");
    assert!((10..20).contains(&list.len()) && value.get("last").is_none(), "{value}");
    assert_eq!(list[3], json!({ "i": 3, "text": "x".repeat(50) }));
    assert!(
        result.notes[0].contains("has about 6") && result.notes[0].contains("1000 (max_result_bytes)"),
        "{:?}",
        result.notes
    );
    let text = value_of(&*harness.run("return 'é'.repeat(2000)").await);
    let text = text.as_str().expect("still text");
    assert!(
        text.ends_with('…') && text.len() <= 1_000 && text.starts_with('é'),
        "{text}"
    );
}

#[tokio::test]
async fn whatever_is_thrown_is_shown() {
    for (expression, part) in [
        ("null", "the script threw null"),
        ("undefined", "the script threw undefined"),
        ("'just text'", "the script threw the text \"just text\""),
        ("''", "the script threw the text \"\""),
        ("42", "the script threw a number: 42"),
        ("10n", "the script threw a BigInt"),
        ("Symbol('s')", "the script threw a symbol"),
        (
            "{ code: 'E', detail: 'why' }",
            "the script threw an object: {\"code\":\"E\",\"detail\":\"why\"}",
        ),
        (
            "{ toString() { throw 1 }, get message() { throw 2 } }",
            "the script threw an object that cannot be shown",
        ),
        ("Object.create(null)", "the script threw an object: {}"),
        ("[1, 2]", "the script threw an array: [1,2]"),
        ("() => 1", "the script threw a function"),
        ("agent('x')", "the script threw a promise"),
        (
            "new Proxy({}, { get() { throw 1 }, ownKeys() { throw 2 } })",
            "the script threw a Proxy",
        ),
        ("new Error()", "Error without a message"),
        ("new RangeError('far')", "RangeError: far"),
        ("Object.assign(new Error('m'), { name: 'Mine' })", "Mine: m"),
        (
            "Object.defineProperty(new Error('m'), 'message', { get() { throw 1 } })",
            "Error without a message",
        ),
        ("Object.assign(new Error('m'), { stack: 7, name: 7 })", "m"),
        ("new AggregateError([1], 'many')", "AggregateError: many"),
    ] {
        fails(&format!("throw ({expression})"), &[part]).await;
    }
}

#[tokio::test]
async fn an_error_is_shown_with_its_place_and_line() {
    fails(
        "const f = x => x.y.z;\nawait null;\n  f({});",
        &[
            "TypeError",
            "at f (line 1, column 16)",
            "at <anonymous> (line 3, column ",
            "   1 | const f = x => x.y.z;\n                      ^",
        ],
    )
    .await;
    fails(
        "export const meta = { name: 'n', description: 'd' };\n\nmissing()",
        &["ReferenceError: missing is not defined", "line 3"],
    )
    .await;
}

#[tokio::test]
async fn getters_that_never_return_do_not_hold_the_error_up() {
    for expression in [
        "Object.defineProperty(new Error('m'), 'message', { get() { while (true) {} } })",
        "Object.defineProperty(new Error('m'), 'stack', { get() { while (true) {} } })",
        "{ get x() { while (true) {} } }",
    ] {
        fails(&format!("throw {expression}"), &[""]).await;
    }
    fails("return { get x() { while (true) {} } }", &["max_slice"]).await;
}
