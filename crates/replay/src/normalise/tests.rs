//! What is hidden, and that nothing else is.

use super::*;
use crate::Exit;

const A: &str = "0190aaaa-0000-7000-8000-000000000001";
const B: &str = "0190bbbb-0000-7000-8000-000000000002";
const C: &str = "0190cccc-0000-7000-8000-000000000003";
const D: &str = "0190dddd-0000-7000-8000-000000000004";

fn row(dir: Direction, line: Value) -> Row {
    Row::Line { dir, line }
}

fn sent(line: Value) -> Row {
    row(Direction::Sent, line)
}

fn got(line: Value) -> Row {
    row(Direction::Received, line)
}

fn transcript(rows: &[Row]) -> Vec<String> {
    normalise(rows, &[], &Facts::default()).transcript
}

/// The only line of a transcript of one received line.
fn line(line: Value, facts: &Facts) -> Value {
    let normalised = normalise(&[got(line)], &[], facts).transcript;
    serde_json::from_str::<Value>(&normalised[0]).unwrap()["line"].take()
}

fn update(session: &str, text: &str) -> Value {
    json!({"method": "session/update", "params": {"sessionId": session, "text": text}})
}

#[test]
fn h14_sessions_are_numbered_so_that_routing_shows() {
    let rows = [got(update(A, "x")), got(update(B, "x")), got(update(A, "of B: {B}"))];
    let sessions: Vec<_> = transcript(&rows)
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["line"]["params"]["sessionId"].clone())
        .collect();
    assert_eq!(sessions, ["{session:1}", "{session:2}", "{session:1}"]);
}

#[test]
fn an_identity_is_found_within_text_but_not_within_a_longer_word() {
    let text = format!("{A}, x{A}, {A}-1 and {A}.");
    let found = line(update(A, &text), &Facts::default());
    let expected = "{session:1}, x{uuid:1}, {uuid:1}-1 and {session:1}.";
    assert_eq!(found["params"]["text"], expected);
}

#[test]
fn json_rpc_ids_of_the_two_sides_are_told_apart() {
    let rows = [
        sent(json!({"id": 7, "method": "a"})),
        got(json!({"id": 7, "method": "b"})),
        sent(json!({"id": 7, "result": "of b"})),
        got(json!({"id": 7, "result": "of a"})),
        sent(json!({"method": "$/cancel_request", "params": {"requestId": 7}})),
        got(json!({"id": null, "error": {}})),
    ];
    let expected = [
        r#"{"dir":">","line":{"id":1,"method":"a"}}"#,
        r#"{"dir":"<","line":{"id":2,"method":"b"}}"#,
        r#"{"dir":">","line":{"id":2,"result":"of b"}}"#,
        r#"{"dir":"<","line":{"id":1,"result":"of a"}}"#,
        r#"{"dir":">","line":{"method":"$/cancel_request","params":{"requestId":1}}}"#,
        r#"{"dir":"<","line":{"id":null,"error":{}}}"#,
    ];
    assert_eq!(transcript(&rows), expected);
}

#[test]
fn call_ids_of_a_script_stay_and_generated_ones_are_numbered() {
    let calls = json!({"params": [{"toolCallId": "call-1"}, {"toolCallId": format!("call_{C}")}, {"messageId": D}]});
    let expected =
        json!({"params": [{"toolCallId": "call-1"}, {"toolCallId": "{call:1}"}, {"messageId": "{message:1}"}]});
    assert_eq!(line(calls, &Facts::default()), expected);
}

