//! Loads of sessions that are open on the same connection: they are taken up anew, or left as they are.

use std::sync::Arc;

use super::*;
use crate::support::Opening;

/// A client that has a session of one turn open, and what it was shown of that.
async fn talking() -> (World, Client, String, Vec<Value>) {
    let world = world(TALK).stored();
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    client.prompt(&session, "question one").await;
    let mut live = vec![json!({ "sessionUpdate": "user_message_chunk", "content": { "text": "question one" } })];
    live.extend(client.updates());
    (world, client, session, live)
}

async fn goes_on(client: &mut Client, session: &str) {
    let response = client.prompt(session, "question two").await;
    assert_eq!(response["result"]["stopReason"], "end_turn", "{response}");
}

#[tokio::test]
async fn a_session_that_is_open_here_is_loaded_with_all_that_was_seen_and_goes_on() {
    let (world, mut client, session, live) = talking().await;
    let log = std::fs::read(world.log(&session)).unwrap();
    for _ in 0..2 {
        let (response, replayed) = load(&mut client, &session).await;
        assert_eq!(response["result"], json!({}));
        assert_eq!(screen(&replayed), screen(&live));
        assert_eq!(std::fs::read(world.log(&session)).unwrap(), log);
        assert_eq!(world.leftovers(), 1, "the one before is closed");
    }
    goes_on(&mut client, &session).await;
    let context = world.last_request();
    assert!(context.contains("question one"), "{context}");
    client.end().await;
}

#[tokio::test]
async fn a_session_that_is_open_here_is_resumed_and_shows_nothing_of_what_was() {
    let (world, mut client, session, _) = talking().await;
    let response = client.call("session/resume", params(&session, "/")).await;
    assert_eq!((&response["result"], client.updates()), (&json!({}), Vec::new()));
    goes_on(&mut client, &session).await;
    assert!(world.last_request().contains("After."));
    client.end().await;
}

#[tokio::test]
async fn a_load_that_is_refused_leaves_the_session_open() {
    let (_world, mut client, session, _) = talking().await;
    for (cwd, folder) in [("/tmp", "/"), ("relative", "/"), ("/", "/no/such")] {
        let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [], "additionalDirectories": [folder] });
        assert_eq!(
            code(&client.call("session/load", params).await),
            -32602,
            "{cwd} {folder}"
        );
    }
    goes_on(&mut client, &session).await;
    client.end().await;
}

#[tokio::test]
async fn a_session_that_nothing_was_said_in_is_not_stored_and_stays_open() {
    let world = world(TALK).stored();
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    assert_eq!(code(&load(&mut client, &session).await.0), -32002);
    goes_on(&mut client, &session).await;
    client.end().await;
}

#[tokio::test]
async fn of_two_loads_of_an_open_session_exactly_one_succeeds() {
    let (_world, mut client, session, _) = talking().await;
    let asked = [
        client.request("session/load", params(&session, "/")),
        client.request("session/load", params(&session, "/")),
    ];
    assert_eq!(code(&client.response(asked[1].clone()).await), -32602);
    assert_eq!(client.response(asked[0].clone()).await["result"], json!({}));
    goes_on(&mut client, &session).await;
    client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_ends_the_load_of_an_open_session_and_the_session() {
    let (world, mut client, session, _) = talking().await;
    world.set_opening(Opening::Hangs(Arc::default()));
    let load = client.request("session/load", params(&session, "/"));
    let close = client.call("session/close", json!({ "sessionId": session })).await;
    assert_eq!(close["result"], json!({}));
    assert_eq!(client.take().last().unwrap()["id"], load);
    world.set_opening(Opening::Opens);
    assert_eq!(code(&client.prompt(&session, "question two").await), -32002);
    let (_world, mut other) = beside(&world).await;
    assert_eq!(super::load(&mut other, &session).await.0["result"], json!({}), "free");
    other.end().await;
    client.end().await;
}
