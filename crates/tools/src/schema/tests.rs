//! What schemas may say, and what violations read like.

use serde_json::{Value, json};

use super::{MAX_DEPTH, Schema, is_deeper_than};

fn try_compile(schema: &Value) -> Result<Schema, String> {
    let schema = Schema::known(schema.clone());
    schema.compiled().map(|()| schema)
}

fn compile(schema: &Value) -> Schema {
    try_compile(schema).expect("a good schema")
}

#[test]
fn all_violations_are_listed_with_their_paths() {
    let schema = compile(&json!({
        "type": "object",
        "properties": { "mode": {}, "path": { "type": "string" }, "lines": { "type": "array", "items": { "type": "integer" } } },
        "required": ["path", "mode"],
        "additionalProperties": false,
    }));
    let error = schema
        .check(&json!({ "path": 1, "lines": [1, "two"], "other": 0 }))
        .expect_err("four violations");
    let violations: Vec<&str> = error.split("; ").collect();
    assert_eq!(violations.len(), 4, "{error}");
    for expected in ["/path: ", "/lines/1: ", "\"mode\" is a required property", "'other'"] {
        assert!(
            violations.iter().any(|violation| violation.contains(expected)),
            "{expected} not in {error}"
        );
    }
    assert_eq!(schema.check(&json!({ "path": "a", "mode": 1 })), Ok(()));
}

#[test]
fn every_kind_of_keyword_of_the_draft_is_enforced() {
    let cases = [
        (json!({ "prefixItems": [{ "type": "string" }] }), json!([7]), "/0: "),
        (
            json!({ "prefixItems": [{}], "items": false }),
            json!([1, 2]),
            "False schema",
        ),
        (
            json!({ "contains": { "const": 1 }, "minContains": 2 }),
            json!([1, 2]),
            "[1,2]",
        ),
        (
            json!({ "dependentRequired": { "a": ["b"] } }),
            json!({ "a": 1 }),
            "\"b\" is a required property",
        ),
        (
            json!({ "dependentSchemas": { "a": { "required": ["b"] } } }),
            json!({ "a": 1 }),
            "\"b\" is a required",
        ),
        (
            json!({ "allOf": [{ "properties": { "a": {} } }], "unevaluatedProperties": false }),
            json!({ "a": 1, "b": 2 }),
            "'b'",
        ),
        (
            json!({ "prefixItems": [{}], "unevaluatedItems": false }),
            json!([1, 2]),
            "Unevaluated items",
        ),
        (
            json!({ "if": { "const": 1 }, "then": { "type": "string" } }),
            json!(1),
            "is not of type \"string\"",
        ),
        (
            json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 5 }] }),
            json!(3),
            "more than one",
        ),
        (
            json!({ "$defs": { "n": { "$anchor": "n", "multipleOf": 3 } }, "$ref": "#n" }),
            json!(4),
            "multiple of 3",
        ),
        (
            json!({ "$dynamicRef": "#node", "$defs": { "n": { "$dynamicAnchor": "node", "type": "null" } } }),
            json!(4),
            "is not of type \"null\"",
        ),
        (
            json!({ "propertyNames": { "pattern": "^a" } }),
            json!({ "b": 1 }),
            "does not match",
        ),
    ];
    for (schema, value, part) in cases {
        let error = compile(&schema).check(&value).expect_err("it does not fit");
        assert!(error.contains(part), "{schema} of {value}: {error}");
    }
}

#[test]
fn a_list_of_violations_and_each_of_them_is_bounded() {
    let schema = compile(&json!({ "type": "array", "items": { "type": "integer" } }));
    let many = schema.check(&json!(vec!["no"; 5000])).expect_err("violations");
    assert!(many.ends_with("; and 4980 more"), "{many}");
    let long = schema.check(&json!(["x".repeat(1 << 20)])).expect_err("a violation");
    assert!(long.len() < 400, "{} bytes", long.len());
}

#[test]
fn a_schema_never_reaches_outside_itself() {
    for reference in ["https://example.com/schema.json", "file:///etc/passwd"] {
        let refused = try_compile(&json!({ "$ref": reference })).expect_err("a reference to elsewhere");
        assert!(refused.contains(reference), "{refused}");
    }
    let own = compile(&json!({ "$defs": { "n": { "type": "integer" } }, "$ref": "#/$defs/n" }));
    assert!(own.is_valid(&json!(1)) && !own.is_valid(&json!("1")));
}

#[test]
fn what_is_no_schema_is_refused() {
    for broken in [
        json!({ "type": "text" }),
        json!({ "required": "path" }),
        json!({ "pattern": "(" }),
        json!(1),
    ] {
        try_compile(&broken).expect_err("no schema");
    }
    let mut deep = json!({ "type": "object" });
    for _ in 0..MAX_DEPTH {
        deep = json!({ "not": deep });
    }
    assert_eq!(
        try_compile(&deep).expect_err("too deep"),
        "it is nested deeper than 120 levels"
    );
}

#[test]
fn a_schema_that_refers_to_itself_terminates() {
    let schema = compile(&json!({ "type": "object", "properties": { "child": { "$ref": "#" } } }));
    let mut value = json!({ "child": 1 });
    for _ in 0..100 {
        value = json!({ "child": value });
    }
    assert!(schema.check(&value).is_err_and(|error| error.contains("/child/child")));
}

#[test]
fn a_pattern_that_backtracks_without_end_is_cut_short() {
    let schema = compile(&json!({ "pattern": r"^(a+)+\1b$" }));
    assert!(!schema.is_valid(&json!("a".repeat(40))));
}

#[test]
fn depth_counts_arrays_and_objects() {
    assert!(!is_deeper_than(&json!(1), 0));
    assert!(is_deeper_than(&json!([]), 0));
    assert!(!is_deeper_than(&json!([{ "a": 1 }, 2]), 2));
    assert!(is_deeper_than(&json!([{ "a": 1 }, 2]), 1));
}
