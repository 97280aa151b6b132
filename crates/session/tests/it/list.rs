//! The list of sessions: what a row tells, in which order, page by page.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use weft_session::{FileStore, ListQuery, StoreError, StoreOptions};
use weft_types::{Event, EventBody, Origin, SessionHeader, UnixMillis};

use crate::disk::{Disk, all_rows, event_lines, events, header_line, header_of, ids, log_text};
use crate::generate::{turn_end, turn_start, user};

fn title(title: &str) -> EventBody {
    let title = title.to_owned();
    EventBody::SessionTitle { title }
}

fn every() -> ListQuery {
    ListQuery {
        include_blank: true,
        ..ListQuery::default()
    }
}

#[test]
fn a_store_that_does_not_exist_is_empty_and_stays_away() {
    let disk = Disk::new();
    let list = disk.store().list(&ListQuery::default()).expect("nothing to fail");
    assert_eq!((list.rows, list.next), (Vec::new(), None));
    assert!(!disk.root().exists());
}

#[test]
fn damage_is_told_where_it_is_asked_for_and_what_a_crash_left_is_none() {
    let disk = Disk::new();
    let sound = |id: &str| log_text(&header_of(id, 7), [turn_start(1), user(1), turn_end(1)]);
    for id in ["sound", "torn", "gap", "head"] {
        disk.write(id, sound(id));
    }
    disk.append("torn", "{\"seq\":3,\"ti");
    disk.append("gap", event_lines(&events(7, [turn_start(2)])));
    disk.write("head", sound("head").replacen("version", "varsion", 1));
    let damaged = |find_damage| {
        let query = ListQuery { find_damage, ..every() };
        let mut rows = disk.store().list(&query).expect("listed").rows;
        rows.retain(|row| row.damaged);
        rows.sort_by(|one, other| one.id.cmp(&other.id));
        rows.iter().map(|row| row.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(damaged(true), ["gap", "head"]);
    assert!(damaged(false).is_empty());
    let _running = disk.run("gap");
    assert_eq!(damaged(true), ["head"]);
}

#[test]
fn a_row_tells_what_the_log_tells() {
    let disk = Disk::new();
    let header = SessionHeader {
        origin: Origin::Subagent,
        parent: Some("p".into()),
        depth: 1,
        label: Some("finder".to_owned()),
        cwd: "/elsewhere".to_owned(),
        ..header_of("s", 7)
    };
    disk.write(
        "s",
        log_text(&header, [title("one"), turn_start(1), title("two \u{2028}\n")]),
    );
    let rows = all_rows(&disk.store(), 10);
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!(row.id.as_str(), "s");
    assert_eq!(row.title.as_deref(), Some("two \u{2028}\n"));
    assert_eq!(row.cwd, "/elsewhere");
    assert_eq!(row.parent, header.parent);
    assert_eq!(row.origin, Origin::Subagent);
    assert_eq!(row.label, header.label);
    assert_eq!((row.created_at, row.updated_at), (UnixMillis(7), UnixMillis(7)));
    assert_eq!((row.running, row.blank), (false, false));
}

#[test]
fn only_a_prompt_of_a_person_makes_a_session_recent() {
    let disk = Disk::new();
    let updated = || all_rows(&disk.store(), 10)[0].updated_at;
    let at = |seq, time, body| Event {
        seq,
        time: UnixMillis(time),
        body,
    };
    disk.write("s", log_text(&header_of("s", 500), [turn_start(1)]));
    assert_eq!(updated(), UnixMillis(500), "a turn alone does not");
    disk.append(
        "s",
        event_lines(&[at(1, 900, user(1)), at(2, 950, title("t")), at(3, 990, turn_end(1))]),
    );
    assert_eq!(updated(), UnixMillis(900));
    disk.append("s", event_lines(&[at(4, 10, turn_start(2)), at(5, 20, user(2))]));
    assert_eq!(updated(), UnixMillis(900), "the clock jumped back");
    let member = SessionHeader {
        origin: Origin::Subagent,
        ..header_of("s", 500)
    };
    disk.write("s", log_text(&member, [turn_start(1), user(1)]));
    assert_eq!(updated(), UnixMillis(500), "an agent is no person");
}

#[test]
fn a_further_message_of_a_turn_of_version_1_is_no_prompt() {
    let disk = Disk::new();
    let header = SessionHeader {
        version: 1,
        ..header_of("s", 5)
    };
    disk.write("s", log_text(&header, [turn_start(1), user(1), user(1), turn_end(1)]));
    assert_eq!(all_rows(&disk.store(), 10)[0].updated_at, UnixMillis(1001));
    disk.append("s", event_lines(&events(4, [turn_start(2), user(2), user(2)])));
    assert_eq!(all_rows(&disk.store(), 10)[0].updated_at, UnixMillis(1005));
}

#[test]
fn blank_sessions_and_those_of_others_are_listed_on_demand() {
    let disk = Disk::new();
    disk.write("blank", log_text(&header_of("blank", 4), [title("t")]));
    let turn = || [turn_start(1)];
    let of = |id, created, cwd: &str, origin| SessionHeader {
        cwd: cwd.to_owned(),
        origin,
        ..header_of(id, created)
    };
    disk.write("a", log_text(&of("a", 3, "/one", Origin::User), turn()));
    disk.write("b", log_text(&of("b", 2, "/two", Origin::Subagent), turn()));
    disk.write("c", log_text(&of("c", 1, "/two/in", Origin::User), turn()));
    let store = disk.store();
    let check = |query: ListQuery, expected: &[&str]| {
        assert_eq!(ids(&store.list(&query).expect("listed").rows), expected, "{query:?}");
    };
    check(ListQuery::default(), &["a", "b", "c"]);
    check(every(), &["blank", "a", "b", "c"]);
    let cwd = |path: &str| Some(PathBuf::from(path));
    check(
        ListQuery {
            cwd: cwd("/two"),
            ..every()
        },
        &["b"],
    );
    check(
        ListQuery {
            cwd: cwd("/two/"),
            ..every()
        },
        &["b"],
    );
    check(
        ListQuery {
            cwd: cwd("/"),
            ..every()
        },
        &[],
    );
    let origin = Some(Origin::User);
    check(
        ListQuery {
            origin,
            ..ListQuery::default()
        },
        &["a", "c"],
    );
    check(
        ListQuery {
            origin,
            cwd: cwd("/two"),
            ..every()
        },
        &[],
    );
}

#[test]
fn running_means_that_the_lock_is_held() {
    let disk = Disk::new();
    for id in ["a", "b"] {
        disk.write(id, log_text(&header_of(id, 1), [turn_start(1)]));
    }
    let running = || {
        let rows = all_rows(&disk.store(), 10);
        rows.iter().map(|row| row.running).collect::<Vec<_>>()
    };
    assert_eq!(running(), [false, false]);
    let lock = disk.run("a");
    assert_eq!(running(), [false, true], "b is first");
    drop(lock);
    assert_eq!(running(), [false, false]);
}

#[test]
fn a_cursor_that_no_list_gave_is_refused() {
    let disk = Disk::new();
    for cursor in [
        "",
        ".",
        "5",
        "5.",
        ".s",
        "-5.s",
        "+5.s",
        "05.s",
        "5.a/b",
        "5..s",
        "x.s",
        "99999999999999999999.s",
        " 5.s",
    ] {
        let cursor = Some(cursor.to_owned());
        let error = disk
            .store()
            .list(&ListQuery { cursor, ..every() })
            .expect_err("no cursor");
        assert!(matches!(error, StoreError::Cursor { .. }), "{error}");
    }
    let cursor = Some("x".repeat(1 << 20));
    let error = disk
        .store()
        .list(&ListQuery { cursor, ..every() })
        .expect_err("no cursor");
    assert!(error.to_string().len() < 300, "the error does not repeat all of it");
}

#[test]
fn the_session_that_a_cursor_names_may_be_gone() {
    let disk = Disk::new();
    for id in ["a", "b", "c"] {
        disk.write(id, log_text(&header_of(id, 1), []));
    }
    let first = disk.store().list(&ListQuery { limit: 2, ..every() }).expect("listed");
    assert_eq!(ids(&first.rows), ["c", "b"]);
    disk.store().delete(&"b".into()).expect("deleted");
    let cursor = first.next;
    assert!(cursor.is_some());
    let rest = disk.store().list(&ListQuery { cursor, ..every() }).expect("listed");
    assert_eq!((ids(&rest.rows).as_slice(), rest.next), (["a"].as_slice(), None));
}

#[test]
fn no_limit_means_the_default_and_a_huge_one_the_most_that_is_given() {
    let disk = Disk::new();
    for n in 0..1001 {
        let id = format!("s{n:04}");
        disk.write(&id, header_line(&header_of(&id, 1)));
    }
    let rows = |limit| {
        disk.store()
            .list(&ListQuery { limit, ..every() })
            .expect("listed")
            .rows
            .len()
    };
    assert_eq!(rows(0), 100);
    assert_eq!(rows(usize::MAX), 1000);
    assert_eq!(all_rows(&disk.store(), 1000).len(), 1001);
}

#[test]
fn what_is_unsound_is_listed_with_what_is_sound_of_it() {
    let disk = Disk::new();
    let sound = log_text(&header_of("x", 9), [title("before"), turn_start(1), user(1)]);
    let after = event_lines(&events(9, [title("after")]));
    disk.write("hole", sound.clone() + &after);
    disk.write("garbage", sound.clone() + "\u{0}\u{0}garbage\n" + &after);
    disk.write(
        "torn",
        sound.clone() + r#"{"seq":3,"time":1,"type":"session/title","data":{"title":"to"#,
    );
    let next = event_lines(&events(3, [title("later")]));
    disk.write("debris", sound.clone() + "{\"seq\":3,\"ti\n" + &next);
    let changed = next.trim_end().strip_suffix('}').expect("an object").to_owned() + ",\"crc\":1}\n";
    disk.write("checksum", sound.clone() + &changed);
    disk.write(
        "headless",
        String::from("garbage\n") + &event_lines(&events(0, [title("t")])),
    );
    disk.write("newer", sound.replacen("\"version\":3", "\"version\":4", 1));
    // These never came to be.
    disk.write("empty", "");
    disk.write("unborn", header_line(&header_of("unborn", 1)).trim_end());
    disk.write("half", "{\"version\":3,\"id\n");
    fs::create_dir(disk.folder("bare")).expect("made");
    fs::create_dir(disk.folder(".hidden")).expect("made");
    fs::write(disk.root().join("file"), "").expect("written");
    fs::create_dir_all(disk.log("folder")).expect("made");

    let mut rows = all_rows(&disk.store(), 100);
    rows.sort_by(|one, other| one.id.cmp(&other.id));
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.id.as_str(), row.title.as_deref(), row.blank))
        .collect();
    assert_eq!(
        told,
        [
            ("checksum", Some("before"), false),
            ("debris", Some("later"), false),
            ("folder", None, false),
            ("garbage", Some("before"), false),
            ("headless", None, false),
            ("hole", Some("before"), false),
            ("newer", None, false),
            ("torn", Some("before"), false),
        ]
    );
    let unreadable: Vec<_> = rows
        .iter()
        .filter(|row| row.cwd.is_empty())
        .map(|row| row.id.as_str())
        .collect();
    assert_eq!(unreadable, ["folder", "headless"]);
}

