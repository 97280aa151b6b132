//! Sound and damaged logs.

use crate::support::{Home, session};

#[test]
fn sound_logs_are_told_one_by_one() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    home.holds(&session("bb-1", "look"));
    let ran = home.sessions(&["verify"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let mut lines: Vec<_> = ran.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("aa-1  sound: 1 turn, 13 events, "), "{}", ran.out);
    assert_eq!(ran.err, "2 checked, 0 damaged\n");
    assert_eq!(home.sessions(&["verify", "bb"]).out.lines().count(), 1);
}

#[test]
fn damage_in_the_middle_is_named_and_nothing_else_is_touched() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    home.holds(&session("bb-1", "look"));
    let log = std::fs::read_to_string(home.log("aa-1")).expect("read");
    let at = log.find("I look.").expect("the answer");
    let line = log[..at].rfind('\n').expect("a line before") + 1;
    std::fs::write(home.log("aa-1"), log.replacen("I look.", "I lock.", 1)).expect("written");
    let ran = home.sessions(&["verify", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let found: Vec<serde_json::Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let damaged: Vec<_> = found.iter().filter(|found| found["sound"] == false).collect();
    assert_eq!(damaged.len(), 1, "{}", ran.out);
    assert_eq!(
        (&damaged[0]["id"], &damaged[0]["damage"]["seq"]),
        (&"aa-1".into(), &4.into())
    );
    assert_eq!(damaged[0]["damage"]["offset"], line);
    let told = home.sessions(&["verify", "aa-1"]);
    assert!(
        told.out
            .starts_with(&format!("aa-1  damaged at event 4, line 6, byte {line}: ")),
        "{}",
        told.out
    );
    // What is sound is shown and can be saved, and both say that it is not all.
    for args in [&["show", "aa-1"][..], &["export", "aa-1"]] {
        let ran = home.sessions(args);
        assert_eq!(ran.code, 1, "{args:?}");
        assert!(
            ran.out.contains("look") && !ran.out.contains("I lock"),
            "{args:?}: {}",
            ran.out
        );
        assert!(ran.err.contains("damaged at event 4"), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("weft sessions "), "{args:?}: {}", ran.err);
    }
    assert!(
        std::fs::read_to_string(home.log("aa-1"))
            .expect("read")
            .contains("I lock.")
    );
}

#[test]
fn a_log_whose_header_is_damaged_is_not_passed_over() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    let log = std::fs::read_to_string(home.log("aa-1")).expect("read");
    std::fs::write(home.log("aa-1"), log.replacen("\"version\"", "\"varsion\"", 1)).expect("written");
    let ran = home.sessions(&["verify"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("aa-1  "), "{}", ran.out);
    assert_eq!(home.sessions(&["verify", "aa-1"]).code, 1);
}

#[test]
fn a_damaged_log_is_shown_as_damaged_and_not_as_interrupted() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    damage(&home, "aa-1");
    let ran = home.sessions(&["show", "aa-1"]);
    assert_eq!(ran.code, 1);
    assert!(!ran.out.contains("interrupted"), "{}", ran.out);
    let last = ran.out.lines().last().expect("lines");
    assert!(
        last.contains("the log is damaged from here on (event 4, line 6, byte "),
        "{}",
        ran.out
    );
    assert!(last.ends_with("); weft sessions export aa-1 > sound.jsonl saves what is above"));
}

#[test]
fn the_list_marks_damaged_sessions() {
    let home = Home::new();
    for id in ["aa-1", "bb-1", "cc-1"] {
        home.holds(&session(id, "look"));
    }
    damage(&home, "aa-1");
    spoil_header(&home, "bb-1");
    let marked: Vec<_> = home.sessions(&["list"]).out.lines().map(is_marked).collect();
    assert_eq!(marked.iter().filter(|marked| **marked).count(), 2);
    let rows = home.sessions(&["list", "--json"]).json();
    for row in rows["sessions"].as_array().expect("a list") {
        assert_eq!(row["damaged"], row["id"] != "cc-1", "{row}");
    }
}

fn is_marked(line: &str) -> bool {
    line.contains("(damaged)")
}

#[test]
fn an_export_of_a_damaged_log_says_what_was_written() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    damage(&home, "aa-1");
    let to_stdout = home.sessions(&["export", "aa-1"]);
    assert!(
        to_stdout.err.contains("what stands before that was written"),
        "{}",
        to_stdout.err
    );
    let file = home.path().join("out.jsonl");
    let to_file = home.sessions(&["export", "aa-1", "--output", file.to_str().expect("text")]);
    assert_eq!(to_file.code, 1);
    assert!(to_file.err.contains("nothing was written to "), "{}", to_file.err);
    assert!(to_file.err.contains("weft sessions export aa-1 > "), "{}", to_file.err);
    assert!(!file.exists());
}

#[test]
fn a_damaged_header_comes_with_advice() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    spoil_header(&home, "aa-1");
    let ran = home.sessions(&["show", "aa-1"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("mend its first line"), "{}", ran.err);
}

/// Changes a letter of the answer.
fn damage(home: &Home, id: &str) {
    let log = std::fs::read_to_string(home.log(id)).expect("read");
    std::fs::write(home.log(id), log.replacen("I look.", "I lock.", 1)).expect("written");
}

fn spoil_header(home: &Home, id: &str) {
    let log = std::fs::read_to_string(home.log(id)).expect("read");
    std::fs::write(home.log(id), log.replacen("\"version\"", "\"varsion\"", 1)).expect("written");
}
