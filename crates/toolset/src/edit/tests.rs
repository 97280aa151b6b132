//! The tool as its callers see it: real files, edited through a registry.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::files::stage::Stage;

fn change(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "old": old, "new": new })
}

#[tokio::test]
async fn the_only_occurrence_is_replaced_and_its_line_told() {
    let stage = Stage::new();
    stage.put("a.txt", "one\ntwo\nthree");
    let said = stage.said("edit", &change("a.txt", "two", "2")).await;
    assert_eq!(said, "edited a.txt: replaced the text on line 2");
    assert_eq!(stage.bytes("a.txt"), b"one\n2\nthree");
}

#[tokio::test]
async fn all_occurrences_are_replaced_when_asked_for() {
    let stage = Stage::new();
    stage.put("a.txt", "a\nb\na\n");
    let error = stage.refused("edit", &change("a.txt", "a", "x")).await;
    assert!(
        error.starts_with("old occurs 2 times in a.txt, on lines 1, 3; "),
        "{error}"
    );
    assert_eq!(stage.bytes("a.txt"), b"a\nb\na\n");
    let said = stage
        .said("edit", &json!({ "path": "a.txt", "old": "a", "new": "x", "all": true }))
        .await;
    assert_eq!(said, "edited a.txt: replaced 2 texts, on lines 1, 3");
    assert_eq!(stage.bytes("a.txt"), b"x\nb\nx\n");
}

#[tokio::test]
async fn many_places_are_listed_in_part() {
    let stage = Stage::new();
    stage.put("a.txt", "a\n".repeat(50));
    let error = stage.refused("edit", &change("a.txt", "a", "x")).await;
    assert!(error.contains("50 times") && error.contains("19, 20, …;"), "{error}");
}

#[tokio::test]
async fn what_does_not_occur_is_explained() {
    let stage = Stage::new();
    stage.put("a.txt", "\tone\n");
    let error = stage.refused("edit", &change("a.txt", "  one", "x")).await;
    assert!(
        error.starts_with("old does not occur in a.txt: what is on line 1 differs"),
        "{error}"
    );
    let error = stage.refused("edit", &change("a.txt", "one", "one")).await;
    assert!(error.contains("the same"), "{error}");
}

#[tokio::test]
async fn mark_line_ends_encoding_mode_and_the_missing_last_line_end_are_kept() {
    let stage = Stage::new();
    let path = stage.put("a.vb", b"\xef\xbb\xbf' \xc3\xa9kezet\r\nDim a = 1\r\nend");
    fs::set_permissions(&path, Permissions::from_mode(0o754)).expect("the mode can be set");
    stage
        .said("edit", &change("a.vb", "kezet\nDim a = 1", "kezet\n\nDim a = 2"))
        .await;
    assert_eq!(
        stage.bytes("a.vb"),
        b"\xef\xbb\xbf' \xc3\xa9kezet\r\n\r\nDim a = 2\r\nend"
    );
    assert_eq!(fs::metadata(&path).expect("it exists").mode() & 0o7777, 0o754);
    stage.put("wide.txt", b"\xff\xfea\0\n\0b\0");
    stage.said("edit", &change("wide.txt", "b", "é")).await;
    assert_eq!(stage.bytes("wide.txt"), b"\xff\xfea\0\n\0\xe9\0");
}

