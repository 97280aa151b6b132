//! Prompts that are stopped.

use serde_json::{Value, json};

use crate::support::{Client, TestTool, World, text_of_update};

const CANCELLED: &str = "cancelled";

fn statuses<'a>(updates: &'a [Value], call: &str) -> Vec<&'a str> {
    let of_call = updates.iter().filter(|update| update["toolCallId"] == call);
    of_call
        .map(|update| update["status"].as_str().unwrap_or("pending"))
        .collect()
}

fn stop(response: &Value) -> &str {
    response["result"]["stopReason"]
        .as_str()
        .unwrap_or_else(|| panic!("{response}"))
}

#[tokio::test]
async fn can01_a_cancel_while_the_model_speaks_is_answered_and_the_next_prompt_works() {
    let world = World::new(
        "[[reply]]\nprompt = \"stall\"\ntext = [\"par\", \"tial\"]\nhang = true\n[[reply]]\ntext = \"fine\"\n",
    );
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "stall");
    client
        .until(|message| text_of_update(&message["params"]["update"]) == "tial")
        .await;
    client.cancel(&session);
    assert_eq!(stop(&client.response(prompt).await), CANCELLED);
    client.take();
    assert_eq!(stop(&client.prompt(&session, "again").await), "end_turn");
    assert_eq!(client.updates().iter().map(text_of_update).collect::<String>(), "fine");
    client.end().await;
}

#[tokio::test]
async fn a_cancelled_call_fails_and_so_do_its_siblings_that_never_started() {
    let script = r#"
        [[reply]]
        step = 1
        [[reply.tool_call]]
        id = "c1"
        name = "hold"
        [[reply.tool_call]]
        id = "c2"
        name = "hold"
    "#;
    let world = World::new(script).tool(TestTool::hold());
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    client.until_status("in_progress").await;
    client.cancel(&session);
    assert_eq!(stop(&client.response(prompt).await), CANCELLED);
    let updates = client.updates();
    assert_eq!(statuses(&updates, "c1"), ["failed"], "its announcement was waited for");
    assert_eq!(statuses(&updates, "c2"), ["in_progress", "failed"]);
    client.end().await;
}

#[tokio::test]
async fn g77_two_cancels_and_one_after_the_answer_are_no_errors() {
    let world = World::new("[[reply]]\nprompt = \"hang\"\nhang = true\n[[reply]]\ntext = \"fine\"\n");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "hang");
    client.cancel(&session);
    client.cancel(&session);
    assert_eq!(stop(&client.response(prompt).await), CANCELLED);
    client.cancel(&session);
    assert_eq!(stop(&client.prompt(&session, "again").await), "end_turn");
    client.end().await;
}

#[tokio::test]
async fn can04_a_cancel_without_a_turn_does_nothing_now_and_later() {
    let world = World::new("[[reply]]\ntext = \"fine\"\n");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    client.cancel(&session);
    client.cancel("no-such-session");
    assert_eq!(stop(&client.prompt(&session, "go").await), "end_turn");
    assert_eq!(client.updates().len(), 1, "nothing but the answer");
    client.end().await;
}

#[tokio::test]
async fn a_cancel_request_for_the_prompt_cancels_the_turn() {
    let world = World::new("[[reply]]\nprompt = \"hang\"\nhang = true\n[[reply]]\ntext = \"fine\"\n");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "hang");
    client.notify("$/cancel_request", json!({ "requestId": prompt }));
    assert_eq!(stop(&client.response(prompt).await), CANCELLED);
    assert_eq!(stop(&client.prompt(&session, "again").await), "end_turn");
    client.end().await;
}

#[tokio::test]
async fn a_cancel_right_behind_its_prompt_is_not_lost() {
    let world = World::new("[[reply]]\nhang = true\n");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    for _ in 0..50 {
        let prompt = client.start_prompt(&session, "go");
        client.cancel(&session);
        assert_eq!(stop(&client.response(prompt).await), CANCELLED);
    }
    client.end().await;
}

#[tokio::test]
async fn cancelling_one_session_leaves_the_other_alone() {
    let world = World::new("[[reply]]\nprompt = \"hang\"\nhang = true\n[[reply]]\ngate = \"g\"\ntext = \"fine\"\n");
    let mut client = Client::start(world.options()).await;
    let (one, two) = (client.session().await, client.session().await);
    let (hanging, held) = (client.start_prompt(&one, "hang"), client.start_prompt(&two, "go"));
    client.cancel(&one);
    assert_eq!(stop(&client.response(hanging).await), CANCELLED);
    world.script.open_gate("g").unwrap();
    assert_eq!(stop(&client.response(held).await), "end_turn");
    client.end().await;
}
