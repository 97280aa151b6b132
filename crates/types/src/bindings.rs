//! TypeScript and JSON Schema of what is written: the files under `bindings/`, and whether they are fresh and true.
//!
//! `WEFT_WRITE_BINDINGS=1 cargo test -p weft-types --features bindings` writes them anew.

mod conformance;
mod schema;
mod typescript;

use std::path::Path;

use crate::{Event, SessionHeader, WorkflowObservation};

/// What is written, with everything it is made of.
const WIRE_TYPES: [&str; 24] = [
    "AbortCause",
    "AssistantBlock",
    "CallId",
    "CompactionReason",
    "ContentBlock",
    "Event",
    "HeaderReason",
    "MemberOutcome",
    "Origin",
    "PhaseMeta",
    "RuleEffect",
    "RunId",
    "RunInfo",
    "RunStop",
    "SessionHeader",
    "SessionId",
    "StopReason",
    "ToolErrorRecord",
    "ToolSpec",
    "TurnEnd",
    "UnixMillis",
    "Usage",
    "WorkflowMeta",
    "WorkflowObservation",
];

#[track_caller]
fn check_fresh(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("bindings").join(file);
    if std::env::var_os("WEFT_WRITE_BINDINGS").is_some() {
        std::fs::write(&path, text).expect("the file is writable");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "{file} is out of date; run the tests with WEFT_WRITE_BINDINGS=1"
    );
    // Links of the documentation lead nowhere in there.
    assert!(!text.contains("[`"), "a doc comment of a wire type holds a link");
}

#[test]
fn v19_the_typescript_is_fresh() {
    check_fresh("weft.ts", &typescript::file());
}

#[test]
fn v19_the_json_schema_is_fresh() {
    let mut text = serde_json::to_string_pretty(&schema::file()).expect("JSON");
    text.push('\n');
    check_fresh("weft.schema.json", &text);
}

#[test]
fn v19_both_hold_the_wire_types_and_nothing_else() {
    let declared: Vec<_> = typescript::declarations().into_keys().collect();
    assert_eq!(declared, WIRE_TYPES);
    let schema = schema::file();
    let defined: Vec<_> = schema["$defs"].as_object().expect("an object").keys().collect();
    assert_eq!(defined, WIRE_TYPES);
}
