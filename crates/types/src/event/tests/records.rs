//! The JSON of workflow records.

use super::*;
use crate::test_support::{agent_end, agent_start, log, reloaded, run_end, run_start};

fn data(body: EventBody) -> serde_json::Value {
    let [event] = <[Event; 1]>::try_from(log([body])).expect("one event");
    let mut json = serde_json::to_value(event).expect("JSON");
    let keys: Vec<_> = json
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, ["seq", "time", "type", "data"]);
    json["data"].take()
}

#[test]
fn g38_records_have_exactly_their_fields() {
    assert_eq!(data(run_start("r")), json!({ "runId": "r", "name": "name of r" }));
    let start = json!({ "runId": "r", "seq": 2, "label": "label 2", "phase": "p", "childId": "child-r-2" });
    assert_eq!(data(agent_start("r", 2, Some("p"))), start);
    let end = json!({ "runId": "r", "seq": 2, "outcome": "failed" });
    assert_eq!(data(agent_end("r", 2, MemberOutcome::Failed)), end);
    assert_eq!(
        data(run_end("r", RunStop::Error)),
        json!({ "runId": "r", "stopReason": "error" })
    );
}

#[test]
fn g38_v18_absent_and_empty_phase_survive_writing_and_reading() {
    let absent = data(agent_start("r", 1, None));
    assert_eq!(
        absent,
        json!({ "runId": "r", "seq": 1, "label": "label 1", "childId": "child-r-1" })
    );
    let empty = data(agent_start("r", 1, Some("")));
    assert_eq!(empty["phase"], "");
    let events = log([None, Some(""), Some(" ")].map(|phase| agent_start("r", 1, phase)));
    assert_eq!(reloaded(&events), events);
}

#[test]
fn v18_null_is_neither_an_absent_nor_an_empty_phase() {
    let text = refused(
        r#"{"seq":0,"time":0,"type":"tool-workflow/agent-start","data":{"runId":"r","seq":1,"label":"","phase":null,"childId":"c"}}"#,
    );
    assert!(
        text.contains("tool-workflow/agent-start: invalid type: null, expected a string"),
        "{text}"
    );
}
