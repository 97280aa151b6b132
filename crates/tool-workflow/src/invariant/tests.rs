use std::sync::Arc;

use serde_json::{Value, json};
use weft_session::{LoadError, MemoryLog, Restore, Session};
use weft_types::{MemberOutcome, Origin, RunStop, SessionHeader, UnixMillis};

use super::*;

mod cost;

fn start(run: &str) -> EventBody {
    EventBody::WorkflowRunStart {
        run_id: run.into(),
        name: "n".into(),
    }
}

fn member(run: &str, seq: u64) -> EventBody {
    EventBody::WorkflowAgentStart {
        run_id: run.into(),
        seq,
        label: String::new(),
        phase: Some(String::new()),
        child_id: "c".into(),
    }
}

fn member_end(run: &str, seq: u64) -> EventBody {
    EventBody::WorkflowAgentEnd {
        run_id: run.into(),
        seq,
        outcome: MemberOutcome::Completed,
    }
}

fn end(run: &str) -> EventBody {
    EventBody::WorkflowRunEnd {
        run_id: run.into(),
        stop_reason: RunStop::Completed,
    }
}

fn header() -> SessionHeader {
    SessionHeader {
        version: SessionHeader::VERSION,
        id: "s".into(),
        created_at: UnixMillis(0),
        cwd: "/".into(),
        origin: Origin::User,
        parent: None,
        depth: 0,
        label: None,
        run_id: None,
        run_seq: None,
    }
}

fn invariants() -> Vec<Box<dyn Invariant>> {
    vec![Box::new(RecordInvariant::new())]
}

fn load(bodies: &[EventBody]) -> Result<Arc<Session>, LoadError> {
    let mut restore = Restore::new(header(), invariants());
    let mut events = Vec::new();
    for (body, seq) in bodies.iter().zip(0..) {
        let event = Arc::new(Event {
            seq,
            time: UnixMillis(0),
            body: body.clone(),
        });
        restore.push(&event)?;
        events.push(event);
    }
    Ok(restore.finish(Box::new(MemoryLog::holding(events)), Arc::new(|| UnixMillis(0))))
}

/// A log with two runs: `done`, which has ended, and `open` with member 1 ended and member 2 running.
fn log() -> Vec<EventBody> {
    vec![
        start("done"),
        start("open"),
        member("open", 1),
        member("open", 2),
        end("done"),
        member_end("open", 1),
    ]
}

/// What each of the refusals is tried with, and the rule that it must break.
fn candidates() -> Vec<(u32, EventBody, &'static str)> {
    let with_id = |id: &str| EventBody::WorkflowAgentStart {
        run_id: "open".into(),
        seq: 3,
        label: String::new(),
        phase: None,
        child_id: id.into(),
    };
    let unnamed = EventBody::WorkflowRunStart {
        run_id: "new".into(),
        name: String::new(),
    };
    vec![
        (2, start(""), "run-id"),
        (2, member("", 1), "run-id"),
        (2, member_end("", 1), "run-id"),
        (2, end(""), "run-id"),
        (3, unnamed, "run-name"),
        (4, start("open"), "run-start-once"),
        (4, start("done"), "run-start-once"),
        (5, member("other", 1), "run-known"),
        (5, member_end("other", 1), "run-known"),
        (5, end("other"), "run-known"),
        (6, member("done", 1), "run-open"),
        (6, member_end("done", 1), "run-open"),
        (6, end("done"), "run-open"),
        (7, member("open", 0), "member-seq"),
        (7, member("open", MAX_SEQ + 1), "member-seq"),
        (7, member_end("open", 0), "member-seq"),
        (10, with_id(""), "member-session"),
        (11, member("open", 1), "member-start-once"),
        (11, member("open", 2), "member-start-once"),
        (13, member_end("open", 3), "member-end-paired"),
        (14, member_end("open", 1), "member-end-once"),
        (16, end("open"), "run-end-closed"),
    ]
}

#[test]
fn g48_v16_each_refused_record_leaves_a_live_log_as_it_was() {
    for (number, candidate, rule) in candidates() {
        let session = load(&log()).expect("a legal log");
        let refused = session.append(candidate.clone()).expect_err("not legal").to_string();
        assert!(
            refused.contains(&format!("(rule {rule})")),
            "refusal {number}: {refused}"
        );
        assert_eq!(session.len(), log().len() as u64);
        for next in [
            member("open", 3),
            member_end("open", 3),
            member_end("open", 2),
            end("open"),
            start("new"),
        ] {
            session.append(next).expect("the refused one left nothing behind");
        }
    }
}

#[test]
fn g49_v17_a_log_with_a_refused_record_does_not_load_and_names_run_and_seq() {
    for (number, candidate, rule) in candidates() {
        let mut bodies = log();
        bodies.push(candidate);
        let refused = load(&bodies).expect_err("not legal");
        assert_eq!(
            (refused.seq, refused.violation.rule),
            (log().len() as u64, rule),
            "refusal {number}"
        );
        let text = refused.to_string();
        assert!(
            text.contains("event 6") && text.contains("workflow run"),
            "refusal {number}: {text}"
        );
    }
}