#[test]
fn folders_become_tokens_longest_first_and_at_path_boundaries() {
    let mut facts = Facts::default();
    facts.folder(Path::new("/t/x"), "{root}");
    facts.folder(Path::new("/t/x/work"), "{cwd}");
    for (text, expected) in [
        ("/t/x/work/a.rs", "{cwd}/a.rs"),
        ("/t/x/worker", "{root}/worker"),
        ("/t/xy and /s/t/x", "/t/xy and /s/t/x"),
        ("file:///t/x/work", "file://{cwd}"),
        ("in /t/x/work.", "in {cwd}."),
        ("/t/x/work.bak", "{root}/work.bak"),
        (r#"{"path":"/t/x/work"}"#, r#"{"path":"{cwd}"}"#),
    ] {
        let found = line(json!({"params": {"text": text}}), &facts);
        assert_eq!(found["params"]["text"], expected, "{text}");
    }
}

#[cfg(unix)]
#[test]
fn a_folder_behind_a_link_has_both_spellings() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut facts = Facts::default();
    facts.folder(&link, "{cwd}");
    let text = format!("{} {}", link.display(), real.canonicalize().unwrap().display());
    assert_eq!(line(json!({"params": text}), &facts)["params"], "{cwd} {cwd}");
}

#[test]
fn times_and_the_agents_version_become_tokens_and_other_numbers_stay() {
    let initialized = json!({"id": 1, "result": {
        "protocolVersion": 1,
        "agentInfo": {"name": "weft", "version": "0.1.0"},
        "at": "2026-11-30T11:08:00.123Z", "on": "2026-11-30", "time": 5
    }});
    let expected = json!({"id": 1, "result": {
        "protocolVersion": 1,
        "agentInfo": {"name": "weft", "version": "{version}"},
        "at": "{time}", "on": "2026-11-30", "time": 5
    }});
    assert_eq!(line(initialized, &Facts::default()), expected);
}

#[test]
fn keys_are_rewritten_and_keep_their_order() {
    let found = line(json!({"z": {"sessionId": A}, A: 1, "a": 2}), &Facts::default());
    assert_eq!(
        found.to_string(),
        r#"{"z":{"sessionId":"{session:1}"},"{session:1}":1,"a":2}"#
    );
}

#[test]
fn the_harness_gets_its_responses_at_once_whenever_they_came() {
    let rows = [
        sent(json!({"id": 1, "method": "session/prompt"})),
        sent(json!({"id": 2, "method": "_weft/scripted/gate/open"})),
        got(json!({"method": "session/update"})),
        got(json!({"id": 2, "result": {}})),
        got(json!({"id": 1, "result": {}})),
        Row::Exit { exit: Exit::Code(0) },
    ];
    let expected = [
        r#"{"dir":">","line":{"id":1,"method":"session/prompt"}}"#,
        r#"{"dir":">","line":{"id":2,"method":"_weft/scripted/gate/open"}}"#,
        r#"{"dir":"<","line":{"id":2,"result":{}}}"#,
        r#"{"dir":"<","line":{"method":"session/update"}}"#,
        r#"{"dir":"<","line":{"id":1,"result":{}}}"#,
        r#"{"exit":{"code":0}}"#,
    ];
    assert_eq!(transcript(&rows), expected);
}

#[test]
fn ids_begin_anew_with_each_agent() {
    let gate = json!({"id": 5, "method": "_weft/scripted/gate/open"});
    let rows = [
        sent(json!({"id": 4, "method": "session/prompt"})),
        sent(gate.clone()),
        Row::Exit { exit: Exit::Signal(9) },
        sent(gate),
        sent(json!({"id": 4, "method": "session/load"})),
        got(json!({"id": 5, "result": {}})),
        got(json!({"id": 4, "result": {}})),
    ];
    let expected = [
        r#"{"dir":">","line":{"id":1,"method":"session/prompt"}}"#,
        r#"{"dir":">","line":{"id":2,"method":"_weft/scripted/gate/open"}}"#,
        r#"{"exit":{"signal":9}}"#,
        r#"{"dir":">","line":{"id":1,"method":"_weft/scripted/gate/open"}}"#,
        r#"{"dir":"<","line":{"id":1,"result":{}}}"#,
        r#"{"dir":">","line":{"id":2,"method":"session/load"}}"#,
        r#"{"dir":"<","line":{"id":2,"result":{}}}"#,
    ];
    assert_eq!(transcript(&rows), expected);
}