#[tokio::test]
async fn bytes_that_are_no_utf8_are_kept_or_the_edit_is_refused() {
    let stage = Stage::new();
    stage.put("latin.txt", b"x\ncaf\xe9 = 1\n");
    stage.said("edit", &change("latin.txt", "= 1", "= 2")).await;
    assert_eq!(stage.bytes("latin.txt"), b"x\ncaf\xe9 = 2\n");
    let error = stage.refused("edit", &change("latin.txt", "x", "é")).await;
    assert!(
        error.contains("not UTF-8 (the first other byte is on line 2)"),
        "{error}"
    );
    stage.put("wide.txt", b"\xff\xfea\0b");
    let error = stage.refused("edit", &change("wide.txt", "a", "c")).await;
    assert!(error.contains("damaged UTF-16"), "{error}");
    stage.put("a.bin", b"a\0b");
    let error = stage.refused("edit", &change("a.bin", "a", "c")).await;
    assert!(error.contains("binary data"), "{error}");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_left_alone() {
    let stage = Stage::new();
    stage.put("a.txt", "one\n");
    stage.said("read", &json!({ "path": "a.txt" })).await;
    stage.put("a.txt", "one\nmore\n");
    let error = stage.refused("edit", &change("a.txt", "one", "1")).await;
    assert!(
        error.contains("has changed since you last read it; read it again"),
        "{error}"
    );
    assert_eq!(stage.bytes("a.txt"), b"one\nmore\n");
    stage.said("read", &json!({ "path": "a.txt" })).await;
    stage.said("edit", &change("a.txt", "one", "1")).await;
    // Its own changes are no surprise, and the same file by another name is the same file.
    symlink("a.txt", stage.folder().join("b.txt")).expect("a link can be made");
    stage.said("edit", &change("b.txt", "more", "less")).await;
    assert_eq!(stage.bytes("a.txt"), b"1\nless\n");
    assert!(stage.folder().join("b.txt").is_symlink());
}

#[tokio::test]
async fn a_file_that_was_only_touched_is_edited() {
    let stage = Stage::new();
    let path = stage.put("a.txt", "one\r\ntwo\r\n");
    stage.said("read", &json!({ "path": "a.txt" })).await;
    let file = fs::File::options().write(true).open(&path).expect("the file exists");
    file.set_modified(std::time::UNIX_EPOCH).expect("the time can be set");
    stage.said("edit", &change("a.txt", "one", "1")).await;
    stage.said("edit", &change("a.txt", "1\ntwo", "1\n2")).await;
    assert_eq!(stage.bytes("a.txt"), b"1\r\n2\r\n");
}

#[tokio::test]
async fn of_agents_that_edit_one_file_all_succeed_or_are_told() {
    let stage = Stage::new();
    let slots: String = (0..8).map(|slot| format!("slot{slot}=\n")).collect();
    stage.put("shared.txt", slots);
    let edits = (0..8).map(|slot| {
        let (old, new) = (format!("slot{slot}="), format!("slot{slot}=done"));
        let arguments = change("shared.txt", &old, &new);
        let stage = &stage;
        async move { !stage.call_as(stage.stranger(), "edit", &arguments).await.is_error() }
    });
    let done = futures::future::join_all(edits).await;
    let text = String::from_utf8(stage.bytes("shared.txt")).expect("it is text");
    let expected: String = (0..8)
        .map(|slot| format!("slot{slot}={}\n", if done[slot] { "done" } else { "" }))
        .collect();
    assert_eq!(text, expected);
    assert!(done.contains(&true));
    assert_eq!(
        fs::read_dir(stage.folder()).expect("a folder").count(),
        1,
        "nothing is left behind"
    );
}

#[tokio::test]
async fn nothing_outside_the_folder_is_edited() {
    let stage = Stage::new();
    fs::write(stage.beside("out.txt"), "one").expect("a file can be written");
    symlink("../out.txt", stage.folder().join("link.txt")).expect("a link can be made");
    for path in ["../out.txt", "link.txt", "/etc/hosts"] {
        let error = stage.refused("edit", &change(path, "one", "two")).await;
        assert!(error.contains("outside the session's folder"), "{error}");
    }
    assert_eq!(fs::read(stage.beside("out.txt")).expect("it exists"), b"one");
}

#[tokio::test]
async fn what_is_no_file_or_too_large_is_refused() {
    let stage = Stage::with(&FilesConfig {
        max_bytes: 64 << 10,
        ..FilesConfig::default()
    });
    stage.put("d/a.txt", "");
    assert!(
        stage
            .refused("edit", &change("d", "a", "b"))
            .await
            .contains("is a folder")
    );
    let error = stage.refused("edit", &change("d/b.txt", "a", "b")).await;
    assert_eq!(error, "d/b.txt does not exist; there is a.txt in d");
    stage.put("big.txt", "a".repeat((64 << 10) + 1));
    let error = stage.refused("edit", &change("big.txt", "a", "b")).await;
    assert!(
        error.contains("65537 bytes") && error.contains("65536 are edited (files.max_bytes)"),
        "{error}"
    );
    stage.put("full.txt", "a".repeat(64 << 10));
    let error = stage
        .refused(
            "edit",
            &json!({ "path": "full.txt", "old": "a", "new": "bb", "all": true }),
        )
        .await;
    assert!(error.contains("would grow to 131072 bytes"), "{error}");
}

#[tokio::test]
async fn a_cancelled_edit_changes_nothing() {
    let stage = Stage::new();
    stage.put("a.txt", "one");
    assert!(stage.cancelled("edit", &change("a.txt", "one", "two")).await.is_error());
    assert_eq!(stage.bytes("a.txt"), b"one");
    let stop = CancellationToken::new();
    stop.cancel();
    let arguments = Arguments::deserialize(change("a.txt", "one", "two")).expect("they fit");
    let error = edit(
        &arguments,
        &stage.folder().as_path().into(),
        &FilesConfig::default(),
        &Known::default(),
        &stop,
    );
    assert!(
        error
            .err()
            .expect("it was cancelled")
            .message()
            .contains("cancelled before anything was changed")
    );
    assert_eq!(stage.bytes("a.txt"), b"one");
    assert_eq!(
        fs::read_dir(stage.folder()).expect("a folder").count(),
        1,
        "nothing is left behind"
    );
}

#[test]
fn every_edit_is_asked_about() {
    assert!(Stage::new().asks("edit", &change("a", "b", "c")));
}

#[test]
fn the_card_is_a_diff_unless_that_is_too_large() {
    let config = FilesConfig {
        diff_bytes: 10,
        ..FilesConfig::default()
    };
    let edit = Edit::new(config).expect("the limits are sound");
    let arguments = change("a.rs", "old", "new");
    let expected = FileDiff {
        path: "a.rs".into(),
        old_text: Some("old".into()),
        new_text: "new".into(),
    };
    let Some(CallView::Diff {
        title,
        diffs,
        locations,
    }) = edit.present_call(&arguments)
    else {
        panic!("a diff card");
    };
    assert_eq!((title.as_str(), locations[0].path.as_str()), ("edit a.rs", "a.rs"));
    assert_eq!(diffs, std::slice::from_ref(&expected));
    let content = [ContentBlock::text("done")];
    let result = ResultForView {
        content: &content,
        is_error: false,
        meta: None,
    };
    let shown = ResultView::Diff {
        title: None,
        diffs: vec![expected],
    };
    assert_eq!(edit.present_result(&arguments, &result), Some(shown));
    let failed = ResultForView {
        is_error: true,
        ..result
    };
    assert_eq!(edit.present_result(&arguments, &failed), None);
    let large = change("a.rs", "old", "something longer");
    let Some(CallView::Generic { kind, content, .. }) = edit.present_call(&large) else {
        panic!("a card without a diff");
    };
    assert_eq!(kind, ToolKind::Edit);
    assert_eq!(
        weft_types::text_of(&content),
        "the change is too large to show (16 bytes)"
    );
    assert_eq!(edit.present_result(&large, &result), None);
}
