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
