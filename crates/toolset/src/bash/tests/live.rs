//! What the card of a running command shows.

use super::*;

#[tokio::test]
async fn output_is_shown_while_the_command_runs() {
    let mut stage = Stage::new(BashConfig::default());
    let running = stage
        .start(&json!({ "command": "mkfifo go; echo 'open http://127.0.0.1:1/code'; read line < go; echo $line" }));
    let shown = stage.until_shown("code").await;
    assert_eq!(shown, "```console\nopen http://127.0.0.1:1/code\n```");
    assert!(!running.result.is_finished());
    let go = stage.path().join("go");
    let write = tokio::task::spawn_blocking(move || std::fs::write(go, "on\n"));
    write.await.expect("no panic").expect("the command reads");
    assert!(text(&running.result().await).ends_with("on\nexit code 0"));
}

#[tokio::test]
async fn reports_keep_their_distance_and_the_last_state_is_shown() {
    let config = BashConfig {
        report_interval: Duration::from_millis(200),
        ..BashConfig::default()
    };
    let mut stage = Stage::new(config);
    let command = "mkfifo go; for i in $(seq 2000); do echo line $i; done; read line < go";
    let started = Instant::now();
    let running = stage.start(&json!({ "command": command }));
    let mut reports = 0;
    loop {
        let shown = tokio::time::timeout(PATIENCE, stage.shown.recv())
            .await
            .expect("it is shown")
            .expect("it lives");
        reports += 1;
        if shown.contains("line 2000\n```") {
            break;
        }
    }
    let most = 1 + started.elapsed().as_millis() / 200 + 1;
    assert!(reports <= most, "{reports} reports in {:?}", started.elapsed());
    running.cancel.cancel();
    running.result().await;
}

#[tokio::test]
async fn only_the_latest_output_is_shown_in_a_fence_that_holds() {
    let config = BashConfig {
        live_tail_bytes: 256,
        report_interval: Duration::ZERO,
        ..BashConfig::default()
    };
    let mut stage = Stage::new(config);
    let running = stage.start(&json!({ "command": "mkfifo go; seq 1000; echo '```'; echo end; read line < go" }));
    let shown = stage.until_shown("end").await;
    assert!(
        shown.starts_with("````console\n[… earlier output left out …]\n9"),
        "{shown}"
    );
    assert!(shown.ends_with("\n1000\n```\nend\n````"), "{shown}");
    assert!(shown.len() < 400);
    running.cancel.cancel();
    running.result().await;
}

#[tokio::test]
async fn a_silent_command_reports_nothing() {
    let mut stage = Stage::new(BashConfig::default());
    stage.run("true").await;
    assert!(stage.shown.try_recv().is_err());
}
