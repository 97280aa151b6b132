//! Drawn conversations.

use std::io::Read as _;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Home, session};

#[test]
fn a_conversation_is_drawn_with_its_workflow_where_it_began() {
    let home = Home::new();
    home.holds(&session("aa-1", "look\u{1b}[2J"));
    let ran = home.sessions(&["show", "aa"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let expected = "\
session  aa-1
         look␛[2J
         /w · 1970-01-01T00:00:01Z

    you  look␛[2J
   weft  I look.
         ✔ workflow · completed
           all good
         ✔ review · 1 member · Completed
           Read · 1 member · Failed 1
             ✘ one · Failed  child-1
";
    assert_eq!(ran.out, expected);
}

#[test]
fn json_is_the_log_line_by_line() {
    let home = Home::new();
    let lines = session("aa-1", "look");
    home.holds(&lines);
    let shown = home.sessions(&["show", "aa-1", "--json"]).out;
    let parse = |text: &str| {
        text.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect::<Vec<Value>>()
    };
    assert_eq!(parse(&shown), lines);
    assert_eq!(shown, home.sessions(&["export", "aa-1"]).out);
}

#[test]
fn following_a_session_that_nobody_has_open_ends_at_once() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    let ran = home.sessions(&["show", "--follow", "aa-1"]);
    assert_eq!((ran.code, ran.out), (0, home.sessions(&["show", "aa-1"]).out));
}

#[test]
fn an_open_turn_is_shown_as_interrupted_and_the_log_stays_as_it_is() {
    let home = Home::new();
    let lines = session("aa-1", "look");
    // Up to the start of the member.
    home.holds(&lines[..9]);
    let before = std::fs::read(home.log("aa-1")).expect("read");
    let ran = home.sessions(&["show", "aa-1"]);
    assert!(ran.out.contains("! review · 1 member · Interrupted\n"), "{}", ran.out);
    assert!(ran.out.contains("! one · Interrupted  child-1\n"), "{}", ran.out);
    assert!(ran.out.contains("✘ workflow · failed\n"), "{}", ran.out);
    assert_eq!(std::fs::read(home.log("aa-1")).expect("read"), before);
}

#[test]
fn an_id_that_is_none_or_ambiguous_is_an_error_that_helps() {
    let home = Home::new();
    for id in ["aa-1", "aa-2"] {
        home.holds(&session(id, "look"));
    }
    let ran = home.sessions(&["show", "aa"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.contains("2 sessions have an id that begins with aa:\n"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("\n  aa-1 look\n"), "{}", ran.err);
    for id in ["nothing", "../aa-1", "..", "a/b", "", "\u{1b}[2J"] {
        let ran = home.sessions(&["show", "--", id]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{id:?}");
        assert!(ran.err.starts_with("weft: failed to find"), "{id:?}: {}", ran.err);
        assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = Home::new();
    // More than a pipe holds.
    home.holds(&session("aa-1", &"t".repeat(400_000)));
    for args in [&["show", "aa-1"][..], &["show", "aa-1", "--json"], &["export", "aa-1"]] {
        let mut command = home.command(args);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("weft starts");
        let mut first = [0; 8];
        child
            .stdout
            .take()
            .expect("a pipe")
            .read_exact(&mut first)
            .expect("a start");
        let output = child.wait_with_output().expect("weft ends");
        assert_eq!(output.status.code(), Some(128 + 13), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}
