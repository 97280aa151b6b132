//! The client against agents that are a few lines of shell.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::Exit;

fn shell(script: &str) -> WireCommand {
    WireCommand::new("/bin/sh").arg("-c").arg(script)
}

fn start(script: &str) -> WireClient {
    WireClient::spawn(&shell(script)).expect("a shell starts")
}

fn start_limited(script: &str, change: impl FnOnce(&mut WireLimits)) -> WireClient {
    let mut command = shell(script);
    change(&mut command.limits);
    WireClient::spawn(&command).expect("a shell starts")
}

/// A shell command that writes one line.
fn say(line: &Value) -> String {
    format!("printf '%s\\n' '{line}'\n")
}

fn update(session: &str, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": {"text": text}}})
}

fn question(id: u64, session: &str) -> Value {
    let options = json!([{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]);
    json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission",
        "params": {"sessionId": session, "options": options}})
}

fn result(id: u64, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn sent(client: &WireClient) -> Vec<&Value> {
    client
        .rows()
        .iter()
        .filter_map(|row| match row {
            Row::Line {
                dir: Direction::Sent,
                line,
            } => Some(line),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn responses_are_matched_by_id_and_not_by_order() {
    let script = format!(
        "read a; read b\n{}{}",
        say(&result(1, &json!("b"))),
        say(&result(0, &json!("a")))
    );
    let mut client = start(&script);
    let a = client.send("first", json!({})).await.unwrap();
    let b = client.send("second", json!({})).await.unwrap();
    assert_eq!(client.response(a).await.unwrap(), Ok(json!("a")));
    assert_eq!(client.response(b).await.unwrap(), Ok(json!("b")));
}

#[tokio::test]
async fn an_error_response_is_a_value_of_response_and_an_error_of_request() {
    let error = |id| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no such session"}});
    let mut client = start(&format!("read a; {}read b; {}", say(&error(0)), say(&error(1))));
    let id = client.send("session/prompt", json!({})).await.unwrap();
    assert_eq!(client.response(id).await.unwrap().unwrap_err().code, -32602);
    let refused = client.request("session/prompt", json!({})).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the agent refused session/prompt: no such session (-32602)"
    );
}

#[tokio::test]
async fn rows_hold_both_directions_in_the_order_of_writing_and_looking() {
    let script = format!(
        "{}read a; {}cat",
        say(&update("s", "early")),
        say(&result(0, &json!(null)))
    );
    let mut client = start(&script);
    client.request("ping", json!({})).await.unwrap();
    let dirs: Vec<_> = client
        .rows()
        .iter()
        .map(|row| serde_json::to_value(row).unwrap()["dir"].clone())
        .collect();
    assert_eq!(dirs, [">", "<", "<"]);
}

#[tokio::test]
async fn each_session_has_its_own_place_in_the_stream_of_updates() {
    let script: String = [("a", "1"), ("b", "1"), ("a", "2"), ("b", "2")]
        .map(|(session, text)| say(&update(session, text)))
        .concat();
    let mut client = start(&format!("{script}cat"));
    let any = |_: &Value| true;
    let is_2 = |update: &Value| update["text"] == "2";
    assert_eq!(client.wait_update("b", "2 of b", is_2).await.unwrap()["text"], "2");
    assert_eq!(
        client.wait_update("a", "the first of a", any).await.unwrap()["text"],
        "1"
    );
    assert_eq!(
        client.wait_update("a", "the second of a", any).await.unwrap()["text"],
        "2"
    );
}

#[tokio::test]
async fn an_update_that_was_passed_over_is_not_found_later() {
    let script = [update("a", "1"), update("a", "2")].iter().map(say).collect::<String>();
    let mut client = start(&script);
    client
        .wait_update("a", "2", |update| update["text"] == "2")
        .await
        .unwrap();
    let error = client
        .wait_update("a", "1 of a", |update| update["text"] == "1")
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the agent closed its output while waiting for 1 of a"
    );
}

#[tokio::test]
async fn permission_questions_take_their_answers_from_the_queue_and_are_cancelled_after_it() {
    let script: String = (7..9).map(|id| say(&question(id, "s"))).collect();
    let mut client = start(&format!("{script}cat >/dev/null"));
    client.answer_permissions([PermissionAnswer::RejectOnce]);
    assert_eq!(
        client.next().await.unwrap(),
        Message::Permission { session: "s".into() }
    );
    client.next().await.unwrap();
    let expected = [
        result(7, &json!({"outcome": {"outcome": "selected", "optionId": "no"}})),
        result(8, &json!({"outcome": {"outcome": "cancelled"}})),
    ];
    assert_eq!(sent(&client), expected.iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn an_answer_that_is_not_offered_fails_the_conversation() {
    let mut client = start(&say(&question(1, "s")));
    client.answer_permissions([PermissionAnswer::AllowAlways]);
    let error = client.next().await.unwrap_err().to_string();
    assert_eq!(
        error,
        r#"the agent asked for permission without offering AllowAlways; it offered ["allow_once", "reject_once"]"#
    );
}

#[tokio::test]
async fn a_held_question_is_cancelled_with_its_own_session_only() {
    let script = [question(1, "a"), question(2, "b")].iter().map(say).collect::<String>();
    let mut client = start(&format!("{script}cat >/dev/null"));
    client.answer_permissions([PermissionAnswer::Hold, PermissionAnswer::Hold]);
    client.wait_permission("a").await.unwrap();
    client.wait_permission("b").await.unwrap();
    assert!(sent(&client).is_empty());
    client.cancel("b").await.unwrap();
    let sent = sent(&client);
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0]["method"], "session/cancel");
    assert_eq!(*sent[1], result(2, &json!({"outcome": {"outcome": "cancelled"}})));
}

#[tokio::test]
async fn an_unknown_request_is_answered_with_method_not_found() {
    let request = json!({"jsonrpc": "2.0", "id": "x", "method": "fs/read_text_file", "params": {}});
    let mut client = start(&(say(&request) + "cat >/dev/null"));
    client.next().await.unwrap();
    assert_eq!(sent(&client)[0]["error"]["code"], -32601);
    assert_eq!(sent(&client)[0]["id"], "x");
}

#[tokio::test]
async fn a_question_asked_after_the_end_of_the_input_stays_unanswered() {
    let mut client = start(&format!("cat >/dev/null; {}", say(&question(1, "s"))));
    client.answer_permissions([PermissionAnswer::AllowOnce]);
    assert_eq!(client.finish().await.unwrap().exit, Exit::Code(0));
    assert!(sent(&client).is_empty());
}

#[tokio::test]
async fn a_line_that_is_not_json_ends_the_conversation_and_stays_in_the_record() {
    let mut client = start("echo 'debug: hello'");
    let error = client.next().await.unwrap_err().to_string();
    assert_eq!(error, "the agent wrote a line that is not JSON: debug: hello");
    assert_eq!(
        client.rows(),
        [Row::Line {
            dir: Direction::Received,
            line: json!("debug: hello")
        }]
    );
}

#[tokio::test]
async fn a_last_line_without_its_newline_is_an_error() {
    let mut client = start("printf '{}'");
    let error = client.next().await.unwrap_err().to_string();
    assert_eq!(error, "the agent wrote a line that is without a newline at its end: {}");
}

#[tokio::test]
async fn an_endless_line_and_an_endless_transcript_meet_their_limits() {
    let mut client = start_limited("while :; do printf xxxxxxxxxxxxxxxx; done", |limits| limits.line = 4096);
    let error = client.next().await.unwrap_err().to_string();
    assert_eq!(error, "the agent's line exceeds the limit of 4096 bytes");
    let mut client = start_limited("while :; do echo '{}'; done", |limits| limits.transcript = 100);
    let error = client
        .wait_update("s", "anything", |_| true)
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(error, "the agent's transcript exceeds the limit of 100 bytes");
}

#[tokio::test]
async fn a_silent_agent_meets_the_total_limit_and_the_error_names_what_was_awaited() {
    let mut client = start_limited("cat >/dev/null", |limits| limits.total = Duration::from_millis(50));
    let error = client.request("initialize", json!({})).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "gave up after 0.05 s while waiting for the response to initialize"
    );
}

#[tokio::test]
async fn an_update_is_not_awaited_long_once_everything_was_answered() {
    let script = format!("read a; {}cat >/dev/null", say(&result(0, &json!({}))));
    let mut client = start_limited(&script, |limits| limits.idle = Duration::from_millis(50));
    client.request("session/prompt", json!({})).await.unwrap();
    let error = client
        .wait_update("a", "a card", |_| true)
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "every request was answered, and no update came in 0.05 s while waiting for a card"
    );
}

