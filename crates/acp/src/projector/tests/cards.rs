//! What a card shows first and last, by view and client.

use weft_tools::{ExitStatus, FileDiff, Location, ToolKind};

use super::*;

fn generic(title: &str) -> CallView {
    CallView::Generic {
        title: title.into(),
        kind: ToolKind::Other,
        raw_input: None,
        content: Vec::new(),
        locations: Vec::new(),
    }
}

fn terminal(description: Option<&str>, cwd: Option<&str>) -> CallView {
    CallView::Terminal {
        title: "cargo test".into(),
        description: description.map(str::to_owned),
        cwd: cwd.map(str::to_owned),
    }
}

fn diff(path: &str, old_text: Option<&str>, new_text: &str) -> FileDiff {
    FileDiff {
        path: path.into(),
        old_text: old_text.map(str::to_owned),
        new_text: new_text.into(),
    }
}

#[test]
fn a_generic_card_carries_what_its_view_has_and_nothing_else() {
    let call = Stage::new(PLAIN).call(generic("Look around"));
    assert_eq!(
        call,
        json!({ "sessionUpdate": "tool_call", "toolCallId": ID, "title": "Look around", "name": "viewed", "status": "in_progress" })
    );
    let call = Stage::new(PLAIN).call(CallView::Generic {
        title: "Read /w/src/a.rs".into(),
        kind: ToolKind::Read,
        raw_input: Some(json!({ "path": "/w/src/a.rs" })),
        content: vec![ContentBlock::text("soon")],
        locations: vec![Location {
            path: "/w/src/a.rs".into(),
            line: Some(3),
        }],
    });
    assert_eq!(
        call,
        json!({
            "sessionUpdate": "tool_call", "toolCallId": ID, "title": "Read src/a.rs", "name": "viewed",
            "kind": "read", "status": "in_progress", "content": [text("soon")],
            "locations": [{ "path": "/w/src/a.rs", "line": 3 }], "rawInput": { "path": "/w/src/a.rs" },
        })
    );
}

#[test]
fn a_diff_card_has_one_block_a_file_and_raw_paths() {
    let call = Stage::new(PLAIN).call(CallView::Diff {
        title: "Edit /w/a.rs".into(),
        diffs: vec![diff("/w/a.rs", Some("old"), "new"), diff("/w/b.rs", None, "made")],
        locations: Vec::new(),
    });
    assert_eq!(
        call,
        json!({
            "sessionUpdate": "tool_call", "toolCallId": ID, "title": "Edit a.rs", "name": "viewed", "kind": "edit",
            "status": "in_progress", "content": [
                { "type": "diff", "path": "/w/a.rs", "oldText": "old", "newText": "new" },
                { "type": "diff", "path": "/w/b.rs", "newText": "made" },
            ],
        })
    );
}

#[test]
fn a_file_that_is_named_by_its_place_in_the_folder_gets_its_absolute_path() {
    let call = Stage::new(PLAIN).call(CallView::Diff {
        title: "Edit src/a.rs".into(),
        diffs: vec![diff("src/a.rs", None, "made")],
        locations: vec![Location {
            path: "src/a.rs".into(),
            line: None,
        }],
    });
    assert_eq!(call["content"][0]["path"], "/w/src/a.rs");
    assert_eq!(call["locations"][0]["path"], "/w/src/a.rs");
}

#[test]
fn a_terminal_card_has_its_terminal_for_a_client_that_can_show_it() {
    let call = Stage::new(CAPABLE).call(terminal(Some("Run the tests"), None));
    assert_eq!(
        call,
        json!({
            "sessionUpdate": "tool_call", "toolCallId": ID, "title": "cargo test", "name": "viewed",
            "kind": "execute", "status": "in_progress", "rawInput": "cargo test",
            "content": [text("Run the tests"), { "type": "terminal", "terminalId": ID }],
            "_meta": { "terminal_info": { "terminal_id": ID, "cwd": "/w" } },
        })
    );
}

