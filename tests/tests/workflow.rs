//! Workflows end to end: the real daemon, worker and wire; only the model is scripted.

#![cfg(unix)]

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use weft_replay::{Exit, WireClient, WireCommand, WireLimits, t_check};
use weft_tests::program;

/// A scripted agent whose model calls one workflow, `run.js`, and answers every member with `ok`.
fn agent(home: &Path, script: &str, settings: &str) -> WireClient {
    gated(home, script, settings, "")
}

/// The same with one more line in the members' reply.
fn gated(home: &Path, script: &str, settings: &str, member: &str) -> WireClient {
    let config = format!(
        "model = \"scripted/m\"\npermissions.allow = [\"workflow\"]\n{settings}\n[providers.scripted]\nkind = \"scripted\"\nscript = \"model.toml\"\n"
    );
    let model = format!(
        "[[reply]]\nrole = \"main\"\nstep = 1\n[[reply.tool_call]]\nid = \"call-1\"\nname = \"workflow\"\n\
         arguments = {{ script = {{ file = \"run.js\" }} }}\n[[reply]]\nrole = \"main\"\nstep = 2\ntext = \"done\"\n\
         [[reply]]\nrole = \"subagent\"\ntimes = \"any\"\ntext = \"ok\"\n{member}\n"
    );
    let script = format!("export const meta = {{ name: 'end-to-end', description: 'test' }};\n{script}\n");
    for (name, text) in [
        ("config.toml", config.as_str()),
        ("model.toml", &model),
        ("run.js", &script),
    ] {
        std::fs::write(home.join(name), text).expect("written");
    }
    let limits = WireLimits {
        total: Duration::from_secs(60),
        ..WireLimits::default()
    };
    let command = WireCommand {
        limits,
        ..WireCommand::new(program()).arg("acp").env("WEFT_HOME", home)
    };
    WireClient::spawn(&command).expect("the agent starts")
}

async fn open(client: &mut WireClient, cwd: &Path) -> String {
    let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
    client.request("initialize", hello).await.expect("initialized");
    let opened = client
        .request("session/new", json!({"cwd": cwd, "mcpServers": []}))
        .await
        .expect("opened");
    opened["sessionId"].as_str().expect("an id").to_owned()
}

fn prompt(session: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
}

/// The updates of the workflow's card, in order.
fn card(client: &WireClient) -> Vec<Value> {
    let lines = client.rows().iter().filter_map(|row| serde_json::to_value(row).ok());
    let updates = lines.map(|row| row["line"]["params"]["update"].clone());
    updates.filter(|update| update["toolCallId"] == "call-1").collect()
}

fn text(update: &Value) -> &str {
    update["content"][0]["content"]["text"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn g33_the_real_tool_and_worker_show_a_run_from_its_call_to_its_result() {
    let home = tempfile::tempdir().expect("a folder");
    let script = "phase('Scan'); log('two'); await parallel(['a', 'b'].map((x) => () => agent(x))); return 7;";
    let settings = "acp.progress.min_interval = \"0ms\"";
    let mut client = gated(home.path(), script, settings, "gate = \"members\"");
    let session = open(&mut client, home.path()).await;
    let turn = client.send("session/prompt", prompt(&session)).await.expect("sent");
    // Neither member ends before both are seen at work.
    let both = |update: &Value| text(update).contains("Running (2)");
    client.wait_update(&session, "both members", both).await.expect("shown");
    let gate = json!({"gate": "members"});
    client.request("_weft/scripted/gate/open", gate).await.expect("opened");
    let answer = client.response(turn).await.expect("answered").expect("a result");
    assert_eq!(answer["stopReason"], "end_turn");
    let finished = client.finish().await.expect("ended");
    assert_eq!((finished.exit, finished.survivors), (Exit::Code(0), false));
    assert_eq!(t_check(client.rows()), []);

    let card = card(&client);
    let (first, last) = (card.first().expect("a card"), card.last().expect("a card"));
    assert_eq!(
        (&first["sessionUpdate"], &first["title"]),
        (&json!("tool_call"), &json!("workflow: end-to-end"))
    );
    assert_eq!(
        (&last["status"], &last["title"]),
        (&json!("completed"), &json!("workflow: end-to-end"))
    );
    assert!(text(last).contains("Return value:\n7"), "{last}");
    let shown: Vec<&str> = card[1..card.len() - 1].iter().map(text).collect();
    for part in [
        "Phase: Scan",
        "Latest: two",
        "Running (2): a, b",
        "Done: 2 completed, 0 failed, 0 cancelled",
    ] {
        assert!(
            shown.iter().any(|text| text.contains(part)),
            "{part} never shows: {shown:#?}"
        );
    }
    assert!(!shown.last().expect("progress").contains("Running"), "{shown:#?}");
}

#[tokio::test]
async fn g88_a_client_that_does_not_read_gets_the_final_card_and_bounded_progress() {
    let home = tempfile::tempdir().expect("a folder");
    // More reports than the pipe and the outbox can hold.
    let script = "for (let i = 0; i < 60000; i++) phase(`${i} ${'x'.repeat(200)}`);\nreturn 'over';";
    let settings = "acp.progress.min_interval = \"0ms\"\nacp.outbox_bytes = 16384\n\
                    workflow.max_narration_per_second = 1000000";
    let mut client = agent(home.path(), script, settings);
    let session = open(&mut client, home.path()).await;
    // The client reads only while it waits, and it waits for something else: a second session's answer
    // cannot come before the pipe is read, so the reports pile up in between.
    let turn = client.send("session/prompt", prompt(&session)).await.expect("sent");
    let answer = client.response(turn).await.expect("answered").expect("a result");
    assert_eq!(answer["stopReason"], "end_turn");
    client.finish().await.expect("ended");
    assert_eq!(t_check(client.rows()), []);
    let card = card(&client);
    assert!(text(card.last().expect("a card")).contains("over"), "{:?}", card.last());
}

#[tokio::test]
async fn two_runs_after_each_other_leave_nothing_behind() {
    let home = tempfile::tempdir().expect("a folder");
    let mut client = agent(home.path(), "return args ?? null;", "");
    let session = open(&mut client, home.path()).await;
    client
        .request("session/prompt", prompt(&session))
        .await
        .expect("answered");
    let finished = client.finish().await.expect("ended");
    assert_eq!(
        (finished.exit, finished.survivors, finished.stderr.as_str()),
        (Exit::Code(0), false, "")
    );
}
