//! Logs with records that a store opens: broken, unfinished, interrupted.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use weft_session::{Note, ReadOnly, Session};
use weft_types::{EventBody, MemberOutcome, SessionId, TurnEnd};
use weft_workflow::ObservationKind;

use crate::support::{Rig, Stored, header, records};

/// A record as a line of a log holds it; the number and the time come with its place.
fn record(kind: &str, data: &Value) -> Value {
    json!({ "type": format!("tool-workflow/{kind}"), "data": data })
}

fn start(run: &str) -> Value {
    record("run-start", &json!({ "runId": run, "name": "n" }))
}

fn member(run: &str, seq: u64) -> Value {
    record(
        "agent-start",
        &json!({ "runId": run, "seq": seq, "label": "", "phase": "", "childId": "c" }),
    )
}

fn member_end(run: &str, seq: u64) -> Value {
    record(
        "agent-end",
        &json!({ "runId": run, "seq": seq, "outcome": "completed" }),
    )
}

fn end(run: &str) -> Value {
    record("run-end", &json!({ "runId": run, "stopReason": "completed" }))
}

/// With another value of one field; none at all for null.
fn with(record: &Value, field: &str, value: Value) -> Value {
    let mut record = record.clone();
    record["data"][field] = value;
    record
}

fn without(record: &Value, field: &str) -> Value {
    let mut record = record.clone();
    record["data"].as_object_mut().expect("an object").remove(field);
    record
}

/// A log with two runs: `done`, which has ended, and `open` with member 1 ended and member 2 running.
fn sound() -> Vec<Value> {
    vec![
        start("done"),
        start("open"),
        member("open", 1),
        member("open", 2),
        end("done"),
        member_end("open", 1),
    ]
}

/// Every refusal of C.5 by its number, and what its report must name.
fn refused() -> Vec<(u32, Value, &'static str)> {
    let (a, b, c, d) = (start("new"), member("open", 3), member_end("open", 2), end("open"));
    let texts = |field: &'static str| [json!(null), json!(3), json!([]), json!({})].map(|value| (field, value));
    let mut cases = Vec::new();
    for (kind, record) in [
        ("run-start", &a),
        ("agent-start", &b),
        ("agent-end", &c),
        ("run-end", &d),
    ] {
        for data in [json!(null), json!([]), json!("text"), json!(7)] {
            cases.push((1, self::record(kind, &data), kind));
        }
        cases.push((2, without(record, "runId"), "runId"));
        cases.push((2, with(record, "runId", json!("")), "id"));
        cases.push((2, with(record, "runId", json!(7)), "runId"));
    }
    let mut push = |number, record: Value| cases.push((number, record, "open"));
    for (field, value) in texts("label") {
        push(8, with(&b, field, value));
    }
    push(8, without(&b, "label"));
    for (field, value) in texts("phase") {
        push(9, with(&b, field, value));
    }
    for (field, value) in texts("childId").into_iter().chain([("childId", json!(""))]) {
        push(10, with(&b, field, value));
    }
    push(10, without(&b, "childId"));
    for seq in [
        json!(0),
        json!(-1),
        json!(1.5),
        json!("3"),
        json!(1_u64 << 53),
        json!(1e300),
        json!(null),
    ] {
        push(7, with(&b, "seq", seq.clone()));
        push(7, with(&c, "seq", seq));
    }
    push(11, member("open", 1));
    push(11, member("open", 2));
    for (field, value) in texts("outcome").into_iter().chain([("outcome", json!("error"))]) {
        push(12, with(&c, field, value));
    }
    push(13, member_end("open", 3));
    push(14, member_end("open", 1));
    for (field, value) in texts("stopReason").into_iter().chain([("stopReason", json!("failed"))]) {
        push(15, with(&d, field, value));
    }
    push(16, end("open"));
    push(4, start("open"));
    let mut push = |number, record: Value, names| cases.push((number, record, names));
    for (field, value) in texts("name").into_iter().chain([("name", json!(""))]) {
        push(3, with(&a, field, value), "new");
    }
    push(3, without(&a, "name"), "new");
    push(4, start("done"), "done");
    for record in [member("other", 1), member_end("other", 1), end("other")] {
        push(5, record, "other");
    }
    for record in [member("done", 1), member_end("done", 1), end("done")] {
        push(6, record, "done");
    }
    cases
}