#[test]
fn g49_the_end_of_a_run_with_open_members_lists_them() {
    let mut bodies = vec![start("r")];
    bodies.extend([9, 3, 7].map(|seq| member("r", seq)));
    bodies.extend([member_end("r", 3), end("r")]);
    let refused = load(&bodies).expect_err("members run").violation;
    assert_eq!(refused.message, "workflow run r: it ends while members [7, 9] run");
    let mut bodies = vec![start("r")];
    bodies.extend((1..=1_000).map(|seq| member("r", seq)));
    bodies.push(end("r"));
    let refused = load(&bodies).expect_err("members run").violation.message;
    assert!(refused.ends_with("19, 20] and 980 more run"), "{refused}");
}

#[test]
fn g50_v15_every_beginning_of_a_record_loads() {
    let mut bodies = log();
    bodies.extend([member_end("open", 2), end("open")]);
    for length in 0..=bodies.len() {
        load(&bodies[..length]).expect("a beginning");
    }
}

#[test]
fn g43_v15_interleaved_runs_with_equal_numbers_are_kept_apart() {
    let mut bodies = vec![start("a"), start("b")];
    bodies.extend([
        member("a", 1),
        member("b", 1),
        member_end("b", 1),
        end("b"),
        member_end("a", 1),
        end("a"),
    ]);
    load(&bodies).expect("legal");
}

#[test]
fn g62_gaps_in_the_numbers_are_legal() {
    load(&[start("r"), member("r", 3), member("r", 1), member("r", MAX_SEQ)]).expect("legal");
}

/// The refusals that a typed event cannot even express.
#[test]
fn g48_v16_malformed_json_of_records_is_refused_with_its_rule() {
    let refusals = [
        (1, json!(null), "record-data"),
        (1, json!([]), "record-data"),
        (1, json!("text"), "record-data"),
        (2, json!({}), "run-id"),
        (2, json!({ "runId": "" }), "run-id"),
        (2, json!({ "runId": 7 }), "run-id"),
    ];
    for (number, data, rule) in refusals {
        for kind in ["run-start", "agent-start", "agent-end", "run-end"] {
            refused(number, kind, &data, rule);
        }
    }
    let with = |field: &str, value: Value| {
        let mut data = json!({ "runId": "r", "seq": 1, "label": "", "childId": "c", "name": "n" });
        data["outcome"] = "completed".into();
        data["stopReason"] = "error".into();
        if value == json!("(absent)") {
            data.as_object_mut().expect("an object").remove(field);
        } else {
            data[field] = value;
        }
        data
    };
    let bad_texts = || [json!("(absent)"), json!(null), json!(3), json!({})];
    for value in bad_texts().into_iter().chain([json!("")]) {
        refused(3, "run-start", &with("name", value.clone()), "run-name");
        refused(10, "agent-start", &with("childId", value.clone()), "member-session");
        refused(12, "agent-end", &with("outcome", value.clone()), "member-outcome");
        refused(15, "run-end", &with("stopReason", value), "run-stop");
    }
    for value in bad_texts() {
        refused(8, "agent-start", &with("label", value.clone()), "member-label");
        if value != json!("(absent)") {
            refused(9, "agent-start", &with("phase", value), "member-phase");
        }
    }
    for value in [
        json!(0),
        json!(-1),
        json!(1.5),
        json!("1"),
        json!(MAX_SEQ + 1),
        json!(1e300),
        json!("(absent)"),
    ] {
        refused(7, "agent-start", &with("seq", value.clone()), "member-seq");
        refused(7, "agent-end", &with("seq", value), "member-seq");
    }
    refused(12, "agent-end", &with("outcome", json!("error")), "member-outcome");
    refused(15, "run-end", &with("stopReason", json!("failed")), "run-stop");
    refused(17, "agent-pause", &with("name", json!("n")), "record-type");
}

/// Refused by the check of raw JSON, and by typed reading or the invariant as well.
#[track_caller]
fn refused(number: u32, kind: &str, data: &Value, rule: &str) {
    let event = json!({ "seq": 0, "time": 0, "type": format!("tool-workflow/{kind}"), "data": data });
    let violation = check_record_json(&event).expect_err("malformed");
    assert_eq!(violation.rule, rule, "refusal {number}: {kind} {data}");
    let typed: Result<Event, _> = serde_json::from_value(event);
    let Ok(typed) = typed else { return };
    let mut invariant = RecordInvariant::new();
    if !matches!(typed.body, EventBody::WorkflowRunStart { .. }) {
        let started = Event {
            body: start("r"),
            ..typed.clone()
        };
        invariant.commit(&started);
    }
    invariant.check(&typed).expect_err("typed, but not legal");
}

#[test]
fn well_formed_json_passes_with_unknown_further_fields() {
    let mut bodies = log();
    bodies.push(EventBody::TurnStart { turn: 1 });
    for (body, seq) in bodies.into_iter().zip(0..) {
        let event = Event {
            seq,
            time: UnixMillis(0),
            body,
        };
        let mut event = serde_json::to_value(event).expect("JSON");
        event["data"]["future"] = json!([1]);
        check_record_json(&event).expect("well-formed");
        serde_json::from_value::<Event>(event).expect("readable");
    }
    check_record_json(&json!(3)).expect("no event at all is not its business");
}
