//! Loads that are ended before they are over.

use std::io::{BufRead as _, BufReader};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use weft_acp::{CloseGrace, ExitReason, OutboxBytes, StallTimeout};
use weft_session::{Sessions as _, StoreError};
use weft_types::{AssistantBlock, ContentBlock, EventBody, StopReason, TurnEnd};

use super::*;
use crate::support::{Opening, header};

const LONG: &str = "long";

/// How many turns it has; each makes two updates.
const TURNS: u32 = 300;

/// More updates than a client can have been sent that did not read: what fits into a pipe, the outbox and a page.
const FEW: usize = 100;

/// A world with a session whose replay is far larger than what fits between an agent and a client that does not read.
fn long_world() -> World {
    let world = world(TALK).stored();
    let session = world.store.create(header(LONG, "/")).expect("a fresh id");
    for turn in 1..=TURNS {
        let said = |text: &str| vec![ContentBlock::text(text)];
        let answer = vec![AssistantBlock::Text {
            text: "x".repeat(10_000),
        }];
        let events = [
            EventBody::TurnStart { turn },
            EventBody::UserMessage {
                turn,
                content: said("go on"),
            },
            EventBody::StepStart { turn, step: 1 },
            EventBody::AssistantMessage {
                turn,
                step: 1,
                content: answer,
                stop: Some(StopReason::EndTurn),
                usage: None,
                interrupted: false,
            },
            EventBody::StepEnd { turn, step: 1 },
            EventBody::TurnEnd {
                turn,
                reason: TurnEnd::Completed,
            },
        ];
        for event in events {
            session.append(event).expect("a legal log");
        }
    }
    world
}

/// A client that reads on only when it is told to.
struct Slow {
    client: Client,
    go_on: std::sync::mpsc::Sender<()>,
}

/// Starts the load of the long session on a connection whose client stops reading with the first line of the replay.
async fn stuck_load(world: &World, stall: Duration) -> (Slow, Value) {
    let mut options = world.options();
    options.outbox_bytes = OutboxBytes::new(32 << 10).expect("in range");
    options.stall_timeout = StallTimeout::new(stall).expect("in range");
    options.close_grace = CloseGrace::new(stall.min(Duration::from_secs(4))).expect("in range");
    let ((mut client, sender), output) = Client::connect_unread(options);
    let (go_on, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut replay = false;
        for line in BufReader::new(output).lines() {
            let line = line.expect("stdout is text");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            let begins = !replay && message["method"] == "session/update";
            replay |= begins;
            if sender.send(message).is_err() || (begins && wait.recv().is_err()) {
                break;
            }
        }
    });
    client.initialize(json!({})).await;
    let load = client.request("session/load", params(LONG, "/"));
    client.until(|message| message["method"] == "session/update").await;
    (Slow { client, go_on }, load)
}

/// Waits until nobody has the long session open: the load is over, whether its client reads or not.
async fn until_free(world: &World) {
    loop {
        let (store, id) = (world.store.clone(), LONG.into());
        let opened = tokio::task::spawn_blocking(move || store.open(&id).map(drop)).await;
        match opened.expect("the store does not panic") {
            Err(StoreError::InUse { .. }) => {}
            _ => return,
        }
    }
}