/// Writes a log by hand, without checksums.
fn write(stored: &Stored, records: &[Value]) {
    let mut text = serde_json::to_string(&header("main", 0)).expect("JSON") + "\n";
    for (seq, record) in records.iter().enumerate() {
        let line = json!({ "seq": seq, "time": 0, "type": record["type"], "data": record["data"] });
        writeln!(text, "{line}").expect("a string takes everything");
    }
    let log = stored.log();
    fs::create_dir_all(log.parent().expect("a folder")).expect("a new folder");
    fs::write(log, text).expect("a log");
}

fn id() -> SessionId {
    SessionId::new("main")
}

/// Opens a session to its end; the notes as texts.
#[track_caller]
fn open(stored: &Stored) -> (Arc<Session>, Vec<Note>) {
    let mut opening = stored.store.open(&id()).expect("a session");
    while !opening.next_page().expect("readable").is_empty() {}
    let notes = opening.notes().to_vec();
    (opening.finish().expect("readable"), notes)
}

#[test]
fn g49_v17_a_log_with_a_refused_record_opens_read_only_before_it_and_names_run_and_seq() {
    let sound = sound();
    for (number, record, names) in refused() {
        for follower in [None, Some(start("later"))] {
            let stored = Stored::new();
            let case = format!("refusal {number}: {record}");
            let whole: Vec<_> = sound.iter().chain([&record]).chain(&follower).cloned().collect();
            write(&stored, &whole);
            let before = fs::read(stored.log()).expect("a log");
            let (session, notes) = open(&stored);
            let [Note::ReadOnly(ReadOnly::Damaged(damage))] = &notes[..] else {
                panic!("{case}: {notes:?}");
            };
            assert_eq!(damage.seq, sound.len() as u64, "{case}");
            assert!(damage.reason.contains(names), "{case}: {damage}");
            assert_eq!(stored.verify().damage.as_ref(), Some(damage), "{case}");
            let events = session.events().expect("readable");
            assert_eq!(events.len(), sound.len(), "{case}: what is sound can be read");
            let refused = session.append(legal()).expect_err("read-only").to_string();
            assert!(refused.contains(names), "{case}: {refused}");
            drop(session);
            assert_eq!(
                fs::read(stored.log()).expect("a log"),
                before,
                "{case}: nothing was rewritten"
            );
        }
    }
}

/// What the sound log could go on with.
fn legal() -> EventBody {
    EventBody::WorkflowAgentEnd {
        run_id: "open".into(),
        seq: 2,
        outcome: MemberOutcome::Completed,
    }
}

/// Such an event may be one that a later version knows, so that the log is not even read in part.
#[test]
fn g49_v17_a_log_with_an_unknown_type_of_record_is_refused_whatever_it_is_marked() {
    for ignorable in [json!(null), json!(false), json!(true)] {
        let stored = Stored::new();
        write(&stored, &[start("r"), record("agent-pause", &json!({ "runId": "r" }))]);
        let mut text = fs::read_to_string(stored.log()).expect("a log");
        if !ignorable.is_null() {
            text = text.replace(
                "\"type\":\"tool-workflow/agent-pause\"",
                &format!("\"ignorable\":{ignorable},\"type\":\"tool-workflow/agent-pause\""),
            );
        }
        fs::write(stored.log(), &text).expect("a log");
        let mut opening = stored.store.open(&id()).expect("a session");
        let refused = loop {
            match opening.next_page() {
                Ok(page) => assert!(!page.is_empty(), "it must not load"),
                Err(refused) => break refused.to_string(),
            }
        };
        assert!(
            refused.contains("event 1") && refused.contains("tool-workflow/agent-pause"),
            "{refused}"
        );
        drop(opening);
        assert_eq!(fs::read_to_string(stored.log()).expect("a log"), text);
    }
}

