//! Sessions in memory, and their export files.

use std::sync::Arc;

use weft_session::{Invariant, LinesError, MemorySessions, Sessions, Violation, mint_session_id, read_lines};
use weft_types::{Event, SessionHeader, SessionId, UnixMillis};

use crate::generate::{append_all, events_of, header, turn_end, turn_start, user};

fn with_id(id: &str) -> SessionHeader {
    SessionHeader {
        id: id.into(),
        ..header()
    }
}

fn sessions(dir: Option<&std::path::Path>) -> MemorySessions {
    MemorySessions {
        export_dir: dir.map(Into::into),
        ..MemorySessions::new(Arc::new(|| UnixMillis(1)))
    }
}

#[test]
fn every_event_is_in_the_export_file_as_soon_as_it_is_appended() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let session = sessions(Some(dir.path())).create(with_id("one")).expect("created");
    let read = || {
        let file = std::fs::read(dir.path().join("one.jsonl")).expect("it exists");
        read_lines(&*file).expect("whole lines")
    };
    assert_eq!(read(), (with_id("one"), Vec::new()));
    for body in [turn_start(1), user(1), turn_end(1)] {
        append_all(&session, [body]);
        assert_eq!(read().1, events_of(&session));
    }
    let mut exported = Vec::new();
    session.export(&mut exported).expect("a vector takes all");
    assert_eq!(
        exported,
        std::fs::read(dir.path().join("one.jsonl")).expect("it exists")
    );
}

#[test]
fn an_export_never_overwrites_and_never_leaves_its_folder() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let inner = dir.path().join("inner");
    std::fs::create_dir(&inner).expect("created");
    let sessions = sessions(Some(&inner));
    sessions.create(with_id("one")).expect("created");
    let again = sessions.create(with_id("one")).expect_err("it exists");
    assert!(
        again.to_string().starts_with("failed to create session log "),
        "{again}"
    );
    for id in ["../out", "a/b", "", ".hidden", "a\0b", &"x".repeat(201)] {
        sessions.create(with_id(id)).expect_err("no plain file name");
    }
    assert_eq!(std::fs::read_dir(dir.path()).expect("readable").count(), 1);
    assert_eq!(std::fs::read_dir(inner).expect("readable").count(), 1);
}

#[test]
fn a_missing_export_folder_is_named() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let missing = dir.path().join("missing");
    let error = sessions(Some(&missing)).create(with_id("one")).expect_err("no folder");
    assert!(error.to_string().contains("missing/one.jsonl"), "{error}");
}

#[test]
fn the_factory_makes_invariants_for_each_session() {
    struct Never;
    impl Invariant for Never {
        fn check(&self, _next: &Event) -> Result<(), Violation> {
            Err(Violation::new("never", "nothing is allowed"))
        }
        fn commit(&mut self, _event: &Event) {}
    }
    let sessions = MemorySessions {
        invariants: Arc::new(|| vec![Box::new(Never)]),
        ..sessions(None)
    };
    for id in ["one", "two"] {
        let session = sessions.create(with_id(id)).expect("created");
        session.append(turn_start(1)).expect_err("refused");
    }
}

#[test]
fn minted_ids_differ_and_name_export_files() {
    let ids: std::collections::HashSet<SessionId> = (0..1_000).map(|_| mint_session_id()).collect();
    assert_eq!(ids.len(), 1_000);
    let dir = tempfile::tempdir().expect("a temporary folder");
    for id in ids.into_iter().take(3) {
        sessions(Some(dir.path()))
            .create(SessionHeader { id, ..header() })
            .expect("a plain file name");
    }
}

#[test]
fn reading_names_the_first_bad_line() {
    let good = serde_json::to_string(&header()).expect("a header");
    let check = |text: &str, expected: &str| {
        let error = read_lines(text.as_bytes()).expect_err("bad");
        assert!(error.to_string().starts_with(expected), "{error}");
    };
    assert!(matches!(read_lines(&b""[..]), Err(LinesError::Empty)));
    check(
        "{}\n",
        "failed to read line 1 of a session log as a session header: missing field",
    );
    check(
        &format!("{good}\n[]\n"),
        "failed to read line 2 of a session log as an event: ",
    );
    let unknown = r#"{"seq":0,"time":1,"type":"turn/begin","data":{}}"#;
    check(
        &format!("{good}\n{unknown}\n"),
        "failed to read line 2 of a session log as an event: unknown variant",
    );
    let torn = r#"{"seq":0,"time":1,"type":"turn/start","da"#;
    check(
        &format!("{good}\n{torn}"),
        "failed to read line 2 of a session log as an event: EOF",
    );
    let newer = SessionHeader { version: 2, ..header() };
    let newer = serde_json::to_string(&newer).expect("a header");
    check(&newer, "failed to read a session log: its version is 2, expected 1");
}
