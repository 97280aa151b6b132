//! Drawn conversations.

use std::io::Read as _;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Home, member, session};

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

         1970-01-01T00:00:01Z
    you  look␛[2J
   weft  I look.
         ✔ workflow · completed
           all good
           ✔ review · 1 member · completed
             Read · 1 member · failed 1
               ✘ one · failed  child-1
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
    assert!(ran.out.contains("! review · 1 member · interrupted\n"), "{}", ran.out);
    assert!(ran.out.contains("! one · interrupted  child-1\n"), "{}", ran.out);
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
fn a_beginning_names_the_users_session_rather_than_its_members() {
    let home = Home::new();
    home.holds(&session("aa-1", "the user's"));
    home.holds(&member("aa-2", "aa-1"));
    assert!(home.sessions(&["show", "aa"]).out.contains("the user's"));
    assert!(home.sessions(&["show", "aa-2"]).out.contains("a task"));
}

#[test]
fn an_id_that_is_none_says_where_it_was_looked_for() {
    let home = Home::new();
    let ran = home.sessions(&["show", "nothing"]);
    let folder = home.path().join("sessions").display().to_string();
    assert!(ran.err.contains(&folder), "{}", ran.err);
    assert!(ran.err.contains("weft sessions list --all"), "{}", ran.err);
}

#[test]
fn how_a_command_failed_stands_beside_its_state() {
    let home = Home::new();
    let mut lines = session("aa-1", "look");
    let arguments = "{\"command\":\"make\"}";
    for line in &mut lines {
        match line["type"].as_str() {
            Some("assistant/message") => {
                line["data"]["content"][1]["name"] = "bash".into();
                line["data"]["content"][1]["arguments"] = arguments.into();
            }
            Some("tool/call") => {
                line["data"]["name"] = "bash".into();
                line["data"]["arguments"] = arguments.into();
            }
            Some("tool/result") => line["data"]["meta"] = serde_json::json!({"exitCode": 3}),
            _ => {}
        }
    }
    home.holds(&lines);
    let shown = home.sessions(&["show", "aa-1"]).out;
    assert!(shown.contains("✔ make · completed · exit code 3\n"), "{shown}");
}

#[test]
fn a_long_output_is_shown_by_its_ends_or_in_full() {
    let home = Home::new();
    let output: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let mut lines = session("aa-1", "look");
    let result = lines
        .iter_mut()
        .find(|line| line["type"] == "tool/result")
        .expect("one");
    result["data"]["content"][0]["text"] = output.into();
    home.holds(&lines);
    let cut = home.sessions(&["show", "aa-1"]).out;
    for shown in ["line 1\n", "line 40\n", "… 32 more lines (--full shows them)\n"] {
        assert!(cut.contains(shown), "{cut}");
    }
    assert!(!cut.contains("line 20\n"), "{cut}");
    let full = home.sessions(&["show", "--full", "aa-1"]).out;
    assert!((1..=40).all(|n| full.contains(&format!("line {n}\n"))), "{full}");
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