#[tokio::test]
async fn an_update_is_awaited_while_a_request_is_open() {
    let mut client = start_limited("cat >/dev/null", |limits| {
        limits.idle = Duration::from_millis(1);
        limits.total = Duration::from_millis(50);
    });
    client.send("session/prompt", json!({})).await.unwrap();
    let error = client
        .wait_update("a", "a card", |_| true)
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(error, "gave up after 0.05 s while waiting for a card");
}

#[tokio::test]
async fn an_agent_that_reads_nothing_meets_the_total_limit() {
    let mut client = start_limited("exec sleep 60", |limits| limits.total = Duration::from_millis(50));
    let error = client
        .notify("big", json!("x".repeat(1 << 20)))
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(error, "gave up after 0.05 s while waiting for the agent to read big");
}

#[tokio::test]
async fn an_agent_that_dies_is_reported_with_its_last_words() {
    let mut client = start("echo 'config.toml: bad key' >&2; read a; exit 3");
    let error = client.request("initialize", json!({})).await.unwrap_err();
    let expected = "the agent closed its output while waiting for the response to initialize; its stderr ends:\n\
        config.toml: bad key";
    assert_eq!(error.to_string(), expected);
    let finished = client.finish().await.unwrap();
    assert_eq!(finished.exit, Exit::Code(3));
    assert_eq!(finished.stderr, "config.toml: bad key\n");
}

