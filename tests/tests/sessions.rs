//! Sessions of several processes that share one home: the real program, and only the model is scripted.

#![cfg(unix)]

#[path = "sessions/damaged.rs"]
mod damaged;
#[path = "support/home.rs"]
mod home;
#[path = "sessions/unwritable.rs"]
mod unwritable;

use std::time::Duration;

use home::{Home, Said, open, prompt};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;
use weft_replay::{WireClient, WireError, t_check};

/// Longer than any wait of a test that passes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A workflow of two members, each held at a gate, and a turn without one.
const MODEL: &str = r#"
[[reply]]
role = "main"
prompt = "^run"
step = 1
[[reply.tool_call]]
id = "call-1"
name = "workflow"
arguments = { meta = { name = "two", description = "Two members" }, script = { file = "run.js" } }

[[reply]]
label = "first"
gate = "first"
text = "one"

[[reply]]
label = "second"
gate = "second"
text = "two"

[[reply]]
role = "main"
prompt = "^plain"
times = "any"
text = "All right."
"#;

const RUN: &str = "return [await agent('1', { label: 'first' }), await agent('2', { label: 'second' })];";

fn card_says(text: &str) -> impl Fn(&Value) -> bool {
    move |update| update["toolCallId"] == "call-1" && update["content"].to_string().contains(text)
}

async fn gate(client: &mut WireClient, what: &str, name: &str) {
    let params = json!({"gate": name});
    client
        .request(&format!("_weft/scripted/gate/{what}"), params)
        .await
        .expect("a gate of the script");
}

/// An agent in the middle of a workflow, whose first member is held, and its session.
async fn running(home: &Home) -> (WireClient, String) {
    let mut client = home.agent().await.expect("an agent");
    let session = open(&mut client, home).await.expect("a session");
    prompt(&mut client, &session, "run").await.expect("sent");
    client
        .wait_update(&session, "the first member", card_says("first"))
        .await
        .expect("shown");
    gate(&mut client, "wait", "first").await;
    (client, session)
}

/// Somebody who follows a session.
struct Follower {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Follower {
    fn start(home: &Home, session: &str) -> Self {
        let mut process = home
            .weft(&["sessions", "show", "--follow", "--json", session])
            .expect("it starts");
        let lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        Self { process, lines }
    }

    /// Reads to the first event of a kind.
    async fn until(&mut self, kind: &str) -> Value {
        loop {
            let line = timeout(PATIENCE, self.lines.next_line())
                .await
                .expect("it comes in time")
                .expect("a pipe");
            let line = line.unwrap_or_else(|| panic!("the end came before {kind}"));
            let event: Value = serde_json::from_str(&line).expect("JSON");
            if event["type"] == kind {
                return event;
            }
        }
    }
}

/// The row of a session in a list.
async fn listed(home: &Home, session: &str) -> Value {
    let said = home.say(&["sessions", "list", "--json"]).await.expect("it runs");
    let list: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let rows = list["sessions"].as_array().expect("a list");
    rows.iter()
        .find(|row| row["id"] == session)
        .cloned()
        .unwrap_or_else(|| panic!("{session} is not in {list}"))
}

/// Checks that a request was refused with an error that says who has the session.
#[track_caller]
fn refused_for(pid: u32, outcome: Result<Value, WireError>) {
    let Err(WireError::Refused { error, .. }) = outcome else {
        panic!("not refused: {outcome:?}");
    };
    let text = error.to_string();
    assert!(text.contains(&pid.to_string()) && text.contains("weft acp"), "{text}");
}

fn kill(client: &WireClient) {
    let pid = i32::try_from(client.pid()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process has an id"), Signal::KILL).expect("it lives");
}

#[tokio::test]
async fn of_two_agents_one_runs_and_the_other_lists_and_refuses_to_write() {
    let home = Home::new(MODEL, &[("run.js", RUN)]);
    let (mut first, session) = running(&home).await;
    assert_eq!(listed(&home, &session).await["running"], true);

    let mut second = home.agent().await.expect("an agent");
    let list = second.request("session/list", json!({})).await.expect("a list");
    assert_eq!(list["sessions"][0]["sessionId"], *session);
    refused_for(first.pid(), second.request("session/load", home.load(&session)).await);
    refused_for(first.pid(), second.request("session/resume", home.load(&session)).await);
    let of_session = json!({"sessionId": session});
    refused_for(first.pid(), second.request("session/delete", of_session).await);
    let Said { status, err, .. } = home
        .say(&["sessions", "delete", "--yes", &session])
        .await
        .expect("it runs");
    assert!(!status.success() && err.contains(&first.pid().to_string()), "{err}");

    // The one that runs has not noticed.
    gate(&mut first, "open", "first").await;
    first
        .wait_update(&session, "the second member", card_says("second"))
        .await
        .expect("shown");

    kill(&first);
    first.finish().await.expect("dead");
    assert_eq!(listed(&home, &session).await["running"], false);
    second
        .request("session/load", home.load(&session))
        .await
        .expect("loaded");
    let card = second
        .wait_update(&session, "the card's end", |update| update["status"] == "failed")
        .await;
    assert_eq!(card.expect("shown")["toolCallId"], "call-1");
    let asked = prompt(&mut second, &session, "plain").await.expect("sent");
    let answer = second.response(asked).await.expect("answered").expect("a result");
    assert_eq!(answer["stopReason"], "end_turn");
    let finished = second.finish().await.expect("ended");
    assert_eq!(finished.stderr, "");
    assert_eq!(t_check(second.rows()), []);
}

#[tokio::test]
async fn a_reader_follows_a_session_that_another_process_writes() {
    let home = Home::new(MODEL, &[("run.js", RUN)]);
    let (mut client, session) = running(&home).await;
    let mut follower = Follower::start(&home, &session);
    let member = follower.until("tool-workflow/agent-start").await;
    assert_eq!(member["data"]["label"], "first");

    // What happens is seen while the run is held at the next gate: nothing after it can have brought it.
    gate(&mut client, "open", "first").await;
    follower.until("tool-workflow/agent-end").await;
    assert_eq!(
        follower.until("tool-workflow/agent-start").await["data"]["label"],
        "second"
    );

    // Its end is seen as well, and the reader ends with it.
    kill(&client);
    client.finish().await.expect("dead");
    let ended = timeout(PATIENCE, follower.process.wait())
        .await
        .expect("in time")
        .expect("a child");
    assert!(ended.success(), "{ended}");
}

#[tokio::test]
async fn a_reader_that_is_gone_does_not_disturb_the_writer() {
    let home = Home::new(MODEL, &[("run.js", RUN)]);
    let (mut client, session) = running(&home).await;
    let mut follower = Follower::start(&home, &session);
    follower.until("tool-workflow/agent-start").await;
    follower.process.kill().await.expect("it lives");
    for name in ["first", "second"] {
        gate(&mut client, "open", name).await;
    }
    let end = |update: &Value| update["status"] == "completed";
    client
        .wait_update(&session, "the card's end", end)
        .await
        .expect("shown");
}
