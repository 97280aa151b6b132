//! Checking whole logs.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use weft_session::{FileLayer, FileStore, ListQuery, RealFiles, StoreError, StoreOptions, Verification};
use weft_types::{EventBody, SessionHeader};

use crate::disk::{Disk, event_lines, events, header_line, header_of, id, log_text};
use crate::generate::{log, step_start, turn_end, turn_start, user};

fn verify(disk: &Disk) -> Verification {
    let before = disk.files();
    let found = disk.store().verify(&id("s")).expect("a log");
    assert_eq!(disk.files(), before, "nothing was changed");
    found
}

fn sound() -> String {
    log_text(
        &header_of("s", 5),
        [turn_start(1), user(1), turn_end(1), turn_start(2), user(2)],
    )
}

#[test]
fn a_sound_log_is_told_in_numbers() {
    let disk = Disk::new();
    disk.write("s", sound());
    let found = verify(&disk);
    let expected = Verification {
        header: header_of("s", 5),
        events: 5,
        turns: 2,
        bytes: sound().len() as u64,
        damage: None,
        open_turn: Some(2),
        torn_tail: 0,
        debris: 0,
        running: false,
    };
    assert_eq!(found, expected);
    assert_eq!(found.last_seq(), Some(4));
    disk.append("s", event_lines(&events(5, [turn_end(2)])));
    assert_eq!(verify(&disk).open_turn, None);
}

#[test]
fn a_log_without_events_is_sound() {
    let disk = Disk::new();
    disk.write("s", header_line(&header_of("s", 5)));
    let found = verify(&disk);
    assert_eq!(
        (found.events, found.last_seq(), found.damage, found.open_turn),
        (0, None, None, None)
    );
}

#[test]
fn a_torn_end_is_no_damage_and_neither_is_a_missing_line_feed() {
    let disk = Disk::new();
    let next = event_lines(&events(5, [turn_end(2)]));
    for cut in 1..next.len() - 1 {
        disk.write("s", sound() + &next[..cut]);
        let found = verify(&disk);
        assert_eq!(
            (found.events, found.torn_tail, found.damage),
            (5, cut as u64, None),
            "{cut} bytes"
        );
    }
    disk.write("s", sound() + next.trim_end());
    let found = verify(&disk);
    assert_eq!(
        (found.events, found.torn_tail, found.open_turn),
        (6, 0, None),
        "only the line feed is missing"
    );
}

#[test]
fn torn_lines_of_which_nothing_is_missing_are_counted() {
    let disk = Disk::new();
    let next = event_lines(&events(5, [turn_end(2)]));
    disk.write("s", sound() + &next[..20] + "\n" + &next);
    let found = verify(&disk);
    assert_eq!(
        (found.events, found.debris, found.damage, found.torn_tail),
        (6, 1, None, 0)
    );
}

#[test]
fn damage_is_told_with_its_place() {
    let after = event_lines(&events(6, [turn_start(3)]));
    let check = |line: &str, reason: &str| {
        let disk = Disk::new();
        disk.write("s", sound() + line + &after);
        let found = verify(&disk);
        let damage = found.damage.expect("damaged");
        assert_eq!(
            (damage.seq, damage.offset, damage.line),
            (5, sound().len() as u64, 7),
            "{damage}"
        );
        assert!(damage.reason.contains(reason), "{damage}");
        assert_eq!((found.events, found.turns), (5, 2));
        assert_eq!(found.bytes, (sound().len() + line.len() + after.len()) as u64);
    };
    check("", "seq is 6, expected 5");
    check("garbage\n", "JSON");
    check(&event_lines(&events(5, [turn_start(3)])), "turn 2 is still open");
    check(&event_lines(&events(5, [step_start(2, 2)])), "expected one more");
    let line = event_lines(&events(5, [turn_end(2)]));
    let wrong = line.trim_end().strip_suffix('}').expect("an object").to_owned() + ",\"crc\":7}\n";
    check(&wrong, "checksum");
    check("[]\n", "no event");
}

#[test]
fn a_running_session_is_verified_too() {
    let disk = Disk::new();
    disk.write("s", sound());
    let _lock = disk.run("s");
    let found = verify(&disk);
    assert_eq!((found.running, found.events, found.damage), (true, 5, None));
}

/// Deletes a session while it is looked whether that runs.
struct Deletes;

impl FileLayer for Deletes {
    fn open(&self, path: &Path) -> std::io::Result<File> {
        if path.ends_with("lock") {
            fs::remove_dir_all(path.parent().expect("a folder"))?;
        }
        RealFiles.open(path)
    }
}

#[test]
fn a_session_that_is_deleted_meanwhile_is_sound_still() {
    let disk = Disk::new();
    disk.write("s", sound());
    let options = StoreOptions {
        files: Arc::new(Deletes),
        ..StoreOptions::new("test")
    };
    let store = FileStore::new(disk.root(), options).expect("valid");
    let found = store.verify(&id("s")).expect("it was read whole");
    assert_eq!((found.damage, found.bytes), (None, sound().len() as u64));
    assert!(!disk.folder("s").exists());
}

