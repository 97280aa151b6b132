//! What progress does to a card, and how the final update repairs it.

use weft_tools::{ExitStatus, FileDiff, Location, ToolKind};

use super::*;

fn generic(content: &[&str]) -> CallView {
    CallView::Generic {
        title: "workflow: demo".into(),
        kind: ToolKind::Other,
        raw_input: Some(json!("script")),
        content: content.iter().copied().map(ContentBlock::text).collect(),
        locations: vec![Location {
            path: "/w/a.rs".into(),
            line: None,
        }],
    }
}

fn terminal() -> CallView {
    CallView::Terminal {
        title: "make".into(),
        description: Some("Build".into()),
        cwd: None,
    }
}

fn diff() -> CallView {
    let diffs = vec![FileDiff {
        path: "/w/a.rs".into(),
        old_text: None,
        new_text: "x".into(),
    }];
    CallView::Diff {
        title: "Write".into(),
        diffs,
        locations: Vec::new(),
    }
}

#[test]
fn g07_progress_carries_status_title_and_content_and_nothing_of_the_arguments() {
    for (client, call) in [
        (PLAIN, generic(&[])),
        (CAPABLE, terminal()),
        (PLAIN, terminal()),
        (PLAIN, diff()),
    ] {
        let mut stage = Stage::new(client);
        stage.call(call);
        let update = stage.progress(&view(Some("t"), &["p"]));
        let mut names: Vec<_> = update.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content", "sessionUpdate", "status", "title", "toolCallId"]);
        assert_eq!(update["status"], json!("in_progress"));
    }
}

#[test]
fn progress_on_a_generic_card_stands_alone_and_an_empty_view_restores_the_calls_content() {
    let mut stage = Stage::new(PLAIN);
    stage.call(generic(&["call"]));
    assert_eq!(
        stage.progress(&view(None, &["p", "q"]))["content"],
        json!([text("p"), text("q")])
    );
    let empty = stage.progress(&view(None, &[]));
    assert_eq!((&empty["content"], empty.get("title")), (&json!([text("call")]), None));
}

#[test]
fn p26_empty_view_shows_the_calls_title_and_content_again() {
    let mut stage = Stage::new(PLAIN);
    stage.call(generic(&[]));
    stage.progress(&view(Some("workflow: demo – Scan"), &["p"]));
    for _ in 0..2 {
        // Every later update repeats the restored title: the first may be superseded before it is sent.
        let empty = stage.progress(&view(None, &[]));
        assert_eq!(
            (&empty["title"], &empty["content"]),
            (&json!("workflow: demo"), &json!([]))
        );
    }
}

#[test]
fn g28_progress_on_a_diff_card_comes_after_the_diffs() {
    let mut stage = Stage::new(PLAIN);
    let call = stage.call(diff());
    let update = stage.progress(&view(None, &["p"]));
    assert_eq!(update["content"], json!([call["content"][0], text("p")]));
}

#[test]
fn g28_progress_on_a_terminal_card_keeps_the_terminal_and_the_end_restores_it() {
    let end = || ResultView::Terminal {
        title: None,
        output: Some("ok".into()),
        exit: Some(ExitStatus::Code(0)),
    };
    let mut stage = Stage::new(CAPABLE);
    let call = stage.call(terminal());
    let update = stage.progress(&view(None, &["p"]));
    assert_eq!(
        update["content"],
        json!([call["content"][0], call["content"][1], text("p")])
    );
    let last = stage.result(end());
    assert_eq!(last["content"], call["content"]);
    assert_eq!(last["_meta"]["terminal_exit"]["exit_code"], json!(0));

    // Progress that never showed anything leaves nothing to restore.
    let mut stage = Stage::new(CAPABLE);
    stage.call(terminal());
    stage.progress(&view(None, &[]));
    assert_eq!(stage.result(end()).get("content"), None);
}

#[test]
fn g28_progress_on_a_console_card_comes_after_the_description() {
    let mut stage = Stage::new(PLAIN);
    stage.call(terminal());
    assert_eq!(
        stage.progress(&view(None, &["p"]))["content"],
        json!([text("Build"), text("p")])
    );
    let last = stage.result(ResultView::Terminal {
        title: None,
        output: Some("ok".into()),
        exit: None,
    });
    assert_eq!(last["content"], json!([text("```console\nok\n```")]));
}

#[test]
fn g29_the_final_update_restores_the_title_unless_the_result_has_its_own() {
    let last = |progress: &ProgressView, title: Option<&str>| {
        let mut stage = Stage::new(PLAIN);
        stage.call(generic(&[]));
        stage.progress(progress);
        stage.result(ResultView::Generic {
            title: title.map(str::to_owned),
            content: None,
        })
    };
    let replaced = view(Some("live"), &[]);
    assert_eq!(last(&replaced, None)["title"], json!("workflow: demo"));
    assert_eq!(last(&replaced, Some("own"))["title"], json!("own"));
    assert_eq!(last(&view(None, &["p"]), None).get("title"), None);
}

#[test]
fn g30_progress_titles_are_relativised_like_call_titles() {
    let mut stage = Stage::new(PLAIN);
    stage.call(generic(&[]));
    let update = stage.progress(&view(Some("Reading /w/a.rs"), &[]));
    assert_eq!(update["title"], json!("Reading a.rs"));
}

#[test]
fn p22_and_p14_no_update_without_an_open_card() {
    let mut stage = Stage::new(PLAIN);
    assert_eq!(stage.projector.progress(&ID.into(), &view(None, &["early"])), None);
    stage.call(generic(&[]));
    assert_eq!(stage.projector.progress(&"nested".into(), &view(None, &["p"])), None);
    stage.event(&tool_result("raw", false));
    assert_eq!(stage.projector.progress(&ID.into(), &view(None, &["late"])), None);
    assert!(!stage.projector.is_open(&ID.into()));
}
