//! Sessions in memory, and sessions as lines.

use std::sync::Arc;

use weft_session::{Invariant, LinesError, MemorySessions, Sessions, Violation, mint_session_id, read_lines};
use weft_types::{Event, SessionHeader, SessionId, UnixMillis};

use crate::generate::{header, turn_start};

fn with_id(id: &str) -> SessionHeader {
    SessionHeader {
        id: id.into(),
        ..header()
    }
}

fn sessions() -> MemorySessions {
    MemorySessions::new(Arc::new(|| UnixMillis(1)))
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
        ..sessions()
    };
    for id in ["one", "two"] {
        let session = sessions.create(with_id(id)).expect("created");
        session.append(turn_start(1)).expect_err("refused");
    }
}

#[test]
fn minted_ids_differ() {
    let ids: std::collections::HashSet<SessionId> = (0..1_000).map(|_| mint_session_id()).collect();
    assert_eq!(ids.len(), 1_000);
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
        "failed to read line 2 of a session log as an event: this version does not know the event type \"turn/begin\"",
    );
    let torn = r#"{"seq":0,"time":1,"type":"turn/start","da"#;
    check(
        &format!("{good}\n{torn}"),
        "failed to read line 2 of a session log as an event: EOF",
    );
    let newer = SessionHeader {
        version: SessionHeader::VERSION + 1,
        ..header()
    };
    let newer = serde_json::to_string(&newer).expect("a header");
    check(&newer, "failed to read a session log: its version is 4, expected 3");
}