#[test]
fn what_is_no_log_is_an_error() {
    let disk = Disk::new();
    let refused = |text: &str| {
        disk.write("s", text);
        let before = disk.files();
        let error = disk.store().verify(&id("s")).expect_err("no log");
        assert_eq!(disk.files(), before);
        error
    };
    assert!(matches!(refused(""), StoreError::NotFound { .. }));
    assert!(matches!(refused("{\"vers"), StoreError::NotFound { .. }));
    assert!(matches!(
        refused(&format!("garbage\n{}", sound())),
        StoreError::DamagedHeader { .. }
    ));
    assert!(matches!(
        refused(&header_line(&header_of("other", 1))),
        StoreError::DamagedHeader { .. }
    ));
    let newer = SessionHeader {
        version: SessionHeader::VERSION + 1,
        ..header_of("s", 1)
    };
    assert!(matches!(
        refused(&header_line(&newer)),
        StoreError::NewerVersion { found: 4, .. }
    ));
    let unknown = sound() + "{\"seq\":5,\"time\":1,\"type\":\"new/thing\",\"data\":{}}\n";
    assert!(matches!(refused(&unknown), StoreError::UnknownEvent { seq: 5, .. }));
    let error = disk.store().verify(&id("nobody")).expect_err("there is none");
    assert!(matches!(error, StoreError::NotFound { .. }));
}

#[test]
fn an_event_that_may_be_passed_over_is_none_of_damage() {
    let disk = Disk::new();
    disk.write(
        "s",
        sound() + "{\"seq\":5,\"time\":1,\"type\":\"new/thing\",\"data\":{\"a\":1},\"ignorable\":true}\n",
    );
    let found = verify(&disk);
    assert_eq!((found.events, found.damage), (6, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_cut_of_a_legal_log_is_sound_up_to_the_last_whole_event(
        bodies in log(), at in any::<prop::sample::Index>(),
    ) {
        let disk = Disk::new();
        let header = header_of("s", 5);
        let turns = |bodies: &[EventBody]| bodies.iter().filter(|body| matches!(body, EventBody::TurnStart { .. })).count();
        let text = log_text(&header, bodies.clone());
        let start = header_line(&header).len();
        let cut = start + at.index(text.len() - start + 1);
        disk.write("s", &text.as_bytes()[..cut]);
        let found = verify(&disk);
        let whole = text.as_bytes()[start..cut].iter().filter(|byte| **byte == b'\n').count();
        // A line that only lacks its line feed is whole.
        let is_whole = text.as_bytes().get(cut) == Some(&b'\n') && cut > start;
        let expected = whole + usize::from(is_whole);
        prop_assert_eq!(found.events, expected as u64);
        prop_assert_eq!(found.turns, turns(&bodies[..expected]) as u64);
        prop_assert_eq!(found.damage, None);
        let last = text.as_bytes()[..cut].iter().rposition(|byte| *byte == b'\n').expect("the header's") + 1;
        prop_assert_eq!(found.torn_tail, if is_whole { 0 } else { (cut - last) as u64 });
    }

    #[test]
    fn no_changed_byte_of_a_log_with_checksums_goes_unnoticed(
        bodies in log(), at in any::<prop::sample::Index>(), bit in 0..8_u32,
    ) {
        // As the store itself writes it, checksums and all.
        let disk = Disk::new();
        disk.store().import(log_text(&header_of("s", 5), bodies.clone()).as_bytes()).expect("legal");
        let mut text = fs::read(disk.log("s")).expect("readable");
        let start = text.iter().position(|byte| *byte == b'\n').expect("a header") + 1;
        let at = start + at.index(text.len() - start);
        text[at] ^= 1 << bit;
        disk.write("s", &text);
        let Ok(found) = disk.store().verify(&id("s")) else {
            return Ok(());
        };
        let noticed = found.damage.is_some() || found.torn_tail > 0 || found.debris > 0;
        // What only changes the name of the checksum's field leaves an event without one.
        let line_end = text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| at + end);
        let is_in_checksum = line_end - at <= r#","crc":4294967295}"#.len();
        prop_assert!(noticed || is_in_checksum, "byte {} of {}", at, text.len());
    }
}

#[test]
fn an_error_repeats_no_id_at_any_length() {
    let disk = Disk::new();
    let long = "é".repeat(100_000);
    let error = disk.store().verify(&id(&long)).expect_err("no such id").to_string();
    let shown = "é".repeat(200);
    assert!(
        error.starts_with(&format!("failed to find session {shown}…: ")),
        "{error}"
    );
    disk.write("s", header_line(&header_of(&long, 1)) + "\n");
    let error = disk.store().verify(&id("s")).expect_err("another's").to_string();
    assert!(error.contains(&format!("of session {shown}…")), "{error}");
    let list = ListQuery {
        cursor: Some(long.clone()),
        ..ListQuery::default()
    };
    let error = disk.store().list(&list).expect_err("no cursor").to_string();
    assert!(error.chars().count() < 300, "{error}");
    let import = disk.store().import(header_line(&header_of(&long, 1)).as_bytes());
    let error = import.expect_err("no such id").to_string();
    assert!(error.chars().count() < 500, "{error}");
}
