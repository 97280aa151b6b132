//! The tool as its callers see it: real files, searched through a registry.

use std::os::unix::fs::symlink;
use std::time::Duration;

use super::*;
use crate::files::stage::Stage;

async fn check(stage: &Stage, arguments: &Value, expected: &str) {
    let said = stage.said("grep", arguments).await;
    assert_eq!(said, expected, "{arguments}");
}

fn stage() -> Stage {
    let stage = Stage::new();
    stage.put("a.rs", "fn one() {}\nfn two() {}\n// end\n");
    stage.put("src/b.rs", "x\nfn One() {}\n");
    stage.put("src/c.txt", "fn three() {}");
    stage
}

#[tokio::test]
async fn matching_lines_come_under_the_names_of_their_files() {
    let stage = stage();
    check(
        &stage,
        &json!({ "pattern": "fn \\w+" }),
        "a.rs\n1: fn one() {}\n2: fn two() {}\n\nsrc/b.rs\n2: fn One() {}\n\nsrc/c.txt\n1: fn three() {}\n",
    )
    .await;
    check(
        &stage,
        &json!({ "pattern": "one\\(", "ignore_case": true, "glob": "*.rs" }),
        "a.rs\n1: fn one() {}\n\nsrc/b.rs\n2: fn One() {}\n",
    )
    .await;
    check(
        &stage,
        &json!({ "pattern": "() {", "literal": true, "path": "src/c.txt" }),
        "src/c.txt\n1: fn three() {}\n",
    )
    .await;
    check(
        &stage,
        &json!({ "pattern": "fn", "path": "src", "glob": "b.*" }),
        "src/b.rs\n2: fn One() {}\n",
    )
    .await;
    check(&stage, &json!({ "pattern": "nowhere" }), "[nothing matches]").await;
}

#[tokio::test]
async fn only_names_or_counts_are_given_when_asked_for() {
    let stage = stage();
    check(
        &stage,
        &json!({ "pattern": "fn", "output": "files" }),
        "a.rs\nsrc/b.rs\nsrc/c.txt\n",
    )
    .await;
    check(
        &stage,
        &json!({ "pattern": "fn", "output": "count" }),
        "a.rs: 2\nsrc/b.rs: 1\nsrc/c.txt: 1\n",
    )
    .await;
}

#[tokio::test]
async fn lines_around_a_match_are_told_from_it() {
    let stage = Stage::new();
    stage.put("a", "1\n2\nhit\n4\n5\n6\n7\nhit\n");
    check(
        &stage,
        &json!({ "pattern": "hit", "context": 1 }),
        "a\n2- 2\n3: hit\n4- 4\n--\n7- 7\n8: hit\n",
    )
    .await;
    // Without them a gap says nothing.
    check(&stage, &json!({ "pattern": "hit" }), "a\n3: hit\n8: hit\n").await;
}

#[tokio::test]
async fn line_ends_and_encodings_do_not_matter() {
    let stage = Stage::new();
    stage.put("crlf", "one end\r\ntwo\r\n");
    stage.put("wide", b"\xff\xfeo\0n\0e\0 \0e\0n\0d\0\n\0");
    stage.put("latin", b"caf\xe9 one end\n");
    check(
        &stage,
        &json!({ "pattern": "one end$" }),
        "crlf\n1: one end\n\nlatin\n1: caf\u{fffd} one end\n\nwide\n1: one end\n",
    )
    .await;
}

#[tokio::test]
async fn binary_ignored_and_hidden_files_and_what_is_no_file_are_left_out() {
    let stage = Stage::new();
    stage.put("a", "needle\n");
    stage.put("prog.bin", b"needle\n\0\xff");
    stage.put(".gitignore", "ignored\n");
    stage.put("ignored", "needle\n");
    stage.put(".env", "needle\n");
    let pipe = stage.folder().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe can be made");
    symlink("/dev/zero", stage.folder().join("zeros")).expect("a link can be made");
    std::fs::write(stage.beside("out.txt"), "needle\n").expect("a file can be written");
    symlink("../out.txt", stage.folder().join("link")).expect("a link can be made");
    for output in ["files", "lines"] {
        let said = stage
            .said("grep", &json!({ "pattern": "needle", "output": output }))
            .await;
        assert!(said == "a\n" || said == "a\n1: needle\n", "{said}");
    }
    check(
        &stage,
        &json!({ "pattern": "needle", "glob": ".env" }),
        ".env\n1: needle\n",
    )
    .await;
    let error = stage
        .refused("grep", &json!({ "pattern": "needle", "path": "pipe" }))
        .await;
    assert!(error.contains("a named pipe"), "{error}");
    let error = stage
        .refused("grep", &json!({ "pattern": "needle", "path": "link" }))
        .await;
    assert!(error.contains("outside the session's folder"), "{error}");
}

#[tokio::test]
async fn results_are_bounded_and_the_rest_is_counted() {
    let config = SearchConfig {
        results: 3,
        ..SearchConfig::default()
    };
    let stage = Stage::searching(&config);
    for number in 0..20 {
        stage.put(&format!("{number:02}"), "hit\nhit\n");
    }
    check(&stage, &json!({ "pattern": "hit" }),
        "00\n1: hit\n2: hit\n\n01\n1: hit\n[37 more matching lines are not shown, of 40 in 20 files; use a narrower pattern, glob or path]").await;
    check(
        &stage,
        &json!({ "pattern": "hit", "output": "count" }),
        "00: 2\n01: 2\n02: 2\n[17 more files are not shown; use a narrower pattern, glob or path]",
    )
    .await;
    stage.put("a/many", "hit\n".repeat(1_000));
    check(&stage, &json!({ "pattern": "hit", "path": "a" }),
        "a/many\n1: hit\n2: hit\n3: hit\n[997 more matching lines are not shown, of 1000 in 1 files; use a narrower pattern, glob or path]").await;
}

