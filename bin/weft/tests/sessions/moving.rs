//! Export, import and delete.

use crate::support::{Home, member, session, text};

#[test]
fn what_was_exported_can_be_imported_elsewhere() {
    let (home, elsewhere) = (Home::new(), Home::new());
    let lines = session("aa-1", "look");
    home.holds(&lines);
    let file = home.path().join("session.jsonl");
    let path = file.to_str().expect("text");
    let ran = home.sessions(&["export", "aa", "--output", path, "--json"]);
    assert_eq!(ran.json(), serde_json::json!({"id": "aa-1", "output": path}));
    let imported = elsewhere.sessions(&["import", path]);
    assert_eq!(
        (imported.code, imported.out.as_str()),
        (0, "aa-1\n"),
        "{}",
        imported.err
    );
    assert_eq!(
        elsewhere.sessions(&["export", "aa-1"]).out,
        std::fs::read_to_string(&file).expect("read")
    );
    let again = elsewhere.sessions(&["import", path]);
    assert_eq!((again.code, again.out.as_str()), (1, ""));
    assert!(again.err.contains("exists already"), "{}", again.err);
    assert!(again.err.contains("weft sessions delete aa-1"), "{}", again.err);
}

#[test]
fn an_import_can_put_a_session_into_another_folder() {
    let home = Home::new();
    let ran = home.sessions_with(&["import", "-"], &text(&session("aa-1", "look")));
    let warning = "weft: session aa-1 works in /w, which is no folder here\n\
        hint: to move it, weft sessions delete aa-1, then weft sessions import --cwd DIR\n";
    assert_eq!((ran.code, ran.err.as_str()), (0, warning));
    let folder = home.path().to_str().expect("text");
    // What the store wrote itself, checksums and all, can be moved as well.
    let log = std::fs::read_to_string(home.log("aa-1")).expect("read");
    let elsewhere = Home::new();
    let ran = elsewhere.sessions_with(&["import", "--cwd", folder, "-"], &log);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let rows = elsewhere.sessions(&["list", "--json"]).json();
    assert_eq!(rows["sessions"][0]["cwd"], folder);
    assert_eq!(elsewhere.sessions(&["verify"]).code, 0);
    let exported = elsewhere.sessions(&["export", "aa-1"]).out;
    assert_eq!(exported.lines().skip(1).count(), session("aa-1", "look").len() - 1);
}

#[test]
fn an_export_that_fails_names_no_file_that_is_not_there() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    let ran = home.sessions(&["export", "aa-1", "--output", "/no/such/folder/file"]);
    assert!(!ran.err.contains("/.tmp"), "{}", ran.err);
}

#[test]
fn what_was_not_exported_is_told_so() {
    let home = Home::new();
    for (input, reason) in [
        ("", "it is empty"),
        ("{\"a\":1}\n", "this is not what weft sessions export writes"),
    ] {
        let ran = home.sessions_with(&["import", "-"], input);
        assert!(ran.err.contains(reason), "{}", ran.err);
    }
}

#[test]
fn what_is_no_log_leaves_nothing_behind() {
    let home = Home::new();
    let whole = text(&session("aa-1", "look"));
    let gap: String = whole
        .lines()
        .enumerate()
        .filter(|(n, _)| *n != 5)
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    for input in ["", "{}\n", "nonsense", gap.as_str()] {
        let ran = home.sessions_with(&["import", "-"], input);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{input:?}");
        assert!(ran.err.starts_with("weft: failed to import"), "{}", ran.err);
    }
    assert_eq!(home.sessions(&["list", "--all"]).out, "");
    assert!(!home.log("aa-1").exists());
    assert_eq!(home.sessions(&["import", "/no/such/file"]).code, 1);
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_what_was_there_stays() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    let ran = home.sessions(&["export", "aa-1", "--output", "/no/such/folder/file"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("failed to write /no/such/folder/file"), "{}", ran.err);
    let file = home.path().join("kept");
    std::fs::write(&file, "before").expect("written");
    let ran = home.sessions(&["export", "nothing", "--output", file.to_str().expect("text")]);
    assert_eq!(ran.code, 1);
    assert_eq!(std::fs::read_to_string(&file).expect("read"), "before");
}

#[test]
fn members_go_with_the_session_that_started_them() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    home.holds(&member("bb-1", "aa-1"));
    home.holds(&session("cc-1", "other"));
    let ran = home.sessions(&["delete", "aa", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json(), serde_json::json!({"deleted": ["bb-1", "aa-1"]}));
    let left = home.sessions(&["list", "--all", "--json"]).json();
    assert_eq!(left["sessions"].as_array().map(Vec::len), Some(1));
    assert!(!home.log("bb-1").exists() && home.log("cc-1").exists());
}

#[test]
fn an_ambiguous_id_deletes_nothing_and_an_unknown_one_is_told_after_the_rest() {
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    home.holds(&session("aa-2", "look"));
    let ambiguous = home.sessions(&["delete", "--yes", "aa-1", "aa"]);
    assert_eq!((ambiguous.code, ambiguous.out.as_str()), (1, ""));
    assert!(home.log("aa-1").exists());
    let unknown = home.sessions(&["delete", "--yes", "aa-1", "nothing"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (1, "aa-1\n"));
    assert!(unknown.err.contains("nothing"), "{}", unknown.err);
}

#[test]
#[cfg(target_os = "linux")]
fn a_link_or_a_pipe_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let home = Home::new();
    home.holds(&session("aa-1", "look"));
    let expected = home.sessions(&["export", "aa-1"]).out;
    let export_to = |path: &std::path::Path| {
        let ran = home.sessions(&["export", "aa-1", "--output", path.to_str().expect("text")]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    };

    let (file, link) = (home.path().join("file"), home.path().join("link"));
    std::fs::write(&file, "before").expect("written");
    std::os::unix::fs::symlink(&file, &link).expect("linked");
    export_to(&link);
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_to_string(&file).expect("read"), expected);

    let pipe = home.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe can be made");
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe)
    });
    export_to(&pipe);
    assert!(pipe.metadata().expect("there").file_type().is_fifo());
    assert_eq!(reader.join().expect("no panic").expect("read"), expected);
}
