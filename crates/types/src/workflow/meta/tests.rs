use serde_json::json;

use super::*;

#[track_caller]
fn violations(meta: &Value) -> Vec<String> {
    let error = WorkflowMeta::from_json(meta).expect_err("the metadata are malformed");
    error.violations().to_vec()
}

#[test]
fn every_field_is_read() {
    let meta = json!({
        "name": "review", "description": "Reviews", "whenToUse": "",
        "phases": [{ "title": "Scan", "detail": "d", "provider": "p", "model": "m" }, { "title": "Sum" }],
    });
    let read = WorkflowMeta::from_json(&meta).expect("well-formed");
    assert_eq!((read.name.as_str(), read.description.as_str()), ("review", "Reviews"));
    assert_eq!(read.when_to_use.as_deref(), Some(""));
    assert_eq!(read.phases[0].detail.as_deref(), Some("d"));
    assert_eq!(
        read.phases[1],
        PhaseMeta {
            title: "Sum".into(),
            ..PhaseMeta::default()
        }
    );
    assert_eq!(serde_json::to_value(&read).expect("JSON"), meta);
}

#[test]
fn all_violations_are_listed_with_their_paths() {
    let meta = json!({
        "name": "", "whenToUse": 3, "extra": 1,
        "phases": [{ "title": "ok", "agents": 2 }, "no", { "detail": null }],
    });
    assert_eq!(
        violations(&meta),
        [
            "meta.extra is unknown (expected only name, description, whenToUse, phases)",
            "meta.name must be a non-empty string, found an empty string",
            "meta.description must be a non-empty string, found nothing",
            "meta.whenToUse must be a string, found a number",
            "meta.phases[0].agents is unknown (expected only title, detail, provider, model)",
            "meta.phases[1] must be an object, found a string",
            "meta.phases[2].title must be a non-empty string, found nothing",
            "meta.phases[2].detail must be a string, found null",
        ]
    );
}

#[test]
fn what_is_no_object_is_one_violation() {
    assert_eq!(violations(&json!([])), ["meta must be an object, found an array"]);
    let phases = json!({ "name": "n", "description": "d", "phases": {} });
    assert_eq!(violations(&phases), ["meta.phases must be an array, found an object"]);
    let error = WorkflowMeta::from_json(&json!(null)).expect_err("no object");
    assert_eq!(
        error.to_string(),
        "workflow meta is invalid: meta must be an object, found null"
    );
}
