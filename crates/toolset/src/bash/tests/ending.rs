//! How commands end: by themselves, in time, on a cancel; and that nothing of them is left.

use weft_tools::ErrorCode;

use super::*;

/// Ignores SIGTERM, as does its child, and both hold the pipe.
const STUBBORN: &str = "trap '' TERM; exec 3>held; sh -c 'while :; do sleep 1; done' & echo ready; wait";

#[tokio::test]
async fn a_cancel_ends_a_group_that_ignores_being_asked_and_keeps_the_output() {
    let mut stage = Stage::new(BashConfig::default());
    let held = stage.pipe("held");
    let running = stage.start(&json!({ "command": STUBBORN }));
    stage.until_shown("ready").await;
    let cancelled = Instant::now();
    running.cancel.cancel();
    let result = running.result().await;
    assert!(
        cancelled.elapsed() < Duration::from_secs(4),
        "{:?}",
        cancelled.elapsed()
    );
    let error = result.outcome.as_ref().expect_err("a cancelled call has failed");
    assert_eq!(error.code(), Some(ErrorCode::Aborted));
    assert_eq!(
        text(&result),
        "Error: the command was cancelled and killed; it had printed:\nready\n"
    );
    assert_eq!(released(held).await, "");
}

#[tokio::test]
async fn a_cancel_lets_a_command_clean_up_first() {
    let mut stage = Stage::new(BashConfig::default());
    let running = stage.start(&json!({ "command": "trap 'echo cleaned; exit 1' TERM; echo ready; sleep 300 & wait" }));
    stage.until_shown("ready").await;
    running.cancel.cancel();
    assert!(text(&running.result().await).ends_with("ready\ncleaned\n"));
}

#[tokio::test]
async fn the_last_words_of_a_cancelled_shell_are_kept() {
    let mut stage = Stage::new(BashConfig::default());
    let running = stage.start(&json!({ "command": "trap 'echo last; exit 1' TERM; echo ready; while :; do :; done" }));
    stage.until_shown("ready").await;
    running.cancel.cancel();
    assert!(text(&running.result().await).ends_with("ready\nlast\n"));
}

#[tokio::test]
async fn a_timeout_ends_the_group_and_keeps_the_output() {
    let stage = Stage::new(BashConfig::default());
    let held = stage.pipe("held");
    let result = stage
        .start(&json!({ "command": STUBBORN, "timeout_ms": 1500 }))
        .result()
        .await;
    let error = result.outcome.as_ref().expect_err("a call out of time has failed");
    assert_eq!(error.code(), Some(ErrorCode::ToolTimeout));
    let expected = "Error: the command was killed: it was still running after 1500 ms (timeout_ms allows up to 600000); \
                    it had printed:\nready\n";
    assert_eq!(text(&result), expected);
    assert_eq!(released(held).await, "");
}

#[tokio::test]
async fn endless_output_is_read_and_ended_in_time() {
    let stage = Stage::new(BashConfig::default());
    let result = stage
        .start(&json!({ "command": "yes", "timeout_ms": 1000 }))
        .result()
        .await;
    assert!(result.is_error());
    let text = text(&result);
    assert!(text.contains(" left out; "), "{}", text.len());
    assert!(text.len() < 31_000);
}

#[tokio::test]
async fn a_cancel_reaches_a_command_that_floods() {
    let mut stage = Stage::new(BashConfig::default());
    let running = stage.start(&json!({ "command": "yes" }));
    stage.until_shown("y").await;
    running.cancel.cancel();
    assert!(running.result().await.is_error());
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_ends_with_the_call() {
    for leave in [
        "sleep 300 &",
        "nohup sleep 300 > /dev/null 2>&1 &",
        "sleep 300 > /dev/null &",
        "(trap '' HUP TERM; sleep 300; true) &",
    ] {
        let stage = Stage::new(BashConfig::default());
        let held = stage.pipe("held");
        let result = stage.run(&format!("exec 3>held; {leave} echo started")).await;
        assert_eq!(text(&result), "started\nexit code 0", "{leave}");
        assert_eq!(released(held).await, "", "{leave}");
    }
}

#[tokio::test]
async fn a_call_does_not_wait_for_what_left_its_group() {
    let stage = Stage::new(BashConfig::default());
    let late = stage.pipe("late");
    let held = stage.pipe("held");
    let result = stage
        .run("mkfifo go; setsid sh -c 'exec 3>held; read line < go; echo late > late' & echo started")
        .await;
    assert_eq!(text(&result), "started\nexit code 0");
    // It lives on: it still answers.
    let go = stage.path().join("go");
    let write = tokio::task::spawn_blocking(move || std::fs::write(go, "now\n"));
    tokio::time::timeout(PATIENCE, write)
        .await
        .expect("it reads")
        .expect("no panic")
        .expect("it is there");
    assert_eq!(released(held).await, "");
    assert_eq!(released(late).await, "late\n");
}

#[tokio::test]
async fn dropping_a_running_command_kills_its_group() {
    let stage = Stage::new(BashConfig::default());
    let held = stage.pipe("held");
    let (group, mut output) = super::super::start::start(STUBBORN, &stage.launch()).expect("it starts");
    let mut ready = [0; 6];
    output.read_exact(&mut ready).await.expect("it says when it is ready");
    drop(group);
    assert_eq!(released(held).await, "");
}
