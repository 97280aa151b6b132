//! What a command sees, and what the model and the card see of it.

use weft_tools::{CallView, ExitStatus, ResultForView, ResultView, Tool};

use super::*;

fn view(stage: &Stage, result: &ToolResult) -> ResultView {
    let shown = ResultForView {
        content: &result.content,
        is_error: result.is_error(),
        meta: result.meta.as_ref(),
    };
    stage.registry.present_result("bash", r#"{"command":"x"}"#, shown)
}

#[tokio::test]
async fn a_command_runs_in_the_folder_of_its_session() {
    let stage = Stage::new(BashConfig::default());
    let folder = stage.path().canonicalize().expect("the folder exists");
    let result = stage.run("pwd -P").await;
    assert_eq!(text(&result), format!("{}\nexit code 0", folder.display()));
}

#[tokio::test]
async fn output_and_errors_keep_the_order_in_which_they_were_written() {
    let stage = Stage::new(BashConfig::default());
    let result = stage.run("echo 1; echo 2 >&2; echo 3; echo 4 >&2").await;
    assert_eq!(text(&result), "1\n2\n3\n4\nexit code 0");
}

#[tokio::test]
async fn a_command_that_fails_is_a_result_with_its_exit_code() {
    let stage = Stage::new(BashConfig::default());
    let result = stage.run("printf oops >&2; exit 3").await;
    assert!(!result.is_error());
    assert_eq!(text(&result), "oops\nexit code 3");
    let expected = ResultView::Terminal {
        title: None,
        output: Some("oops\n".into()),
        exit: Some(ExitStatus::Code(3)),
    };
    assert_eq!(view(&stage, &result), expected);
}

#[tokio::test]
async fn the_card_of_a_success_shows_the_output_alone() {
    let stage = Stage::new(BashConfig::default());
    let result = stage.run("echo fine").await;
    let expected = ResultView::Terminal {
        title: None,
        output: Some("fine\n".into()),
        exit: Some(ExitStatus::Code(0)),
    };
    assert_eq!(view(&stage, &result), expected);
}

#[tokio::test]
async fn a_command_that_a_signal_ended_says_which() {
    let stage = Stage::new(BashConfig::default());
    let result = stage.run("kill -KILL $$").await;
    assert_eq!(text(&result), "killed by SIGKILL");
    let ResultView::Terminal { exit, .. } = view(&stage, &result) else {
        panic!("the card is a terminal")
    };
    assert_eq!(exit, Some(ExitStatus::Signal("SIGKILL".into())));
}

#[test]
fn a_call_is_shown_as_a_terminal_with_the_command_as_its_title() {
    let stage = Stage::new(BashConfig::default());
    let expected = CallView::Terminal {
        title: "cargo test".into(),
        description: None,
        cwd: None,
    };
    assert_eq!(
        stage.registry.present_call("bash", r#"{"command":"cargo test"}"#),
        expected
    );
}

#[test]
fn a_call_is_a_risk_and_runs_alone() {
    let tool = Bash::new(BashConfig::default()).expect("the defaults are within their bounds");
    let arguments = json!({ "command": "true" });
    assert!(tool.access(&arguments, &Extensions::new()).is_risky());
    assert!(!tool.is_concurrency_safe(&arguments));
}

#[tokio::test]
async fn input_is_empty_and_not_the_programs_own() {
    let stage = Stage::new(BashConfig::default());
    assert_eq!(
        text(&stage.run("cat; readlink /dev/fd/0").await),
        "/dev/null\nexit code 0"
    );
}

#[tokio::test]
async fn sec_08_hidden_names_are_not_in_the_environment() {
    // The one variable that is certain to be there: hidden, it is replaced by the default.
    let environment = crate::Environment::new(&["HOME".into(), "PATH".into()], &[]).expect("these are names");
    let config = BashConfig {
        environment,
        ..BashConfig::default()
    };
    let hidden = Stage::new(config).run("echo $PATH; export -p | grep -c ' HOME='").await;
    assert!(text(&hidden).starts_with("/usr/local/sbin:"), "{}", text(&hidden));
    assert!(text(&hidden).contains("\n0\n"), "{}", text(&hidden));
    let open = Stage::new(BashConfig::default())
        .run("export -p | grep -c ' PATH='")
        .await;
    assert_eq!(text(&open), "1\nexit code 0");
}

#[tokio::test]
async fn a_command_that_looks_like_an_option_is_a_command() {
    let result = Stage::new(BashConfig::default()).run("-x").await;
    assert!(text(&result).ends_with("exit code 127"), "{}", text(&result));
}

#[tokio::test]
async fn a_folder_that_is_gone_is_named() {
    let stage = Stage::new(BashConfig::default());
    let gone = stage.path().join("gone");
    let result = stage
        .start_in(gone.clone(), &json!({ "command": "echo hi" }))
        .result()
        .await;
    let expected = format!(
        "Error: failed to run the command in {}: the folder does not exist",
        gone.display()
    );
    assert_eq!(text(&result), expected);
    let file = stage.path().join("file");
    std::fs::write(&file, "").expect("a file can be written");
    let result = stage.start_in(file, &json!({ "command": "echo hi" })).result().await;
    assert!(text(&result).ends_with("file: it is not a folder"), "{}", text(&result));
}

#[tokio::test]
async fn a_command_with_a_nul_is_refused_with_the_reason() {
    let result = Stage::new(BashConfig::default()).run("echo \0").await;
    assert!(result.is_error());
    assert!(text(&result).contains("nul byte"), "{}", text(&result));
}

#[tokio::test]
async fn a_timeout_beyond_the_limit_is_refused() {
    let stage = Stage::new(BashConfig::default());
    let result = stage
        .start(&json!({ "command": "true", "timeout_ms": 600_001 }))
        .result()
        .await;
    assert!(result.is_error());
    assert!(text(&result).contains("600000"), "{}", text(&result));
}

#[tokio::test]
async fn output_that_is_no_text_is_made_safe() {
    let stage = Stage::new(BashConfig::default());
    let result = stage
        .run(r"printf 'plain\n\377caf\351\nnul:\000:\n\033[31mred\033[0m\r\n'")
        .await;
    assert_eq!(text(&result), "plain\n\u{fffd}caf\u{fffd}\nnul::\nred\nexit code 0");
}

#[tokio::test]
async fn long_output_keeps_its_beginning_and_its_end() {
    let config = BashConfig {
        max_output_chars: 1000,
        ..BashConfig::default()
    };
    let stage = Stage::new(config);
    let result = stage.run("seq 100000").await;
    let text = text(&result);
    assert!(text.starts_with("1\n2\n3\n"), "{text}");
    assert!(text.ends_with("\n99999\n100000\nexit code 0"), "{text}");
    assert!(text.contains("[… 587895 characters in "), "{text}");
    assert!(text.chars().count() < 1200);
    let (_, file) = text
        .split_once("left out; the whole output is in ")
        .expect("a file is named");
    let file = file.split(" …]").next().expect("it ends");
    let whole = std::fs::read_to_string(file).expect("it is there for as long as the agent");
    assert_eq!(whole.lines().count(), 100_000);
}