#[test]
fn a_terminal_card_of_another_client_has_its_description_alone() {
    let call = Stage::new(PLAIN).call(terminal(Some("Run the tests"), None));
    assert_eq!(call["content"], json!([text("Run the tests")]));
    assert_eq!(call.get("_meta"), None);
    let call = Stage::new(PLAIN).call(terminal(None, None));
    assert_eq!(call.get("content"), None);
    assert_eq!(call["rawInput"], json!("cargo test"));
}

#[test]
fn a_terminals_folder_is_absolute_resolved_or_the_sessions() {
    for (cwd, expected) in [(None, "/w"), (Some("/x"), "/x"), (Some("sub"), "/w/sub")] {
        let call = Stage::new(CAPABLE).call(terminal(None, cwd));
        assert_eq!(call["_meta"]["terminal_info"]["cwd"], json!(expected));
    }
}

#[test]
fn ord05_a_call_that_needs_an_approval_is_pending_until_its_body_starts() {
    let mut stage = Stage::new(PLAIN);
    let call = only(stage.event(&tool_call("viewed", r#"{"a":1}"#, true)));
    // Pending is the default, which the protocol leaves off the wire.
    assert_eq!(call.get("status"), None);
    let started = serde_json::to_value(stage.projector.started(&ID.into())).unwrap();
    assert_eq!(
        started,
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": ID, "status": "in_progress" })
    );
    assert_eq!(stage.projector.started(&ID.into()), None);
}

#[test]
fn ord05_a_denied_call_goes_from_pending_to_failed() {
    let mut stage = Stage::new(PLAIN);
    stage.event(&tool_call("viewed", r#"{"a":1}"#, true));
    let last = only(stage.event(&tool_result("Error: denied", true)));
    assert_eq!(last["status"], json!("failed"));
    assert_eq!(stage.projector.started(&ID.into()), None);
}

#[test]
fn a_call_that_needs_no_approval_has_no_update_when_it_starts() {
    let mut stage = Stage::new(PLAIN);
    stage.call(generic("x"));
    assert_eq!(stage.projector.started(&ID.into()), None);
}

#[test]
fn a_generic_result_shows_its_content_or_the_raw_one() {
    let last = |view| {
        let mut stage = Stage::new(PLAIN);
        stage.call(generic("x"));
        stage.result(view)
    };
    let kept = last(ResultView::Generic {
        title: None,
        content: None,
    });
    assert_eq!(
        kept,
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": ID, "status": "completed", "content": [text("raw")] })
    );
    let shown = last(ResultView::Generic {
        title: Some("Read 3 lines".into()),
        content: Some(vec![ContentBlock::text("shown")]),
    });
    assert_eq!(
        (&shown["title"], &shown["content"]),
        (&json!("Read 3 lines"), &json!([text("shown")]))
    );
}

#[test]
fn a_failed_result_fails_the_card() {
    let mut stage = Stage::new(PLAIN);
    stage.call(generic("x"));
    let last = only(stage.event(&tool_result("Error: broken", true)));
    assert_eq!(
        (&last["status"], &last["content"]),
        (&json!("failed"), &json!([text("Error: broken")]))
    );
}

#[test]
fn a_diff_result_shows_its_diffs() {
    let mut stage = Stage::new(PLAIN);
    stage.call(generic("x"));
    let last = stage.result(ResultView::Diff {
        title: Some("Edited /w/a.rs".into()),
        diffs: vec![diff("/w/a.rs", Some("a"), "b")],
    });
    assert_eq!(last["title"], json!("Edited a.rs"));
    assert_eq!(
        last["content"],
        json!([{ "type": "diff", "path": "/w/a.rs", "oldText": "a", "newText": "b" }])
    );
    let mut stage = Stage::new(PLAIN);
    stage.call(generic("x"));
    let nothing = stage.result(ResultView::Diff {
        title: None,
        diffs: Vec::new(),
    });
    assert_eq!(nothing["content"], json!([text("raw")]));
}

#[test]
fn a_terminals_end_goes_into_meta_and_leaves_the_terminal_block_alone() {
    let end = |exit| {
        let mut stage = Stage::new(CAPABLE);
        stage.call(terminal(None, None));
        stage.result(ResultView::Terminal {
            title: None,
            output: Some("ok\n".into()),
            exit,
        })
    };
    assert_eq!(
        end(Some(ExitStatus::Code(3))),
        json!({
            "sessionUpdate": "tool_call_update", "toolCallId": ID, "status": "completed",
            "_meta": {
                "terminal_output": { "terminal_id": ID, "data": "ok\n" },
                "terminal_exit": { "terminal_id": ID, "exit_code": 3 },
            },
        })
    );
    let killed = end(Some(ExitStatus::Signal("SIGKILL".into())));
    assert_eq!(
        killed["_meta"]["terminal_exit"],
        json!({ "terminal_id": ID, "signal": "SIGKILL" })
    );
    assert_eq!(end(None)["_meta"]["terminal_exit"], json!({ "terminal_id": ID }));
}

#[test]
fn a_terminals_output_is_fenced_for_other_clients() {
    let mut stage = Stage::new(PLAIN);
    stage.call(terminal(Some("d"), None));
    let last = stage.result(ResultView::Terminal {
        title: Some("done".into()),
        output: Some("a\n```\n\n".into()),
        exit: Some(ExitStatus::Code(0)),
    });
    assert_eq!(last["content"], json!([text("````console\na\n```\n````")]));
    assert_eq!((&last["title"], last.get("_meta")), (&json!("done"), None));
}

#[test]
fn other_clients_are_told_in_words_how_a_command_ended_unless_it_ended_well() {
    let end = |output: &str, exit| {
        let mut stage = Stage::new(PLAIN);
        stage.call(terminal(None, None));
        let (title, output) = (None, Some(output.into()));
        stage.result(ResultView::Terminal { title, output, exit })["content"].clone()
    };
    let cases = [
        ("a\n", Some(ExitStatus::Code(0)), "```console\na\n```"),
        ("a\n", Some(ExitStatus::Code(3)), "```console\na\nexit code 3\n```"),
        (
            "a",
            Some(ExitStatus::Signal("SIGKILL".into())),
            "```console\na\nkilled by SIGKILL\n```",
        ),
        ("", Some(ExitStatus::Code(1)), "```console\nexit code 1\n```"),
        ("a\n", None, "```console\na\n```"),
    ];
    for (output, exit, shown) in cases {
        assert_eq!(end(output, exit), json!([text(shown)]));
    }
}

#[test]
fn a_terminal_result_of_a_card_that_is_none_shows_the_raw_content() {
    let mut stage = Stage::new(CAPABLE);
    stage.call(generic("x"));
    let last = stage.result(ResultView::Terminal {
        title: None,
        output: Some("lost".into()),
        exit: None,
    });
    assert_eq!((&last["content"], last.get("_meta")), (&json!([text("raw")]), None));
}

#[test]
fn a_result_without_a_call_is_a_card_of_its_own() {
    let mut stage = Stage::new(PLAIN);
    let card = only(stage.event(&tool_result("raw", false)));
    assert_eq!(
        card,
        json!({
            "sessionUpdate": "tool_call", "toolCallId": ID, "title": "tool result", "status": "completed",
            "content": [text("raw")],
        })
    );
}

#[test]
fn g81_arguments_that_do_not_fit_show_the_generic_card() {
    for (arguments, shown) in [("{}", json!({})), ("not json", json!("not json"))] {
        let call = only(Stage::new(PLAIN).event(&tool_call("viewed", arguments, false)));
        assert_eq!((&call["title"], &call["rawInput"]), (&json!("viewed"), &shown));
    }
    let unknown = only(Stage::new(PLAIN).event(&tool_call("gone", r#"{"b":2}"#, false)));
    assert_eq!(
        (&unknown["title"], &unknown["rawInput"]),
        (&json!("gone"), &json!({ "b": 2 }))
    );
}

#[test]
fn abandoned_cards_fail_once_and_keep_their_terminal() {
    let mut stage = Stage::new(CAPABLE);
    stage.call(terminal(None, None));
    let last = serde_json::to_value(stage.projector.abandon()).unwrap();
    assert_eq!(
        (&last[0]["status"], last.as_array().unwrap().len()),
        (&json!("failed"), 1)
    );
    assert_eq!(last[0]["content"][0], json!({ "type": "terminal", "terminalId": ID }));
    assert_eq!(stage.projector.abandon(), []);
}