const PATIENT: Duration = Duration::from_secs(600);

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_cancelled_ends_in_the_middle_and_frees_the_session() {
    let world = long_world();
    let (mut slow, load) = stuck_load(&world, PATIENT).await;
    slow.client.notify("$/cancel_request", json!({ "requestId": load }));
    until_free(&world).await;
    slow.go_on.send(()).unwrap();
    let response = slow.client.response(load).await;
    assert_eq!(code(&response), -32800);
    let shown = slow.client.take().len();
    assert!(shown < FEW, "{shown} were shown to a client that did not read");
    let (again, replayed) = super::load(&mut slow.client, LONG).await;
    assert_eq!((&again["result"], replayed.len()), (&json!({}), 2 * TURNS as usize));
    slow.client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e07_a_close_ends_a_load_and_is_answered_after_it() {
    let world = long_world();
    for method in ["session/close", "session/delete"] {
        let (mut slow, load) = stuck_load(&world, PATIENT).await;
        let close = slow.client.request(method, json!({ "sessionId": LONG }));
        until_free(&world).await;
        slow.go_on.send(()).unwrap();
        let closed = slow.client.response(close).await;
        assert_eq!(closed["result"], json!({}), "{method}");
        let before = slow.client.take();
        let answer = before.last().unwrap();
        assert_eq!((&answer["id"], code(answer)), (&load, -32800));
        assert!(before.len() < FEW);
        // Free at once, for another process too; and gone if it was deleted.
        let (_world, mut other) = beside(&world).await;
        let (response, _) = super::load(&mut other, LONG).await;
        assert_eq!(
            response.get("result").is_some(),
            method == "session/close",
            "{response}"
        );
        other.end().await;
        slow.client.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e07_a_client_that_leaves_ends_a_load() {
    let world = long_world();
    let (mut slow, load) = stuck_load(&world, PATIENT).await;
    slow.client.close_input();
    until_free(&world).await;
    slow.go_on.send(()).unwrap();
    let response = slow.client.response(load).await;
    assert_eq!(code(&response), -32603);
    assert!(slow.client.take().len() < FEW);
    let (report, after) = slow.client.ended().await;
    assert_eq!((report.reason, after), (ExitReason::EndOfInput, Vec::new()));
    let (_world, mut other) = beside(&world).await;
    assert_eq!(super::load(&mut other, LONG).await.0["result"], json!({}));
    other.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_its_replay_is_given_up() {
    let world = long_world();
    let (slow, _load) = stuck_load(&world, Duration::from_millis(200)).await;
    let Slow { mut client, go_on } = slow;
    let report = (&mut client.serving).await.unwrap();
    assert_eq!((report.reason, report.written), (ExitReason::OutputClosed, false));
    drop(go_on);
    let (_world, mut other) = beside(&world).await;
    assert_eq!(super::load(&mut other, LONG).await.0["result"], json!({}));
    other.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_reaches_a_load_whose_agent_takes_its_time() {
    let (world, session, _) = talked().await;
    let (world, mut client) = beside(&world).await;
    world.set_opening(Opening::Hangs(Arc::default()));
    let load = client.request("session/load", params(&session, "/"));
    let close = client.call("session/close", json!({ "sessionId": session })).await;
    assert_eq!(close["result"], json!({}));
    assert_eq!(client.take().last().unwrap()["id"], load);
    world.set_opening(Opening::Opens);
    assert_eq!(super::load(&mut client, &session).await.0["result"], json!({}));
    client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_pass_while_a_slow_client_is_shown_a_long_history() {
    let world = long_world();
    let (mut slow, load) = stuck_load(&world, PATIENT).await;
    let new = slow
        .client
        .request("session/new", json!({ "cwd": "/", "mcpServers": [] }));
    slow.go_on.send(()).unwrap();
    let response = slow.client.response(new).await;
    assert!(response.get("result").is_some(), "{response}");
    assert!(
        slow.client.take().iter().all(|message| message["id"] != load),
        "the load goes on"
    );
    assert_eq!(slow.client.response(load).await["result"], json!({}));
    slow.client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_connection_ends_a_load_that_waits() {
    let (world, session, _) = talked().await;
    let (world, mut client) = beside(&world).await;
    let reached = Arc::new(Notify::new());
    world.set_opening(Opening::Hangs(Arc::clone(&reached)));
    client.request("session/load", params(&session, "/"));
    reached.notified().await;
    let (_world, mut other) = beside(&world).await;
    assert_eq!(code(&super::load(&mut other, &session).await.0), -32603, "in use");
    client.serving.abort();
    assert!((&mut client.serving).await.unwrap_err().is_cancelled());
    // Its task ends by itself, a moment later.
    while super::load(&mut other, &session).await.0.get("error").is_some() {}
    other.end().await;
}