#[test]
fn an_agents_withdrawal_is_left_out_since_it_races_with_the_answer() {
    let withdrawal = |row: fn(Value) -> Row| row(json!({"method": "$/cancel_request", "params": {"requestId": 1}}));
    let rows = [sent(json!({"id": 1, "method": "x"})), withdrawal(got), withdrawal(sent)];
    let expected = [
        r#"{"dir":">","line":{"id":1,"method":"x"}}"#,
        r#"{"dir":">","line":{"method":"$/cancel_request","params":{"requestId":1}}}"#,
    ];
    assert_eq!(transcript(&rows), expected);
}

fn log(id: &str, header: Value, events: &[Value]) -> SessionLog {
    let mut header = header;
    header["id"] = json!(id);
    SessionLog {
        id: id.to_owned(),
        lines: [header].into_iter().chain(events.iter().cloned()).collect(),
    }
}

#[test]
fn logs_stand_in_order_of_their_sessions_and_share_the_transcripts_numbers() {
    let logs = [
        log(C, json!({"parent": A}), &[]),
        log(D, json!({"parent": B}), &[]),
        log(B, json!({}), &[json!({"data": {"childId": D}})]),
        log(A, json!({}), &[json!({"data": {"childId": C}})]),
    ];
    let rows = [got(update(B, "first")), got(update(A, "second"))];
    let expected = [
        r#"{"id":"{session:1}"}"#,
        r#"{"data":{"childId":"{session:3}"}}"#,
        r#"{"id":"{session:2}"}"#,
        r#"{"data":{"childId":"{session:4}"}}"#,
        r#"{"parent":"{session:1}","id":"{session:3}"}"#,
        r#"{"parent":"{session:2}","id":"{session:4}"}"#,
    ];
    assert_eq!(normalise(&rows, &logs, &Facts::default()).log, expected);
}

#[test]
fn logs_that_nothing_names_are_ordered_by_what_does_not_change() {
    let logs = [
        log(B, json!({"parent": A, "runSeq": 2}), &[]),
        log(C, json!({"parent": A, "runSeq": 1, "label": "b"}), &[]),
        log(D, json!({"parent": A, "runSeq": 1, "label": "a"}), &[]),
        log(A, json!({}), &[]),
    ];
    let normalised = normalise(&[got(update(A, ""))], &logs, &Facts::default()).log;
    let expected = [
        r#"{"id":"{session:1}"}"#,
        r#"{"parent":"{session:1}","runSeq":1,"label":"a","id":"{session:2}"}"#,
        r#"{"parent":"{session:1}","runSeq":1,"label":"b","id":"{session:3}"}"#,
        r#"{"parent":"{session:1}","runSeq":2,"id":"{session:4}"}"#,
    ];
    assert_eq!(normalised, expected);
}

#[test]
fn f6_times_of_a_log_are_zero_and_the_bulk_of_its_headers_is_hidden_unless_wanted() {
    let events = [
        json!({"seq": 0, "time": 99, "type": "turn/start", "data": {"turn": 1, "crc": 1}, "crc": 4_294_967_295_u32}),
        json!({"seq": 1, "time": 99, "type": "model/retry", "data": {"delayMs": 731}}),
        json!({"seq": 2, "time": 99, "type": "request/header", "data": {
            "system": "long", "tools": [{"name": "bash", "description": "long", "parameters": {"type": "object"}}]
        }}),
    ];
    let logs = [log(A, json!({"version": 1, "createdAt": 99, "crc": 7}), &events)];
    let hidden = [
        r#"{"version":1,"createdAt":0,"id":"{session:1}"}"#,
        r#"{"seq":0,"time":0,"type":"turn/start","data":{"turn":1,"crc":1}}"#,
        r#"{"seq":1,"time":0,"type":"model/retry","data":{"delayMs":0}}"#,
        r#"{"seq":2,"time":0,"type":"request/header","data":{"system":"{system}","tools":[{"name":"bash","description":"{description}","parameters":{}}]}}"#,
    ];
    assert_eq!(normalise(&[], &logs, &Facts::default()).log, hidden);
    let facts = Facts {
        show_header: true,
        ..Facts::default()
    };
    let shown = normalise(&[], &logs, &facts).log;
    assert!(
        shown[3].contains(
            r#""system":"long","tools":[{"name":"bash","description":"long","parameters":{"type":"object"}}]"#
        )
    );
}