#[test]
fn g50_v15_v17_a_log_that_stops_after_any_record_loads_and_goes_on() {
    let mut whole = sound();
    whole.extend([member_end("open", 2), end("open")]);
    for length in 1..=whole.len() {
        let stored = Stored::new();
        write(&stored, &whole[..length]);
        assert_eq!(stored.verify().damage, None, "{length}");
        let (session, notes) = open(&stored);
        assert_eq!((session.len(), notes), (length as u64, Vec::new()));
        for record in &whole[length..] {
            let body: EventBody = serde_json::from_value(record.clone()).expect("a record");
            session.append(body).expect("legal");
        }
        session.append(legal()).expect_err("the fold was restored with the log");
    }
}

#[tokio::test]
async fn v18_absent_and_empty_phase_are_different_things_in_the_file_and_after_a_load() {
    let rig = Rig::new();
    let end = rig.play(0, |run| {
        for (seq, phase) in [(1, None), (2, Some(String::new()))] {
            let (label, child_id) = (String::new(), "c".into());
            run.emit(ObservationKind::AgentStart {
                seq,
                label,
                phase,
                child_id,
            });
            run.member_end(seq, "", MemberOutcome::Completed);
        }
        run.complete("null", 2);
    });
    assert_eq!(end.await, TurnEnd::Completed);
    let stored = rig.close().await;
    let lines = stored.lines().into_iter();
    let members: Vec<_> = lines
        .filter(|line| line["type"] == "tool-workflow/agent-start")
        .collect();
    assert_eq!(
        (members[0]["data"].get("phase"), &members[1]["data"]["phase"]),
        (None, &json!(""))
    );
    let (session, _) = open(&stored);
    let events = session.events().expect("readable");
    let phases: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::WorkflowAgentStart { phase, .. } => Some(phase.as_deref()),
            _ => None,
        })
        .collect();
    assert_eq!(phases, [None, Some("")]);
}

#[tokio::test]
async fn g54_a_log_cut_between_a_members_start_and_end_is_closed_without_a_record() {
    let rig = Rig::new();
    let end = rig.play(0, |run| {
        run.member_start(1, "a");
        run.member_end(1, "a", MemberOutcome::Completed);
        run.complete("null", 1);
    });
    assert_eq!(end.await, TurnEnd::Completed);
    let stored = rig.close().await;
    let whole = fs::read_to_string(stored.log()).expect("a log");
    let lines: Vec<_> = whole.split_inclusive('\n').collect();
    let cut = lines.iter().position(|line| line.contains("tool-workflow/agent-end"));
    fs::write(stored.log(), lines[..cut.expect("a record")].concat()).expect("a log");
    let (session, notes) = open(&stored);
    assert!(notes.is_empty(), "{notes:?}");
    let types: Vec<_> = stored.lines().iter().map(|line| line["type"].clone()).collect();
    assert_eq!(
        types[6..],
        [
            "tool/call",
            "tool-workflow/run-start",
            "tool-workflow/agent-start",
            "tool/result",
            "step/end",
            "turn/end"
        ]
    );
    let result = stored.lines()[9].to_string();
    assert!(result.contains("TOOL_OUTCOME_UNKNOWN"), "{result}");
    assert_eq!(
        records(&session.events().expect("readable")),
        ["run-1 start demo", "run-1 1 start \"a\" None child-1"]
    );
    drop(session);
    let (again, _) = open(&stored);
    assert_eq!(again.len(), 12, "the second opening has nothing to close");
}