#[tokio::test]
async fn stderr_is_kept_up_to_its_limit_from_the_end() {
    let mut client = start_limited(
        "i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done",
        |limits| {
            limits.stderr = 20;
        },
    );
    assert_eq!(client.finish().await.unwrap().stderr, "line 2998\nline 2999\n");
}

#[tokio::test]
async fn finishing_reads_what_is_still_said_and_records_the_exit() {
    let mut client = start(&format!("cat >/dev/null; {}exit 5", say(&update("s", "bye"))));
    let finished = client.finish().await.unwrap();
    assert_eq!((finished.exit, finished.survivors), (Exit::Code(5), false));
    let rows: Vec<_> = client
        .rows()
        .iter()
        .map(|row| serde_json::to_value(row).unwrap())
        .collect();
    assert_eq!(rows[0]["line"], update("s", "bye"));
    assert_eq!(rows[1], json!({"exit": {"code": 5}}));
}

#[tokio::test]
async fn an_agent_that_ignores_the_end_of_its_input_is_killed_after_its_grace() {
    let script = "trap '' TERM INT HUP; while :; do sleep 60; done";
    let mut client = start_limited(script, |limits| limits.exit = Duration::from_millis(50));
    let error = client.finish().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the agent did not exit within 0.05 s of the end of its input and was killed"
    );
}

/// A shell command that leaves a process behind which holds a FIFO open for as long as it lives, and
/// says so when it does.
fn leave_holder(fifo: &Path) -> String {
    let fifo = fifo.display();
    let ready = say(&update("s", "ready"));
    format!("mkfifo '{fifo}'\n(exec 9<>'{fifo}'\n{ready}exec sleep 60 >/dev/null 2>&1 </dev/null) &\n")
}

/// Opens the FIFO of a live holder; what is returned ends when the last holder is dead.
fn open_fifo(fifo: &Path) -> std::fs::File {
    std::fs::File::open(fifo).expect("the holder made it")
}

async fn read_to_end(fifo: std::fs::File) -> String {
    let reading = tokio::task::spawn_blocking(move || std::io::read_to_string(fifo));
    let read = tokio::time::timeout(Duration::from_secs(20), reading).await;
    read.expect("the holder dies").unwrap().unwrap()
}

#[tokio::test]
async fn dropping_the_client_kills_the_whole_process_group() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    let mut client = start(&format!("{}cat", leave_holder(&path)));
    client.next().await.unwrap();
    let fifo = open_fifo(&path);
    drop(client);
    assert_eq!(read_to_end(fifo).await, "");
}

#[tokio::test]
async fn finishing_kills_and_reports_what_outlived_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    let mut client = start(&format!("{}cat", leave_holder(&path)));
    client.next().await.unwrap();
    let fifo = open_fifo(&path);
    assert!(client.finish().await.unwrap().survivors);
    assert_eq!(read_to_end(fifo).await, "");
}
