//! Logs that are not what was written, and what may be done to them.

use serde_json::{Value, json};

use super::*;
use crate::store::line;
use crate::{Invariant, Violation};

fn lines(log: &[u8]) -> Vec<Vec<u8>> {
    log.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn line_of(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    line::write(&mut bytes, value).expect("an object");
    bytes
}

/// Opens a log, which must be damaged there, checks that nothing can be appended or is changed, and gives the damage.
#[track_caller]
fn damaged(fixture: &Fixture, log: &[u8], seq: u64) -> Damage {
    fixture.write(log);
    let opened = fixture.open();
    let damage = opened.damage.expect("damage");
    assert_eq!(opened.notes, [Note::ReadOnly(ReadOnly::Damaged(damage.clone()))]);
    assert_eq!(damage.seq, seq);
    let offset: usize = lines(log)[..damage.line as usize - 1].iter().map(Vec::len).sum();
    assert_eq!(damage.offset, offset as u64);
    let refused = opened.session.append(next_turn(&opened.events)).expect_err("read-only");
    let text = format!(
        "failed to append event {} to session s: failed to write to a session that is read-only: its log is {damage}",
        opened.events.len()
    );
    assert_eq!(refused.to_string(), text);
    let crate::AppendError::Log { cause, .. } = refused else {
        panic!("the log refuses, not {refused:?}");
    };
    let hint = "`weft sessions verify s` shows the damage and `weft sessions export s` saves what is before it";
    assert_eq!(cause.hint(), Some(hint));
    assert_eq!(
        fixture
            .store
            .read(&id())
            .expect("readable")
            .page(0, 1000)
            .expect("readable"),
        opened.events
    );
    drop(opened.session);
    assert_eq!(fixture.bytes(), log, "what is damaged is left alone");
    damage
}

#[test]
fn damage_in_the_middle_makes_a_session_read_only_and_is_said_with_number_and_place() {
    let (log, events) = sample();
    let fixture = Fixture::new();
    let mut changed = lines(&log);
    let at = changed[5].iter().position(|byte| *byte == b'a').expect("a letter");
    changed[5][at] = b'b';
    let damage = damaged(&fixture, &changed.concat(), 4);
    assert_eq!(damage.reason, "its checksum is wrong");
    assert_eq!(fixture.store.read(&id()).expect("readable").damage(), Some(damage));

    let mut swapped = lines(&log);
    swapped.swap(5, 6);
    assert_eq!(
        damaged(&fixture, &swapped.concat(), 4).reason,
        "seq is 5, expected 4 (rule seq)"
    );

    let mut breaking = lines(&log);
    breaking.insert(
        4,
        line_of(&json!({ "seq": 3, "time": 1, "type": "turn/start", "data": { "turn": 2 } })),
    );
    let reason = damaged(&fixture, &breaking.concat(), 3).reason;
    assert_eq!(reason, "turn 1 is still open (rule one-open-turn)");
    assert_eq!(events.len(), 20);
}

#[test]
fn a_last_line_that_is_as_it_was_written_and_does_not_belong_there_is_damage_and_no_torn_end() {
    let (log, events) = sample();
    let fixture = Fixture::new();
    let count = events.len() as u64;
    for (value, reason) in [
        (
            json!({ "seq": 99, "time": 1, "type": "turn/start", "data": { "turn": 3 } }),
            "seq is 99, expected 20 (rule seq)",
        ),
        (
            json!({ "seq": 20, "time": 1, "type": "turn/start", "data": { "turn": "3" } }),
            "it is no event: ",
        ),
        (json!({ "seq": 20 }), "it is no event: "),
    ] {
        let damage = damaged(&fixture, &[log.clone(), line_of(&value)].concat(), count);
        assert!(damage.reason.starts_with(reason), "{damage}");
        let unmarked = format!("{value}\n").into_bytes();
        damaged(&fixture, &[log.clone(), unmarked].concat(), count);
    }
}

#[test]
fn an_invariant_explains_a_line_that_is_no_event() {
    struct Explains;
    impl Invariant for Explains {
        fn check(&self, _next: &Event) -> Result<(), Violation> {
            Ok(())
        }
        fn commit(&mut self, _event: &Event) {}
        fn explain(&self, event: &Value) -> Option<Violation> {
            Some(Violation::new("explained", format!("run {}", event["data"]["runId"])))
        }
    }
    let fixture = Fixture::with(|options| options.invariants = Arc::new(|| vec![Box::new(Explains)]));
    let line = line_of(&json!({ "seq": 20, "time": 1, "type": "tool-workflow/run-start", "data": { "runId": 7 } }));
    let damage = damaged(&fixture, &[sample().0, line].concat(), 20);
    assert_eq!(damage.reason, "run 7 (rule explained)");
}

#[test]
fn a_torn_line_in_the_middle_of_which_nothing_is_missing_is_dropped_and_kept_beside_the_log() {
    let (log, events) = sample();
    for (torn, count) in [
        (&b"{\"seq\":4,\"ti\n"[..], 1),
        (b"\n", 1),
        (b"\0\0\n{\"seq\":9,\"crc\":1}\n", 2),
    ] {
        let fixture = Fixture::new();
        let mut changed = lines(&log);
        changed.insert(5, torn.to_vec());
        let changed = changed.concat();
        fixture.write(&changed);
        let cold = fixture.store.read(&id()).expect("readable");
        assert_eq!(cold.page(0, 100).expect("readable"), events);
        assert_eq!((cold.damage(), fixture.bytes()), (None, changed.clone()));
        let opened = fixture.open();
        assert_eq!((opened.events, opened.damage), (events.clone(), None));
        let kept_as = fixture.folder().join("log.damaged-1");
        assert_eq!(
            opened.notes,
            [Note::Debris {
                lines: count,
                kept_as: kept_as.clone()
            }]
        );
        assert_eq!(
            (fixture.bytes(), fs::read(kept_as).expect("it is kept")),
            (log.clone(), changed)
        );
        assert_eq!(fixture.names(), ["lock", "log.damaged-1", "log.jsonl"]);
        for body in turn(3) {
            opened.session.append(body).expect("it goes on");
        }
        assert_eq!(
            cold.page(0, 100).expect("a reader goes on"),
            opened.session.events().expect("readable")
        );
        drop(opened.session);
        assert_eq!(fixture.open().notes, []);
    }
}

#[test]
fn torn_lines_that_hide_an_event_are_damage() {
    let (log, events) = sample();
    let fixture = Fixture::new();
    let mut changed = lines(&log);
    changed[5] = b"{\"seq\":4,\"ti\n".to_vec();
    damaged(&fixture, &changed.concat(), 4);
    // Nothing but the last line may be torn.
    let torn = [&log[..], b"{\"se\n{\"seq\"\n"].concat();
    damaged(&fixture, &torn, events.len() as u64);
    let torn = [&log[..], b"{\"se\n{\"seq\""].concat();
    damaged(&fixture, &torn, events.len() as u64);
}

#[test]
fn debris_before_a_torn_end_or_a_last_line_without_line_feed_is_dropped_with_it() {
    let (log, events) = sample();
    let mut changed = lines(&log);
    changed.insert(5, b"{\"seq\":4,\"ti\n".to_vec());
    let changed = changed.concat();
    let fixture = Fixture::new();
    fixture.write(&[&changed[..], b"{\"seq\":20"].concat());
    let opened = fixture.open();
    assert_eq!(opened.events, events);
    assert_eq!(opened.notes.len(), 2, "{:?}", opened.notes);
    assert_eq!(fixture.bytes(), log);
    drop(opened);

    let fixture = Fixture::new();
    let mut last = lines(&log);
    last.insert(events.len(), b"{\"se\n".to_vec());
    let last = last.concat();
    fixture.write(&last[..last.len() - 1]);
    let opened = fixture.open();
    assert_eq!((opened.events, opened.notes.len()), (events, 1));
    assert_eq!(fixture.bytes(), log);
}

#[test]
fn a_log_in_the_folder_of_another_session_is_refused() {
    let fixture = Fixture::new();
    fixture.write(&sample().0);
    fs::rename(fixture.folder(), fixture.store.root().join("copy")).expect("renamed");
    let error = fixture.store.open(&"copy".into()).expect_err("refused").to_string();
    assert!(
        error.contains("is damaged: it is the header of session s; mend"),
        "{error}"
    );
}

#[test]
fn a_line_without_checksum_is_fine() {
    let (log, events) = sample();
    let plain = lines(&log).into_iter().map(|line| {
        let text = String::from_utf8(line).expect("text");
        let (text, _) = text.rsplit_once(",\"crc\":").expect("a checksum");
        format!("{text}}}\n")
    });
    let fixture = Fixture::new();
    fixture.write(plain.collect::<String>().as_bytes());
    let opened = fixture.open();
    assert_eq!((opened.events, opened.notes), (events, Vec::new()));
}

#[test]
fn an_event_of_an_unknown_type_is_refused_and_an_ignorable_one_is_kept() {
    let (log, events) = sample();
    let fixture = Fixture::new();
    let unknown = json!({ "seq": 20, "time": 1, "type": "turn/moon", "data": { "phase": "full" } });
    let mut ignorable = unknown.clone();
    ignorable["ignorable"] = json!(true);
    let refused = [&log[..], &line_of(&unknown), b"{\"seq\":21"].concat();
    fixture.write(&refused);
    let mut opening = fixture.store.open(&id()).expect("its header is fine");
    assert_eq!(opening.next_page().expect("events").len(), events.len());
    for _ in 0..2 {
        let error = opening.next_page().expect_err("refused, however often");
        assert!(
            matches!(&error, StoreError::UnknownEvent { seq: 20, kind, .. } if kind == "turn/moon"),
            "{error}"
        );
    }
    opening.finish().expect_err("refused");
    fixture.store.read(&id()).expect_err("refused");
    assert_eq!(fixture.bytes(), refused, "nothing is touched");

    let kept = [log, line_of(&ignorable)].concat();
    fixture.write(&kept);
    let opened = fixture.open();
    assert_eq!((opened.events.len(), opened.notes), (21, Vec::new()));
    assert_eq!(fixture.bytes(), kept);
}

#[test]
fn a_line_longer_than_the_limit_is_an_error_that_names_it() {
    let short = |options: &mut StoreOptions| options.max_line_bytes = 64 << 10;
    let fixture = Fixture::with(short);
    let session = fixture.create([start(1)]);
    let before = fixture.bytes();
    let error = session
        .append(user(1, &"x".repeat(64 << 10)))
        .expect_err("too long")
        .to_string();
    assert!(
        error.ends_with("bytes, expected at most 65536 (max_line_bytes)"),
        "{error}"
    );
    assert_eq!(fixture.bytes(), before);
    session.append(user(1, "short")).expect("its number is free");
    drop(session);

    let long = Fixture::new();
    drop(long.create([start(1), user(1, &"x".repeat(64 << 10))]));
    fixture.write(&long.bytes());
    let error = fixture.store.read(&id()).expect_err("too long");
    assert!(
        matches!(
            error,
            StoreError::LongLine {
                line: 3,
                limit: 65536,
                ..
            }
        ),
        "{error}"
    );
}
