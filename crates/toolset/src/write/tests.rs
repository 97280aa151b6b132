//! The tool as its callers see it: real files, written through a registry.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::files::replace;
use crate::files::stage::Stage;

fn content(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content })
}

#[tokio::test]
async fn a_file_is_made_with_the_folders_it_needs() {
    let stage = Stage::new();
    let said = stage.said("write", &content("new/deep/a.txt", "é\n")).await;
    assert_eq!(said, "created new/deep/a.txt (3 bytes)");
    assert_eq!(stage.bytes("new/deep/a.txt"), "é\n".as_bytes());
}

#[tokio::test]
async fn a_file_that_was_not_read_is_not_replaced() {
    let stage = Stage::new();
    stage.put("a.txt", "mine");
    let error = stage.refused("write", &content("a.txt", "yours")).await;
    assert_eq!(
        error,
        "a.txt exists, and you have not read it; read it before you replace it, or change it with edit"
    );
    assert_eq!(stage.bytes("a.txt"), b"mine");
    stage.said("read", &json!({ "path": "a.txt" })).await;
    assert_eq!(
        stage.said("write", &content("a.txt", "yours")).await,
        "replaced a.txt (5 bytes)"
    );
    // What one agent read, another has not.
    let result = stage
        .call_as(stage.stranger(), "write", &content("a.txt", "theirs"))
        .await;
    assert!(result.is_error());
    assert_eq!(
        stage.said("write", &content("a.txt", "yours")).await,
        "a.txt already held exactly this (5 bytes)"
    );
}

