//! Files as the client's editor has them, lent to tools.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use weft_acp::{AcpOptions, FileTimeout};
use weft_tools::{ClientFilesHandle, ToolError};

use crate::support::{Client, TestTool, World};

/// Calls the tool, and then says something.
const SCRIPT: &str = "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c\"\nname = \"files\"\n\
                      [[reply]]\nstep = 2\ntext = \"done\"\n";

/// Reads `/a` and writes what it got, turned round, to `/b`, as far as the client offers that.
fn files() -> TestTool {
    TestTool::new("files", |execution| async move {
        let Some(files) = execution.extension::<ClientFilesHandle>() else {
            return Ok(json!("none lent"));
        };
        let failed = |error: weft_tools::ClientFileError| ToolError::new(error.to_string());
        let mut text = "ab".to_owned();
        if files.0.can_read() {
            text = files.0.read(Path::new("/a")).await.map_err(failed)?;
        }
        if files.0.can_write() {
            let turned = text.chars().rev().collect();
            files.0.write(Path::new("/b"), turned).await.map_err(failed)?;
        }
        Ok(json!(text))
    })
}

async fn start(options: AcpOptions, fs: Value) -> (Client, String) {
    let mut client = Client::connect(options);
    client.initialize(json!({ "fs": fs })).await;
    let session = client.session().await;
    (client, session)
}

fn options() -> AcpOptions {
    World::new(SCRIPT).tool(files()).options()
}

impl Client {
    /// Waits for a request of the agent; gives its id and its params.
    async fn asked(&mut self, method: &str) -> (Value, Value) {
        let mut message = self.until(|message| message["method"] == method).await;
        (message["id"].take(), message["params"].take())
    }

    /// How the one call of the turn ended: its status and all that its card says.
    fn card(&mut self) -> (Value, String) {
        let end = self
            .updates()
            .into_iter()
            .rev()
            .find(|update| !update["status"].is_null());
        let end = end.expect("a card that ended");
        (end["status"].clone(), end["content"].to_string())
    }
}

#[tokio::test]
async fn tools_read_and_write_through_the_client() {
    let (mut client, session) = start(options(), json!({ "readTextFile": true, "writeTextFile": true })).await;
    let prompt = client.start_prompt(&session, "go");
    let (id, params) = client.asked("fs/read_text_file").await;
    assert_eq!(params, json!({ "sessionId": session, "path": "/a" }));
    client.send(json!({ "id": id, "result": { "content": "xyz" } }));
    let (id, params) = client.asked("fs/write_text_file").await;
    assert_eq!(params, json!({ "sessionId": session, "path": "/b", "content": "zyx" }));
    client.send(json!({ "id": id, "result": null }));
    assert_eq!(client.response(prompt).await["result"]["stopReason"], "end_turn");
    let (status, text) = client.card();
    assert!(status == "completed" && text.contains("xyz"), "{status} {text}");
    client.end().await;
}

#[tokio::test]
async fn only_what_the_client_offers_is_lent() {
    let (mut client, session) = start(options(), json!({})).await;
    client.prompt(&session, "go").await;
    assert!(client.card().1.contains("none lent"));
    client.end().await;

    let (mut client, session) = start(options(), json!({ "writeTextFile": true })).await;
    let prompt = client.start_prompt(&session, "go");
    let (id, params) = client.asked("fs/write_text_file").await;
    assert_eq!(params["content"], "ba");
    client.send(json!({ "id": id, "result": {} }));
    client.response(prompt).await;
    client.end().await;
}

#[tokio::test]
async fn what_the_client_answers_instead_is_told() {
    for (code, expected) in [
        (-32002, "no such file"),
        (-32603, "the editor failed: the buffer is locked"),
    ] {
        let (mut client, session) = start(options(), json!({ "readTextFile": true })).await;
        let prompt = client.start_prompt(&session, "go");
        let (id, _) = client.asked("fs/read_text_file").await;
        client.send(json!({ "id": id, "error": { "code": code, "message": "the buffer is locked" } }));
        client.response(prompt).await;
        let (status, text) = client.card();
        assert!(status == "failed" && text.contains(expected), "{text}");
        client.end().await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_answer_is_not_waited_for() {
    let options = AcpOptions {
        file_timeout: FileTimeout::new(Duration::from_millis(100)).unwrap(),
        ..options()
    };
    let (mut client, session) = start(options, json!({ "readTextFile": true })).await;
    let prompt = client.start_prompt(&session, "go");
    let (id, _) = client.asked("fs/read_text_file").await;
    let withdrawn = client.until(|message| message["method"] == "$/cancel_request").await;
    assert_eq!(withdrawn["params"]["requestId"], id);
    client.response(prompt).await;
    let (status, text) = client.card();
    assert!(status == "failed" && text.contains("acp.file_timeout"), "{text}");
    client.end().await;
}

#[tokio::test]
async fn a_cancel_takes_the_request_back() {
    let (mut client, session) = start(options(), json!({ "readTextFile": true })).await;
    let prompt = client.start_prompt(&session, "go");
    let (id, _) = client.asked("fs/read_text_file").await;
    client.cancel(&session);
    let answer = client.response(prompt).await;
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    let withdrawn = client
        .take()
        .into_iter()
        .find(|message| message["method"] == "$/cancel_request");
    assert_eq!(
        withdrawn.expect("withdrawn before the turn ended")["params"]["requestId"],
        id
    );
    client.end().await;
}
