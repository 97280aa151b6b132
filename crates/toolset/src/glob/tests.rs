//! The tool as its callers see it: real folders, listed through a registry.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::Duration;

use super::*;
use crate::files::stage::Stage;

fn stage(files: &[&str]) -> Stage {
    let stage = Stage::new();
    for file in files {
        stage.put(file, "");
    }
    stage
}

async fn check(stage: &Stage, pattern: &str, expected: &str) {
    let said = stage.said("glob", &json!({ "pattern": pattern })).await;
    assert_eq!(said, expected, "{pattern}");
}

#[tokio::test]
async fn patterns_are_about_the_name_or_about_the_path() {
    let stage = stage(&["a.rs", "src/b.rs", "src/deep/c.rs", "src/deep/d.ts", "br[1].txt"]);
    check(&stage, "*.rs", "a.rs\nsrc/b.rs\nsrc/deep/c.rs\n").await;
    check(&stage, "./src/*.rs", "src/b.rs\n").await;
    check(&stage, "src/**/*.rs", "src/b.rs\nsrc/deep/c.rs\n").await;
    check(&stage, "**/*.{ts,txt}", "br[1].txt\nsrc/deep/d.ts\n").await;
    check(&stage, "?.rs", "a.rs\nsrc/b.rs\nsrc/deep/c.rs\n").await;
    check(&stage, "br[[]1].txt", "br[1].txt\n").await;
    check(&stage, "*.py", "[no file matches]").await;
    let said = stage
        .said("glob", &json!({ "pattern": "*.rs", "path": "src/deep" }))
        .await;
    assert_eq!(said, "src/deep/c.rs\n");
}

#[tokio::test]
async fn ignored_files_git_and_hidden_ones_are_left_out() {
    let stage = stage(&["a", "target/b", "sub/c", "sub/d.log", ".hidden/f", ".env"]);
    stage.put(".gitignore", "target/\n");
    stage.put("sub/.gitignore", "*.log\n");
    check(&stage, "*", "a\nsub/c\n").await;
    check(&stage, ".*", ".env\n.gitignore\nsub/.gitignore\n").await;
    check(&stage, ".hidden/*", ".hidden/f\n").await;
    stage.put(".git/e", "");
    check(&stage, ".git/*", "[no file matches]").await;
}

#[tokio::test]
async fn links_are_not_followed_and_what_is_no_file_is_not_listed() {
    let stage = stage(&["a", "sub/b"]);
    std::fs::create_dir(stage.beside("out")).expect("a folder can be made");
    std::fs::write(stage.beside("out/secret"), "").expect("a file can be written");
    symlink("../out", stage.folder().join("link")).expect("a link can be made");
    symlink(".", stage.folder().join("circle")).expect("a link can be made");
    let pipe = stage.folder().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe can be made");
    check(&stage, "**", "a\nsub/b\n").await;
    let error = stage.refused("glob", &json!({ "pattern": "*", "path": "link" })).await;
    assert!(error.contains("outside the session's folder"), "{error}");
}

#[tokio::test]
async fn results_are_bounded_to_the_first_in_order() {
    let config = SearchConfig {
        results: 3,
        ..SearchConfig::default()
    };
    let stage = Stage::searching(&config);
    for number in 0..50 {
        stage.put(&format!("{:02}/f", 49 - number), "");
    }
    let said = stage.said("glob", &json!({ "pattern": "f" })).await;
    assert_eq!(
        said,
        "00/f\n01/f\n02/f\n[47 more are not shown; use a narrower pattern or path]"
    );
}

#[tokio::test]
async fn every_name_is_listed_and_can_be_used_or_is_said_not_to() {
    let names = [
        "sp ace",
        "new\nline",
        "-rf",
        "quote'\"",
        "br[1]",
        "\u{e9}-nfc",
        "e\u{301}-nfd",
        "back\\slash",
        "C:drive",
    ];
    let stage = stage(&names);
    let bad = stage.folder().join(OsStr::from_bytes(b"bad\xff\xfe"));
    std::fs::write(bad, "").expect("a file can be written");
    let said = stage.said("glob", &json!({ "pattern": "*" })).await;
    let (paths, notes) = said
        .split_once('[')
        .map(|_| said.rsplit_once("\n[").expect("notes"))
        .expect("notes");
    assert_eq!(paths.lines().count(), names.len() + 1);
    assert!(
        paths.contains("\"new\\nline\"") && paths.contains("bad\u{fffd}\u{fffd}"),
        "{paths}"
    );
    assert!(
        notes.contains("JSON strings") && notes.contains("1 of the names are not UTF-8"),
        "{notes}"
    );
}

#[tokio::test]
async fn what_cannot_be_listed_is_refused() {
    let stage = stage(&["src/a"]);
    for (pattern, path, expected) in [
        ("[", ".", "the pattern for names cannot be used: error parsing glob '['"),
        ("/etc/*", ".", "must be relative"),
        ("../*", ".", "must be relative"),
        ("*", "src/a", "src/a is a file"),
        ("*", "scr", "scr does not exist; there is src/ in the session's folder"),
    ] {
        let error = stage
            .refused("glob", &json!({ "pattern": pattern, "path": path }))
            .await;
        assert!(error.contains(expected), "{pattern} {path}: {error}");
    }
}

#[test]
fn a_search_ends_with_its_call_or_its_time() {
    let stage = stage(&["a"]);
    let stop = CancellationToken::new();
    let arguments = Arguments {
        pattern: "*".into(),
        path: None,
    };
    let late = SearchConfig {
        time: Duration::ZERO,
        ..SearchConfig::default()
    };
    let listing = list(&arguments, &stage.folder().as_path().into(), &late, &stop).expect("an end is no error");
    assert!(listing.paths.is_empty());
    assert!(
        listing.notes[1].contains("ended after 0 ms (search.time)"),
        "{:?}",
        listing.notes
    );
    stop.cancel();
    let error = list(
        &arguments,
        &stage.folder().as_path().into(),
        &SearchConfig::default(),
        &stop,
    );
    assert_eq!(
        error.err().expect("it was cancelled").message(),
        "the search was cancelled"
    );
}

#[test]
fn only_a_folder_outside_is_asked_about() {
    let stage = stage(&[]);
    assert!(!stage.asks("glob", &json!({ "pattern": "*" })));
    assert!(!stage.asks("glob", &json!({ "pattern": "*", "path": "src" })));
    assert!(stage.asks("glob", &json!({ "pattern": "*", "path": "/etc" })));
}

#[test]
fn the_card_says_what_is_looked_for_and_where() {
    let glob = Glob::new(SearchConfig::default()).expect("the defaults are sound");
    let Some(CallView::Generic {
        title, kind, locations, ..
    }) = glob.present_call(&json!({ "pattern": "*.rs", "path": "src" }))
    else {
        panic!("a card of its own");
    };
    assert_eq!((title.as_str(), kind), ("glob *.rs in src", ToolKind::Search));
    assert_eq!(locations[0].path, "src");
}
