//! Logs of other versions: older ones are read as if they were today's, later ones are left alone.

use std::fs;

use weft_session::{FileStore, Note, StoreError};
use weft_types::SessionHeader;

use crate::disk::{Disk, all_rows, header_line, header_of, id};

/// A log as version 1 wrote it, with what tools gave in the middle of its first turn, and an open second turn.
const VERSION_1: &str = include_str!("../fixtures/version-1.jsonl");

/// What it is today.
fn today() -> String {
    let mut lines: Vec<String> = VERSION_1.lines().map(|line| format!("{line}\n")).collect();
    lines[0] = lines[0].replace("\"version\":1", "\"version\":3");
    for further in [9, 10] {
        assert!(lines[further].contains("user/message"));
        lines[further] = lines[further].replace("user/message", "tool/context");
    }
    lines.concat()
}

fn export(store: &FileStore) -> String {
    let mut text = Vec::new();
    store.export(&id("old"), &mut text).expect("sound");
    String::from_utf8(text).expect("text")
}

#[test]
fn version_1_is_read_as_todays_and_stays_as_it_is() {
    let disk = Disk::new();
    disk.write("old", VERSION_1);
    let before = disk.files();
    let store = disk.store();
    assert_eq!(export(&store), today());
    let found = store.verify(&id("old")).expect("a log");
    assert_eq!(
        (found.events, found.turns, found.open_turn, found.damage),
        (23, 2, Some(2), None)
    );
    assert_eq!(found.header.version, SessionHeader::VERSION);
    let row = &all_rows(&store, 1)[0];
    assert_eq!(
        row.updated_at.0,
        1_764_500_000_000 + 16 * 137,
        "the last prompt, not what a tool gave"
    );
    assert_eq!(disk.files(), before);
}

#[test]
fn version_1_is_imported_as_todays() {
    let disk = Disk::new();
    disk.store().import(VERSION_1.as_bytes()).expect("a legal log");
    assert_eq!(export(&disk.store()), today());
    let text = fs::read_to_string(disk.log("old")).expect("text");
    assert!(text.starts_with("{\"version\":3,"), "{text}");
}

#[test]
fn a_later_version_is_refused_and_left_alone() {
    let disk = Disk::new();
    let later = SessionHeader {
        version: SessionHeader::VERSION + 1,
        ..header_of("s", 5)
    };
    disk.write("s", header_line(&later) + "{\"what\":\"ever\"}\nand torn");
    let state = || {
        let modified = fs::metadata(disk.log("s"))
            .and_then(|metadata| metadata.modified())
            .expect("a time");
        (fs::read(disk.log("s")).expect("readable"), modified, disk.files())
    };
    let before = state();
    let (store, session) = (disk.store(), id("s"));
    let expected = "failed to read session s: its log has version 4, this program knows versions up to 3; update it";
    let check = |error: StoreError| {
        assert_eq!(error.to_string(), expected);
        assert_eq!(state(), before);
    };
    check(store.open(&session).map(drop).expect_err("a later version"));
    check(store.read(&session).map(drop).expect_err("a later version"));
    check(store.verify(&session).map(drop).expect_err("a later version"));
    check(store.export(&session, Vec::new()).expect_err("a later version"));
    check(store.follow(&session, 0).map(drop).expect_err("a later version"));
    let rows = all_rows(&store, 9);
    assert_eq!(
        (rows.len(), rows[0].blank),
        (1, false),
        "it is listed, so that it can be asked for and refused"
    );
    assert_eq!(state(), before);
}

#[test]
fn opening_version_1_to_go_on_rewrites_it_and_keeps_it() {
    let disk = Disk::new();
    disk.write("old", VERSION_1);
    let store = disk.store();
    let mut opening = store.open(&id("old")).expect("nobody has it");
    while !opening.next_page().expect("sound").is_empty() {}
    assert!(
        matches!(opening.notes(), [Note::Migrated { from: 1, .. }]),
        "{:?}",
        opening.notes()
    );
    drop(opening.finish().expect("sound"));
    let kept = fs::read_to_string(disk.folder("old").join("log.v1")).expect("kept");
    assert_eq!(kept, VERSION_1);
    let text = export(&store);
    assert!(text.starts_with(&today()), "{text}");
    let closing: Vec<_> = text[today().len()..].lines().collect();
    assert_eq!(
        closing.len(),
        3,
        "the open call's result, the step's end and the turn's end: {closing:?}"
    );
    assert!(!closing.concat().contains("tool-workflow"), "no record is invented");
    let found = store.verify(&id("old")).expect("a log");
    assert_eq!((found.events, found.open_turn, found.damage), (26, None, None));
}
