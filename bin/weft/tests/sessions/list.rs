//! Lists, their pages and filters.

use crate::support::{Home, header, member, session};

#[test]
fn an_empty_home_has_no_sessions_and_stays_empty() {
    let home = Home::new();
    let ran = home.sessions(&["list"]);
    let folder = home.path().join("sessions");
    let told = format!("no sessions in {}\n", folder.display());
    assert_eq!((ran.code, ran.out.as_str(), ran.err), (0, "", told));
    let ran = home.sessions(&["list", "--cwd", "/elsewhere"]);
    let told = format!("no sessions in {} that work in /elsewhere\n", folder.display());
    assert_eq!((ran.code, ran.out.as_str(), ran.err), (0, "", told));
    assert_eq!(
        home.sessions(&["list", "--json"]).json()["sessions"],
        serde_json::json!([])
    );
    assert_eq!(std::fs::read_dir(home.path()).expect("read").count(), 0);
}

#[test]
fn the_list_leaves_out_members_and_blank_sessions_unless_asked() {
    let home = Home::new();
    home.holds(&session("aa-1", "first"));
    home.holds(&member("bb-1", "aa-1"));
    home.holds(&[header("cc-1"), blank()]);
    let ran = home.sessions(&["list"]);
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.out);
    assert!(
        lines[0].starts_with("ID ") && lines[0].ends_with(" FOLDER"),
        "{}",
        ran.out
    );
    assert!(
        lines[1].starts_with("aa-1 ") && !lines[1].contains(" yes ") && lines[1].ends_with(" /w"),
        "{}",
        ran.out
    );
    let all = home.sessions(&["list", "--all", "--json"]).json();
    let mut ids: Vec<_> = all["sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["id"].clone())
        .collect();
    ids.sort_by_key(ToString::to_string);
    assert_eq!(ids, ["aa-1", "bb-1", "cc-1"]);
}

/// An event that is no turn.
fn blank() -> serde_json::Value {
    serde_json::json!({"seq": 0, "time": 1_000, "type": "session/title", "data": {"title": "nothing yet"}})
}

#[test]
fn a_page_ends_with_the_cursor_of_the_next() {
    let home = Home::new();
    for id in ["aa-1", "aa-2", "aa-3"] {
        home.holds(&session(id, "prompt"));
    }
    let first = home.sessions(&["list", "--limit", "2", "--json"]).json();
    let cursor = first["nextCursor"].as_str().expect("a cursor");
    let second = home
        .sessions(&["list", "--limit", "2", "--json", "--cursor", cursor])
        .json();
    assert_eq!(first["sessions"].as_array().map(Vec::len), Some(2));
    assert_eq!(second["sessions"].as_array().map(Vec::len), Some(1));
    assert!(second["nextCursor"].is_null(), "{second}");
    let told = home.sessions(&["list", "--limit", "2"]);
    let hint = format!("there are more: weft sessions list --limit 2 --cursor {cursor}\n");
    assert_eq!(told.err, hint);
    assert_eq!(home.sessions(&["list", "--cursor", "nonsense"]).code, 1);
}

#[test]
fn a_folder_selects_its_own_sessions() {
    let home = Home::new();
    home.holds(&session("aa-1", "prompt"));
    assert!(home.sessions(&["list", "--cwd", "/w"]).out.contains("aa-1"));
    assert_eq!(home.sessions(&["list", "--cwd", "/elsewhere"]).out, "");
}

#[test]
fn the_hint_at_the_next_page_asks_for_the_same_list() {
    let home = Home::new();
    for id in ["aa-1", "aa-2"] {
        home.holds(&session(id, "prompt"));
    }
    let told = home.sessions(&["list", "--all", "--cwd", "/w", "--limit", "1"]).err;
    let start = "there are more: weft sessions list --cwd /w --all --limit 1 --cursor ";
    assert!(told.starts_with(start), "{told}");
    let words: Vec<_> = told.trim_end().split(' ').skip(5).collect();
    assert!(home.sessions(&words).out.contains(" /w"), "{words:?}");
}

#[test]
fn wrong_usage_is_two() {
    let home = Home::new();
    for args in [
        &["list", "--limit", "0"][..],
        &["show"],
        &["nonsense"],
        &["delete"],
        &[],
    ] {
        assert_eq!(home.sessions(args).code, 2, "{args:?}");
    }
}
