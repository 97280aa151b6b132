use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use weft_workflow::WorkflowMeta;

use super::*;

fn info() -> RunInfo {
    let meta = Arc::new(WorkflowMeta {
        name: "demo".into(),
        description: "d".into(),
        ..WorkflowMeta::default()
    });
    RunInfo {
        id: "run-1".into(),
        meta,
    }
}

fn completed(value: &Value, agents: u64) -> RunResult {
    RunResult::completed(to_raw_value(value).expect("JSON"), agents)
}

fn rendered(result: &RunResult, limit: usize) -> String {
    render(
        &of_result(&info(), result, &Kept::default(), limit).expect("completed"),
        limit,
    )
}

fn error(result: &RunResult) -> String {
    of_result(&info(), result, &Kept::default(), 50)
        .expect_err("not completed")
        .message()
        .to_owned()
}

#[test]
fn a_success_names_workflow_agents_run_and_value() {
    let text = "workflow \"demo\" completed (1 agent).\nrun id: run-1\nReturn value:\n{\n  \"a\": [\n    1\n  ]\n}";
    assert_eq!(rendered(&completed(&json!({ "a": [1] }), 1), 1_000), text);
    assert!(rendered(&completed(&json!(null), 0), 1_000).starts_with("workflow \"demo\" completed (0 agents)."));
    assert!(rendered(&completed(&json!(null), 2), 1_000).ends_with("(2 agents).\nrun id: run-1\nReturn value:\nnull"));
}

#[test]
fn a_name_is_told_on_one_line_and_in_bounded_length() {
    let mut info = info();
    info.meta = Arc::new(WorkflowMeta {
        name: format!("a\u{1b}[2J\n# {}", "x".repeat(1_000_000)),
        ..WorkflowMeta::clone(&info.meta)
    });
    let outcome = of_result(&info, &completed(&json!(1), 0), &Kept::default(), 50).expect("completed");
    let text = render(&outcome, 50);
    assert!(text.starts_with("workflow \"a\\u{1b}[2J\\n# xxx"), "{text:.60}");
    assert!(text.chars().count() < 400, "{} characters", text.chars().count());
}

#[test]
fn notes_follow_and_are_bounded() {
    let mut result = completed(&json!("v"), 0);
    result.notes = vec!["one\ntwo".into(), "x".repeat(600)];
    let text = rendered(&result, 1_000);
    let (value, notes) = text.split_once("\nNotes:\n").expect("notes");
    assert!(value.ends_with("\"v\""));
    assert_eq!(
        notes.lines().map(|line| line.chars().count()).collect::<Vec<_>>(),
        [10, 502]
    );
    result.notes = (0..30).map(|n| n.to_string()).collect();
    assert!(rendered(&result, 1_000).ends_with("\n- 19\n- … and 10 more"));
    result.stop = RunStop::Error;
    result.error = Some("e".into());
    assert!(error(&result).starts_with("workflow run failed: e\nrun id: run-1\nNotes:\n- 0\n"));
}

#[test]
fn g84_a_long_value_is_cut_with_the_number_of_characters_left_out() {
    let value = json!("z".repeat(60_000 - 2));
    let outcome = of_result(&info(), &completed(&value, 0), &Kept::default(), 50_000).expect("completed");
    assert_eq!(outcome["result"], value, "the canonical value stays whole");
    let text = render(&outcome, 50_000);
    let shown = text.split_once("Return value:\n").expect("a value").1;
    let (kept, more) = shown.split_once('\n').expect("a cut");
    assert_eq!(
        (kept.chars().count(), more),
        (50_000, "… 10000 more characters not shown")
    );
    let fits = render(&outcome, 60_000);
    assert!(fits.ends_with("z\""), "the limit itself is not cut");
    assert!(render(&outcome, 59_999).ends_with("\n… 1 more character not shown"));
}

#[test]
fn g85_the_cut_never_falls_inside_of_a_character() {
    let outcome = of_result(&info(), &completed(&json!("é🚀".repeat(20)), 0), &Kept::default(), 1).expect("completed");
    for limit in 1..=42 {
        let text = render(&outcome, limit);
        let shown = text.split_once("Return value:\n").expect("a value").1;
        let kept = shown.lines().next().expect("a line");
        assert_eq!(kept.chars().count(), limit);
    }
}

#[test]
fn failures_name_their_reason_and_their_run() {
    assert_eq!(
        error(&RunResult::failed("boom", 3)),
        "workflow run failed: boom\nrun id: run-1"
    );
    assert_eq!(
        error(&RunResult::failed("", 3)),
        "workflow run failed: unknown error\nrun id: run-1"
    );
    let cut = error(&RunResult::failed("é".repeat(60), 3));
    assert_eq!(
        cut,
        format!(
            "workflow run failed: {}\n… 10 more characters not shown\nrun id: run-1",
            "é".repeat(50)
        )
    );
    let cancelled = error(&RunResult::cancelled("by\nme", 3));
    assert_eq!(cancelled, "workflow run was cancelled (by\\nme)\nrun id: run-1");
    assert_eq!(
        error(&RunResult::cancelled("", 3)),
        "workflow run was cancelled\nrun id: run-1"
    );
    let mut foreign = RunResult::cancelled("", 3);
    foreign.error = Some("stopped".into());
    assert_eq!(error(&foreign), "workflow run was cancelled (stopped)\nrun id: run-1");
}

#[test]
fn a_value_that_is_too_deep_to_read_is_said_to_be() {
    let deep = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
    let value = RawValue::from_string(deep).expect("JSON");
    let error = of_result(&info(), &RunResult::completed(value, 0), &Kept::default(), 1_000).expect_err("too deep");
    let text = error.message();
    assert!(
        text.starts_with("workflow run failed: the script finished, but its return value cannot"),
        "{text}"
    );
    assert!(
        text.contains("recursion limit") && text.ends_with("run id: run-1"),
        "{text}"
    );
}

#[test]
fn a_run_that_returns_nothing_tells_what_its_finished_members_did() {
    let kept = Kept::default().and(Some("1 agent had finished".into()), ["note".to_owned()].into_iter());
    let failed = of_result(&info(), &RunResult::failed("boom", 3), &kept, 50).expect_err("failed");
    let rest = "\nrun id: run-1\nNotes:\n- note\n1 agent had finished";
    assert_eq!(failed.message(), format!("workflow run failed: boom{rest}"));
    let cancelled = cancelled(&info().id, "", &[], &kept);
    assert_eq!(cancelled.message(), format!("workflow run was cancelled{rest}"));
    let outcome = of_result(&info(), &completed(&json!(1), 1), &kept, 50).expect("completed");
    assert!(
        !render(&outcome, 50).contains("had finished"),
        "it returned all it wanted to"
    );
}

#[test]
fn a_limit_that_ended_the_run_is_named() {
    let mut result = RunResult::failed("too many tokens", 3);
    result.exhausted = Some(weft_workflow::Limit::Tokens);
    assert_eq!(
        error(&result),
        "workflow run ended by its limit on tokens: too many tokens\nrun id: run-1"
    );
}