#[test]
fn a_half_written_line_counts_once_it_is_whole() {
    let disk = Disk::new();
    let line = event_lines(&events(0, [title("whole")]));
    disk.write("s", header_line(&header_of("s", 1)));
    let told = || all_rows(&disk.store(), 1)[0].title.clone();
    for at in 0..line.len() - 1 {
        disk.append("s", &line[at..=at]);
        assert_eq!(told(), None, "byte {at}");
    }
    disk.append("s", "\n");
    assert_eq!(told().as_deref(), Some("whole"));
}

#[test]
fn a_line_beyond_the_limit_is_not_read_whole() {
    let disk = Disk::new();
    let options = StoreOptions {
        max_line_bytes: 64 << 10,
        ..StoreOptions::new("test")
    };
    let store = FileStore::new(disk.root(), options).expect("valid");
    let long = event_lines(&events(1, [title(&"x".repeat(64 << 10))]));
    let log = log_text(&header_of("s", 1), [title("before")]);
    disk.write("s", log + &long + &event_lines(&events(2, [title("after")])));
    disk.write("headless", long);
    let titles: Vec<_> = all_rows(&store, 9).into_iter().map(|row| row.title).collect();
    assert_eq!(titles, [None, Some("before".to_owned())]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn pages_of_any_size_give_every_session_once_in_order(
        created in prop::collection::vec(0..4_u64, 0..24), limit in 1..9_usize,
    ) {
        let disk = Disk::new();
        let mut expected: Vec<(u64, String)> = (0..).zip(created).map(|(n, created)| (created, format!("s{n}"))).collect();
        for (created, id) in &expected {
            disk.write(id, header_line(&header_of(id, *created)));
        }
        expected.sort();
        expected.reverse();
        let rows = all_rows(&disk.store(), limit);
        prop_assert_eq!(ids(&rows), expected.iter().map(|(_, id)| id.as_str()).collect::<Vec<_>>());
    }
}