#[tokio::test]
async fn of_a_long_line_the_match_is_shown() {
    let config = SearchConfig {
        line_chars: 100,
        ..SearchConfig::default()
    };
    let stage = Stage::searching(&config);
    stage.put(
        "one.js",
        format!("{}needle{}", "é".repeat(100_000), "é".repeat(100_000)),
    );
    let said = stage.said("grep", &json!({ "pattern": "needle" })).await;
    let line = said.lines().nth(1).expect("a line");
    assert_eq!(line, format!("1: …{}needle{}…", "é".repeat(40), "é".repeat(54)));
    stage.put("one.js", format!("needle{}", "é".repeat(100)));
    let said = stage.said("grep", &json!({ "pattern": "needle" })).await;
    assert_eq!(
        said.lines().nth(1).expect("a line"),
        format!("1: needle{}…", "é".repeat(94))
    );
}

#[tokio::test]
async fn a_pattern_that_cannot_be_used_is_refused_with_the_place() {
    let stage = stage();
    let error = stage.refused("grep", &json!({ "pattern": "a(b" })).await;
    assert!(
        error.contains("    a(b\n     ^\n") && error.contains("unclosed group"),
        "{error}"
    );
    let error = stage.refused("grep", &json!({ "pattern": "a", "glob": "[" })).await;
    assert!(error.contains("pattern for names"), "{error}");
    let error = stage
        .refused("grep", &json!({ "pattern": "a", "path": "nope.rs" }))
        .await;
    assert!(error.contains("nope.rs does not exist"), "{error}");
}

#[test]
fn a_search_ends_with_its_call_or_its_time() {
    let stage = stage();
    let arguments = Arguments::deserialize(json!({ "pattern": "fn" })).expect("they fit");
    let stop = CancellationToken::new();
    let late = SearchConfig {
        time: Duration::ZERO,
        ..SearchConfig::default()
    };
    let matches = grep(&arguments, &stage.folder().as_path().into(), &late, &stop).expect("an end is no error");
    assert_eq!(matches.files, 0);
    assert!(
        matches.notes[1].contains("ended after 0 ms (search.time)"),
        "{:?}",
        matches.notes
    );
    stop.cancel();
    let error = grep(
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
fn a_file_is_not_read_on_when_the_search_is_over() {
    let stage = stage();
    let (root, _) = root_of(&stage.folder().as_path().into(), ".").expect("it exists");
    let stop = CancellationToken::new();
    let config = SearchConfig::default();
    let search = Search::new(&root, None, &config, &stop);
    let arguments = Arguments::deserialize(json!({ "pattern": "two" })).expect("they fit");
    let plan = file::Plan {
        matcher: matcher(&arguments).expect("it is sound"),
        context: 0,
        is_first_enough: false,
        config: &config,
    };
    let path = stage.folder().join("a.rs");
    let mut seeker = Seeker::new(&plan, &search);
    assert!(seeker.search(&path, true).is_some());
    stop.cancel();
    assert_eq!(seeker.search(&path, true), None);
}

#[test]
fn nothing_of_a_file_reaches_the_next_one() {
    let stage = Stage::new();
    let config = SearchConfig::default();
    let (root, _) = root_of(&stage.folder().as_path().into(), ".").expect("it exists");
    let stop = CancellationToken::new();
    let search = Search::new(&root, None, &config, &stop);
    let arguments = Arguments::deserialize(json!({ "pattern": "hit", "context": 2 })).expect("they fit");
    let plan = file::Plan {
        matcher: matcher(&arguments).expect("it is sound"),
        context: arguments.context,
        is_first_enough: false,
        config: &config,
    };
    let mut seeker = Seeker::new(&plan, &search);
    let mut lines = |name: &str, content: &[u8]| {
        let entry = seeker.search(&stage.put(name, content), true)?;
        Some(entry.lines.into_iter().map(|line| (line.number, line.text)).collect())
    };
    let expected = |lines: &[(u64, &str)]| {
        let owned = lines.iter().map(|(number, text)| (*number, (*text).to_owned()));
        Some(owned.collect::<Vec<_>>())
    };
    assert_eq!(
        lines("cut", b"1\n2\nhit, no end"),
        expected(&[(1, "1"), (2, "2"), (3, "hit, no end")])
    );
    assert_eq!(lines("binary", b"hit\n\0"), None);
    assert_eq!(lines("after", b"a\nhit\n"), expected(&[(1, "a"), (2, "hit")]));
    assert_eq!(lines("none", b"a\n"), None);
}

#[test]
fn only_a_folder_outside_is_asked_about() {
    let stage = stage();
    assert!(!stage.asks("grep", &json!({ "pattern": "a" })));
    assert!(stage.asks("grep", &json!({ "pattern": "a", "path": "../x" })));
}

#[test]
fn the_card_says_what_is_looked_for_and_where() {
    let grep = Grep::new(SearchConfig::default()).expect("the defaults are sound");
    for (arguments, expected) in [
        (json!({ "pattern": "a b" }), "grep a b"),
        (json!({ "pattern": "a", "path": "src" }), "grep a in src"),
        (json!({ "pattern": "a", "glob": "*.rs" }), "grep a in *.rs"),
    ] {
        let Some(CallView::Generic { title, kind, .. }) = grep.present_call(&arguments) else {
            panic!("a card of its own");
        };
        assert_eq!((title.as_str(), kind), (expected, ToolKind::Search));
    }
}
