//! Logs of other versions.

use serde_json::{Value, json};

use super::*;

fn log(version: u32) -> (Vec<u8>, Vec<Arc<Event>>) {
    let mut header = serde_json::to_value(header("s")).expect("JSON");
    header["version"] = json!(version);
    let message = |turn: u32, text: &str| json!({ "turn": turn, "content": [{ "type": "text", "text": text }] });
    let mut bodies = Vec::new();
    let mut expected = Vec::new();
    for turn in 1..=50 {
        bodies.push(("turn/start", json!({ "turn": turn })));
        bodies.push(("user/message", message(turn, "question")));
        bodies.push(("user/message", message(turn, "picture")));
        bodies.push(("turn/end", json!({ "turn": turn, "reason": { "kind": "completed" } })));
        let content = vec![ContentBlock::text("picture")];
        expected.extend([
            start(turn),
            user(turn, "question"),
            EventBody::ToolContext { turn, content },
            end(turn),
        ]);
    }
    let event =
        |(seq, (kind, data)): (usize, (&str, Value))| json!({ "seq": seq, "time": 3, "type": kind, "data": data });
    let lines = std::iter::once(header).chain(bodies.into_iter().enumerate().map(event));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let time = UnixMillis(3);
    let expected = (0..)
        .zip(expected)
        .map(|(seq, body)| Arc::new(Event { seq, time, body }));
    (text.into_bytes(), expected.collect())
}

#[test]
fn an_older_log_is_read_as_it_would_be_written_today_and_not_changed_by_that() {
    let fixture = Fixture::new();
    let (log, expected) = log(1);
    fixture.write(&log);
    let cold = fixture.store.read(&id()).expect("readable");
    assert_eq!(cold.header().version, SessionHeader::VERSION);
    for from in 0..expected.len() {
        let page = cold.page(from as u64, 3).expect("readable");
        let until = expected.len().min(from + 3);
        assert_eq!(page, expected[from..until], "from {from}");
    }
    assert_eq!((fixture.bytes(), fixture.names()), (log, vec!["log.jsonl".to_owned()]));
}

#[test]
fn an_older_log_is_rewritten_when_it_is_opened_and_kept() {
    let fixture = Fixture::new();
    let (log, expected) = log(1);
    fixture.write(&log);
    let cold = fixture.store.read(&id()).expect("readable");
    let opened = fixture.open();
    assert_eq!(opened.events, expected);
    let kept_as = fixture.folder().join("log.v1");
    assert_eq!(
        opened.notes,
        [Note::Migrated {
            from: 1,
            kept_as: kept_as.clone()
        }]
    );
    assert_eq!(fs::read(kept_as).expect("it is kept"), log);
    assert_eq!(opened.session.page(130, 3).expect("readable"), expected[130..133]);
    opened.session.append(start(51)).expect("it goes on");
    assert_eq!(cold.page(199, 9).expect("a reader goes on").len(), 2);
    drop(opened.session);
    let again = fixture.open();
    assert_eq!(
        (again.events.len(), again.notes),
        (202, Vec::new()),
        "its open turn is closed"
    );
}

#[test]
fn an_older_log_with_a_line_that_a_checksum_makes_too_long_stays_as_it_is() {
    let limit = 64 << 10;
    let fixture = Fixture::with(|options| options.max_line_bytes = limit);
    let lines = |len| {
        let header = json!({ "version": 1, "id": "s", "createdAt": 7, "cwd": "/work", "origin": "user", "depth": 0 });
        let title = json!({ "seq": 0, "time": 3, "type": "session/title", "data": { "title": "x".repeat(len) } });
        (format!("{header}\n"), format!("{title}\n"))
    };
    let beside = lines(0).1.len() - 1;
    let (header, event) = lines(limit - beside);
    let log = (header + &event).into_bytes();
    fixture.write(&log);
    let opened = fixture.open();
    let new = fixture.folder().join("log.rewrite");
    let reason = format!(
        "failed to write {}: with its checksum event 0 is longer than max_line_bytes, {limit}",
        new.display()
    );
    assert_eq!(opened.notes, [Note::ReadOnly(ReadOnly::NoWriting(reason))]);
    assert_eq!(opened.events.len(), 1);
    assert_eq!(fixture.bytes(), log);
    assert_eq!(fixture.names(), ["lock", "log.jsonl"]);
}

#[test]
fn a_log_of_a_later_version_is_refused_by_its_number_and_untouched() {
    let fixture = Fixture::new();
    let later = b"{\"version\":4,\"what\":\"ever\",\"crc\":1234}\nunknown\n";
    let text = str::from_utf8(later).expect("text");
    let without = text.replace(",\"crc\":1234", "");
    fixture.write(without.as_bytes());
    for error in [
        fixture.store.open(&id()).expect_err("refused"),
        fixture.store.read(&id()).expect_err("refused"),
    ] {
        assert!(matches!(error, StoreError::NewerVersion { found: 4, .. }), "{error}");
        let text = "failed to read session s: its log has version 4, this program knows versions up to 3; update it";
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(
        (fixture.bytes(), fixture.names()),
        (without.into_bytes(), vec!["log.jsonl".to_owned()])
    );
}
