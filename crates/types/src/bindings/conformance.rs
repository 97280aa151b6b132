//! The bindings say what is really written and read.

use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::test_support::samples;
use crate::{MemberOutcome, ObservationKind, Origin, PhaseMeta, RunInfo, RunStop, UnixMillis, WorkflowMeta};

fn validator(name: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&schema::closed(name)).expect("a schema")
}

#[track_caller]
fn check(validator: &jsonschema::Validator, written: &impl serde::Serialize) {
    let json = serde_json::to_value(written).expect("JSON");
    let errors: Vec<_> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{json}: {errors:?}");
}

#[test]
fn v19_what_is_written_satisfies_the_schema_field_by_field() {
    let events = validator("Event");
    samples::events().iter().for_each(|event| check(&events, event));
    let headers = validator("SessionHeader");
    let header = SessionHeader {
        version: SessionHeader::VERSION,
        id: "s".into(),
        created_at: UnixMillis(1),
        cwd: "/w".into(),
        origin: Origin::User,
        parent: None,
        depth: 0,
        label: None,
        run_id: None,
        run_seq: None,
    };
    check(&headers, &header);
    let member = SessionHeader {
        origin: Origin::Subagent,
        parent: Some("p".into()),
        label: Some(String::new()),
        run_id: Some("r".into()),
        run_seq: Some(1),
        ..header
    };
    check(&headers, &member);
    let observed = validator("WorkflowObservation");
    observations()
        .iter()
        .for_each(|observation| check(&observed, observation));
}

/// Whatever is taken away from an event or made null, the schema and the reader agree on the rest.
#[test]
fn v19_the_reader_refuses_what_the_schema_refuses() {
    let schema = validator("Event");
    let (mut refused, mut accepted) = (0, 0);
    for event in samples::events() {
        let event = serde_json::to_value(event).expect("JSON");
        for pointer in ["", "/data"] {
            let Some(Value::Object(fields)) = event.pointer(pointer) else {
                continue;
            };
            for key in fields.keys() {
                for replacement in [
                    None,
                    Some(Value::Null),
                    Some(Value::from(vec![1])),
                    Some("other".into()),
                ] {
                    let mut changed = event.clone();
                    let fields = changed
                        .pointer_mut(pointer)
                        .and_then(Value::as_object_mut)
                        .expect("an object");
                    match replacement {
                        None => drop(fields.remove(key)),
                        Some(value) => drop(fields.insert(key.clone(), value)),
                    }
                    let read = Event::from_json(changed.to_string().as_bytes());
                    assert_eq!(read.is_ok(), schema.is_valid(&changed), "{changed}: {read:?}");
                    *if read.is_ok() { &mut accepted } else { &mut refused } += 1;
                }
            }
        }
    }
    assert!(refused > 300 && accepted > 50, "{refused} refused, {accepted} accepted");
}

#[test]
fn observations_are_read_as_they_were_written() {
    for observation in observations() {
        let json = serde_json::to_string(&observation).expect("JSON");
        assert_eq!(
            serde_json::from_str::<WorkflowObservation>(&json).expect("readable"),
            observation,
            "{json}"
        );
    }
}

/// The fields of each type, and which of them may be absent, are the same in both files.
#[test]
fn v19_typescript_and_schema_name_the_same_fields() {
    let schema = schema::file();
    for (name, declaration) in typescript::declarations() {
        let mut expected = Vec::new();
        fields_of_schema(&schema["$defs"][&name], &mut expected);
        expected.sort_unstable();
        let mut declared = fields_of_typescript(&declaration);
        declared.sort_unstable();
        if name == "Event" {
            // Events of unknown types are no part of the union.
            for field in ["type", "data", "ignorable"] {
                let index = expected
                    .iter()
                    .position(|expected| expected == field)
                    .expect("a field of other events");
                expected.remove(index);
            }
        }
        assert_eq!(declared, expected, "{name}");
    }
}

fn fields_of_schema(schema: &Value, found: &mut Vec<String>) {
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let required = schema.get("required").and_then(Value::as_array);
        for (name, property) in properties {
            let is_required = required.is_some_and(|required| required.iter().any(|required| required == name));
            found.push(if is_required { name.clone() } else { format!("{name}?") });
            fields_of_schema(property, found);
        }
    }
    for alternative in schema.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
        fields_of_schema(alternative, found);
    }
}

/// Outside of comments, a word that ends with a colon is the name of a field.
fn fields_of_typescript(declaration: &str) -> Vec<String> {
    let lines = declaration.lines().map(str::trim);
    let code = lines.filter(|line| !line.starts_with(['/', '*']));
    let words = code.flat_map(str::split_whitespace);
    let names = words.filter_map(|word| word.strip_suffix(':'));
    names.map(|name| name.replace('"', "")).collect()
}

fn observations() -> Vec<WorkflowObservation> {
    let meta = WorkflowMeta {
        name: "n".into(),
        description: "d".into(),
        when_to_use: Some(String::new()),
        phases: vec![
            PhaseMeta {
                title: "t".into(),
                detail: Some("d".into()),
                provider: Some("p".into()),
                model: Some("m".into()),
            },
            PhaseMeta {
                title: "t".into(),
                ..PhaseMeta::default()
            },
        ],
    };
    let bare = WorkflowMeta {
        when_to_use: None,
        phases: Vec::new(),
        ..meta.clone()
    };
    let run = |meta| RunInfo {
        id: "r".into(),
        meta: Arc::new(meta),
    };
    let observe = |kind| WorkflowObservation {
        run: Arc::new(run(meta.clone())),
        kind,
    };
    let mut observations: Vec<_> = kinds().into_iter().map(observe).collect();
    observations.push(WorkflowObservation {
        run: Arc::new(run(bare)),
        kind: ObservationKind::Start,
    });
    observations
}

fn kinds() -> Vec<ObservationKind> {
    let mut kinds = vec![
        ObservationKind::Start,
        ObservationKind::Phase { title: String::new() },
        ObservationKind::Log { message: "m".into() },
    ];
    for phase in [None, Some(String::new())] {
        kinds.push(ObservationKind::AgentStart {
            seq: 1,
            label: String::new(),
            phase: phase.clone(),
            child_id: "c".into(),
        });
        kinds.push(ObservationKind::AgentEnd {
            seq: 1,
            label: String::new(),
            phase: phase.clone(),
            child_id: "c".into(),
            outcome: MemberOutcome::Completed,
        });
        kinds.push(ObservationKind::End {
            stop: RunStop::Error,
            error: phase,
            agents_started: 1,
        });
    }
    kinds
}
