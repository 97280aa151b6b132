//! Closing one session.

use serde_json::{Value, json};

use crate::support::{Client, TestTool, World};

const HOLD: &str = "[[reply]]\nprompt = \"hold\"\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"hold\"\n[[reply]]\ntext = \"fine\"\n";

fn close(client: &mut Client, session: &str) -> Value {
    client.request("session/close", json!({ "sessionId": session }))
}

#[tokio::test]
async fn g26_a_close_answers_the_prompt_first_and_other_sessions_go_on() {
    let world = World::new(HOLD).tool(TestTool::hold());
    let mut client = Client::start(world.options()).await;
    let (closed, other) = (client.session().await, client.session().await);
    let prompts = [
        client.start_prompt(&closed, "hold"),
        client.start_prompt(&other, "hold"),
    ];
    for _ in 0..2 {
        client.until_status("in_progress").await;
    }
    let close = close(&mut client, &closed);
    assert_eq!(client.response(close).await["result"], json!({}));
    let before = client.take();
    let last = before.last().unwrap();
    assert_eq!(
        (&last["id"], &last["result"]["stopReason"]),
        (&prompts[0], &json!("cancelled"))
    );
    let final_card = before
        .iter()
        .find(|message| message["params"]["update"]["status"] == "failed");
    assert_eq!(final_card.unwrap()["params"]["sessionId"], json!(closed));

    assert_eq!(client.prompt(&closed, "again").await["error"]["code"], json!(-32002));
    let again = vec![weft_types::ContentBlock::text("again")];
    assert!(matches!(
        world.agents()[0].prompt(again),
        Err(weft_agent::PromptRefused::Closed)
    ));
    client.cancel(&other);
    assert_eq!(
        client.response(prompts[1].clone()).await["result"]["stopReason"],
        json!("cancelled")
    );
    assert_eq!(
        client.prompt(&other, "again").await["result"]["stopReason"],
        json!("end_turn")
    );
    client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_of_the_prompt_always_comes_before_that_of_the_close() {
    let world = World::new("[[reply]]\nhang = true\n");
    let mut client = Client::start(world.options()).await;
    for _ in 0..50 {
        let session = client.session().await;
        let prompt = client.start_prompt(&session, "go");
        let close = close(&mut client, &session);
        client.response(close).await;
        let before = client.take();
        assert!(before.iter().any(|message| message["id"] == prompt), "{before:?}");
    }
    client.end().await;
}

#[tokio::test]
async fn an_idle_session_is_closed_once() {
    let world = World::new(HOLD);
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let first = close(&mut client, &session);
    assert_eq!(client.response(first).await["result"], json!({}));
    let second = close(&mut client, &session);
    let response = client.response(second).await;
    assert_eq!(response["error"]["code"], json!(-32002));
    assert_eq!(response["error"]["data"], json!({ "sessionId": session }));
    client.end().await;
}

#[tokio::test]
async fn g26_a_closed_session_is_freed() {
    let world = World::new(HOLD);
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    client.prompt(&session, "anything").await;
    let close = close(&mut client, &session);
    client.response(close).await;
    assert_eq!(world.leftovers(), 0);
    client.end().await;
}

#[tokio::test]
async fn g26_closing_releases_observers() {
    let world = World::new(HOLD);
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    assert_eq!((world.tools.progress().len(), world.tools.started().len()), (1, 1));
    let close = close(&mut client, &session);
    client.response(close).await;
    assert_eq!((world.tools.progress().len(), world.tools.started().len()), (0, 0));
    client.end().await;
}