#[tokio::test]
async fn an_empty_file_may_be_filled_unread() {
    let stage = Stage::new();
    stage.put("a.txt", "");
    assert_eq!(
        stage.said("write", &content("a.txt", "b")).await,
        "replaced a.txt (1 bytes)"
    );
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_not_replaced() {
    let stage = Stage::new();
    stage.said("write", &content("a.txt", "one")).await;
    stage.put("a.txt", "two");
    let error = stage.refused("write", &content("a.txt", "three")).await;
    assert!(error.contains("has changed since you last read it"), "{error}");
    assert_eq!(stage.bytes("a.txt"), b"two");
}

#[test]
fn the_content_takes_the_dress_of_what_it_replaces() {
    for (old, content, expected) in [
        (&b"a\n"[..], "b\n", &b"b\n"[..]),
        (b"\xef\xbb\xbfa", "b", b"\xef\xbb\xbfb"),
        (b"\xef\xbb\xbfa", "\u{feff}b", b"\xef\xbb\xbfb"),
        (b"\xff\xfea\0", "\u{e9}", b"\xff\xfe\xe9\0"),
        (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n"),
        (b"a\r\nb\n", "c\nd\n", b"c\nd\n"),
        (b"a\r\nb\r\n", "c\r\nd\n", b"c\r\nd\n"),
        (b"", "\u{feff}b", b"\xef\xbb\xbfb"),
    ] {
        assert_eq!(dressed_like(old, content), expected, "{old:?} {content:?}");
    }
}

#[tokio::test]
async fn mode_and_links_are_kept() {
    let stage = Stage::new();
    let path = stage.put("real/run.sh", "a");
    fs::set_permissions(&path, Permissions::from_mode(0o751)).expect("the mode can be set");
    symlink("real", stage.folder().join("link")).expect("a link can be made");
    symlink("real/run.sh", stage.folder().join("run")).expect("a link can be made");
    for (name, text) in [("link/run.sh", "b"), ("run", "c")] {
        stage.said("read", &json!({ "path": name })).await;
        stage.said("write", &content(name, text)).await;
        assert_eq!(stage.bytes("real/run.sh"), text.as_bytes());
    }
    assert!(stage.folder().join("run").is_symlink());
    assert_eq!(fs::metadata(&path).expect("it exists").mode() & 0o7777, 0o751);
    symlink("later.txt", stage.folder().join("dangling")).expect("a link can be made");
    stage.said("write", &content("dangling", "d")).await;
    assert_eq!(stage.bytes("later.txt"), b"d");
    assert!(stage.folder().join("dangling").is_symlink());
}

#[tokio::test]
async fn other_names_of_a_file_keep_what_they_had_and_that_is_told() {
    let stage = Stage::new();
    let path = stage.put("a.txt", "a");
    fs::hard_link(&path, stage.folder().join("b.txt")).expect("a link can be made");
    stage.said("read", &json!({ "path": "a.txt" })).await;
    let said = stage.said("write", &content("a.txt", "c")).await;
    assert_eq!(
        said,
        "replaced a.txt (1 bytes); its other names (hard links) keep the old content"
    );
    assert_eq!(stage.bytes("b.txt"), b"a");
}

#[tokio::test]
async fn nothing_is_written_outside_the_folder() {
    let stage = Stage::new();
    fs::create_dir(stage.beside("out")).expect("a folder can be made");
    symlink("../out", stage.folder().join("link-out")).expect("a link can be made");
    symlink("../out/new.txt", stage.folder().join("dangling")).expect("a link can be made");
    let absolute = stage.beside("out/abs.txt");
    let absolute = absolute.to_str().expect("a plain name");
    for path in [
        "../beside.txt",
        "link-out/escaped.txt",
        "dangling",
        absolute,
        "a/../../out/b.txt",
    ] {
        let error = stage.refused("write", &content(path, "x")).await;
        assert!(error.contains("outside the session's folder"), "{error}");
    }
    assert_eq!(fs::read_dir(stage.beside("out")).expect("a folder").count(), 0);
    assert!(!stage.beside("beside.txt").exists());
}

#[test]
fn a_link_that_appears_after_the_path_was_resolved_is_not_followed() {
    let stage = Stage::new();
    fs::create_dir(stage.beside("out")).expect("a folder can be made");
    fs::create_dir(stage.folder().join("in")).expect("a folder can be made");
    let place = Place::to_write(&stage.folder().as_path().into(), "in/a.txt").expect("a place within");
    let last = Place::to_write(&stage.folder().as_path().into(), "b.txt").expect("a place within");
    fs::remove_dir(stage.folder().join("in")).expect("it is empty");
    symlink("../out", stage.folder().join("in")).expect("a link can be made");
    symlink("../out/b.txt", stage.folder().join("b.txt")).expect("a link can be made");
    let stop = CancellationToken::new();
    assert!(replace(&place, None, b"x", &stop).is_err());
    assert!(replace(&last, None, b"x", &stop).is_err());
    assert!(find(&place).is_err());
    assert!(find(&last).is_err());
    assert_eq!(fs::read_dir(stage.beside("out")).expect("a folder").count(), 0);
}

#[test]
fn a_file_that_changes_while_it_is_replaced_wins() {
    let stage = Stage::new();
    stage.put("a.txt", "one");
    let place = Place::to_write(&stage.folder().as_path().into(), "a.txt").expect("a place within");
    let Found::File(opened) = find(&place).expect("it can be opened") else {
        panic!("a file");
    };
    stage.put("a.txt", "somebody else's");
    let stop = CancellationToken::new();
    for was in [Some(&opened.stat), None] {
        let error = replace(&place, was, b"two", &stop).expect_err("it is another file by now");
        assert!(error.message().contains("in this very moment"), "{error:?}");
    }
    assert_eq!(stage.bytes("a.txt"), b"somebody else's");
    assert_eq!(
        fs::read_dir(stage.folder()).expect("a folder").count(),
        1,
        "nothing is left behind"
    );
}

#[tokio::test]
async fn what_is_no_file_or_too_large_is_refused() {
    let stage = Stage::with(&FilesConfig {
        max_bytes: 64 << 10,
        ..FilesConfig::default()
    });
    let big = "a".repeat((64 << 10) + 1);
    stage.put("d/a.txt", "a");
    stage.put("big.txt", &big);
    let pipe = stage.folder().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe can be made");
    for (path, text, expected) in [
        ("d", "x", "d is a folder"),
        ("new/", "x", "new/ names a folder"),
        ("d/a.txt/b.txt", "x", "d/a.txt/b.txt"),
        ("pipe", "x", "pipe is a named pipe"),
        (
            "a.txt",
            big.as_str(),
            "the content has 65537 bytes, above the limit of 65536 (files.max_bytes)",
        ),
        ("big.txt", "x", "big.txt has 65537 bytes"),
    ] {
        let error = stage.refused("write", &content(path, text)).await;
        assert!(error.contains(expected), "{path}: {error}");
    }
}

#[tokio::test]
async fn a_cancelled_write_makes_nothing() {
    let stage = Stage::new();
    assert!(stage.cancelled("write", &content("a.txt", "a")).await.is_error());
    assert!(!stage.folder().join("a.txt").exists());
}

#[test]
fn every_write_is_asked_about() {
    assert!(Stage::new().asks("write", &content("a", "b")));
}

#[tokio::test]
async fn the_card_shows_what_was_there_once_that_is_known() {
    let config = FilesConfig {
        diff_bytes: 10,
        ..FilesConfig::default()
    };
    let stage = Stage::with(&config);
    let write = Write::new(config).expect("the limits are sound");
    let arguments = content("a.txt", "new");
    let Some(CallView::Diff { diffs, .. }) = write.present_call(&arguments) else {
        panic!("a diff card");
    };
    assert_eq!(diffs, [diff("a.txt".into(), None, "new".into())]);
    let shown = |result: &weft_tools::ToolResult| {
        let result = ResultForView {
            content: &result.content,
            is_error: result.is_error(),
            meta: result.meta.as_ref(),
        };
        write.present_result(&arguments, &result)
    };
    let diffs = |old: Option<&str>| {
        Some(ResultView::Diff {
            title: None,
            diffs: vec![diff("a.txt".into(), old.map(str::to_owned), "new".into())],
        })
    };
    assert_eq!(shown(&stage.call("write", &arguments).await), diffs(None));
    stage
        .said("edit", &json!({ "path": "a.txt", "old": "new", "new": "old" }))
        .await;
    assert_eq!(shown(&stage.call("write", &arguments).await), diffs(Some("old")));
    // Too long to show, so that the card says in words what was done.
    stage
        .said(
            "edit",
            &json!({ "path": "a.txt", "old": "new", "new": "something long" }),
        )
        .await;
    assert_eq!(shown(&stage.call("write", &arguments).await), None);
    let Some(CallView::Generic { .. }) = write.present_call(&content("a.txt", "something long")) else {
        panic!("a card without a diff");
    };
}
