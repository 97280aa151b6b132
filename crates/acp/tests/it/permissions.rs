//! Questions to the user.

mod confirm;
mod members;

use serde_json::{Value, json};

use crate::support::{Client, TestTool, World, text_of_update};

/// One risky call, then an answer.
const RISK: &str = r#"
    [[reply]]
    step = 1
    [[reply.tool_call]]
    id = "c1"
    name = "risk"
    arguments = { command = "rm -rf everything" }
    [[reply]]
    step = 2
    text = "done"
"#;

fn world() -> World {
    World::new(RISK).tool(TestTool::new("risk", |_| async { Ok(json!("ran")) }).risky())
}

fn answer(client: &mut Client, question: &Value, result: &Value) {
    client.send(json!({ "id": question["id"], "result": result }));
}

fn select(client: &mut Client, question: &Value, option: &str) {
    answer(
        client,
        question,
        &json!({ "outcome": { "outcome": "selected", "optionId": option } }),
    );
}

/// Prompts, waits for the question and has it answered; gives the response and the call's statuses and texts.
async fn run(decide: impl Fn(&mut Client, &Value)) -> (Value, Vec<(String, String)>) {
    let mut client = Client::start(world().options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let question = client.question().await;
    decide(&mut client, &question);
    let response = client.response(prompt).await;
    let updates = client.updates();
    let card = updates.iter().filter(|update| update["toolCallId"] == "c1");
    let card = card.map(|update| {
        (
            update["status"].as_str().unwrap_or("pending").to_owned(),
            text_of_update(update),
        )
    });
    let card = card.collect();
    client.end().await;
    (response, card)
}

#[tokio::test]
async fn ord04_the_question_shows_the_card_that_was_announced_as_pending() {
    let mut client = Client::start(world().options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let question = client.question().await;
    let announced = client.updates();
    assert_eq!(announced.len(), 1);
    assert_eq!(
        (&announced[0]["sessionUpdate"], announced[0].get("status")),
        (&json!("tool_call"), None)
    );
    assert_eq!(
        question["params"],
        json!({
            "sessionId": session,
            "toolCall": {
                "toolCallId": "c1", "kind": "other", "status": "pending", "title": "risk", "name": "risk",
                "content": [], "locations": [], "rawInput": { "command": "rm -rf everything" },
            },
            "options": [
                { "optionId": "allow_once", "name": "Allow once", "kind": "allow_once" },
                { "optionId": "always_0", "name": "Always allow `risk` in this session", "kind": "allow_always" },
                { "optionId": "reject_once", "name": "Reject", "kind": "reject_once" },
                { "optionId": "always_1", "name": "Always reject `risk` in this session", "kind": "reject_always" },
            ],
        })
    );
    select(&mut client, &question, "allow_once");
    client.response(prompt).await;
    client.end().await;
}

#[tokio::test]
async fn ord05_an_allowed_call_goes_in_progress_after_the_answer() {
    let (response, card) = run(|client, question| select(client, question, "allow_once")).await;
    assert_eq!(response["result"]["stopReason"], json!("end_turn"));
    let statuses: Vec<_> = card.iter().map(|(status, _)| status.as_str()).collect();
    assert_eq!(statuses, ["pending", "in_progress", "completed"]);
    assert_eq!(card[2].1, "\"ran\"");
}

#[tokio::test]
async fn ord05_a_rejected_call_fails_without_having_started() {
    for option in ["reject_once", "allow_always", "never offered"] {
        let (response, card) = run(|client, question| select(client, question, option)).await;
        assert_eq!(response["result"]["stopReason"], json!("end_turn"), "{option}");
        let statuses: Vec<_> = card.iter().map(|(status, _)| status.as_str()).collect();
        assert_eq!(statuses, ["pending", "failed"], "{option}");
    }
}

#[tokio::test]
async fn a_client_that_cannot_ask_denies() {
    let (response, card) = run(|client, question| {
        client.send(json!({ "id": question["id"], "error": { "code": -32601, "message": "no dialogue" } }));
    })
    .await;
    assert_eq!(response["result"]["stopReason"], json!("end_turn"));
    assert_eq!(card.last().unwrap().0, "failed");
    let (_, card) = run(|client, question| answer(client, question, &json!("nonsense"))).await;
    assert_eq!(card.last().unwrap().0, "failed");
}

#[tokio::test]
async fn can11_a_dismissed_question_does_not_run_the_tool() {
    let mut client = Client::start(world().options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let question = client.question().await;
    client.cancel(&session);
    answer(
        &mut client,
        &question,
        &json!({ "outcome": { "outcome": "cancelled" } }),
    );
    assert_eq!(
        client.response(prompt).await["result"]["stopReason"],
        json!("cancelled")
    );
    let updates = client.updates();
    assert_eq!(updates.last().unwrap()["status"], json!("failed"));
    assert!(updates.iter().all(|update| update["status"] != "in_progress"));
    client.end().await;
}

#[tokio::test]
async fn a_cancel_withdraws_the_question_of_a_client_that_does_not_answer_it() {
    let mut client = Client::start(world().options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let question = client.question().await;
    client.cancel(&session);
    assert_eq!(
        client.response(prompt).await["result"]["stopReason"],
        json!("cancelled")
    );
    let withdrawn = client
        .take()
        .into_iter()
        .find(|message| message["method"] == "$/cancel_request");
    assert_eq!(
        withdrawn.expect("it is withdrawn")["params"]["requestId"],
        question["id"]
    );
    // An answer that comes too late is nobody's.
    select(&mut client, &question, "allow_once");
    client.session().await;
    client.end().await;
}

#[tokio::test]
async fn ord07_other_requests_are_served_while_a_question_is_open() {
    let mut client = Client::start(world().options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let question = client.question().await;
    let other = client.session().await;
    let second = client.start_prompt(&other, "go");
    let other_question = client.question().await;
    assert_eq!(other_question["params"]["sessionId"], json!(other));
    select(&mut client, &question, "allow_once");
    assert_eq!(client.response(prompt).await["result"]["stopReason"], json!("end_turn"));
    select(&mut client, &other_question, "reject_once");
    assert_eq!(client.response(second).await["result"]["stopReason"], json!("end_turn"));
    client.end().await;
}

#[tokio::test]
async fn a_nested_call_is_asked_about_on_the_card_of_the_outer_one() {
    let script = "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"outer\"\n[[reply]]\nstep = 2\ntext = \"done\"\n";
    let agents = World::new(script).tool(TestTool::new("risk", |_| async { Ok(json!("ran")) }).risky());
    let opened = agents.clone();
    let world = agents.tool(TestTool::new("outer", move |execution| {
        // The layer of the agent, for its policies are there.
        let tools = opened.agents()[0].tools().clone();
        async move {
            let call = execution.nested("c1:1".into(), "risk", r#"{"command":"rm"}"#);
            Ok(json!(tools.execute(call).await.outcome.is_ok()))
        }
    }));
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let question = client.question().await;
    assert_eq!(
        question["params"]["toolCall"],
        json!({ "toolCallId": "c1", "title": "risk (within outer)", "rawInput": { "command": "rm" } })
    );
    select(&mut client, &question, "allow_once");
    client.response(prompt).await;
    assert_eq!(text_of_update(&client.updates()[1]), "true");
    client.end().await;
}

#[tokio::test]
async fn a_question_of_another_agent_is_not_asked() {
    let script = "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"outer\"\n[[reply]]\nstep = 2\ntext = \"done\"\n";
    let agents = World::new(script).tool(TestTool::new("risk", |_| async { Ok(json!("ran")) }).risky());
    let opened = agents.clone();
    let world = agents.tool(TestTool::new("outer", move |execution| {
        let tools = opened.agents()[0].tools().clone();
        async move {
            // Another agent with equal ids, as a subagent's session may well have them.
            let mut call = execution.nested("c1".into(), "risk", "{}");
            (call.agent, call.root_call_id, call.parent) = (Some(weft_types::AgentId::mint()), None, None);
            Ok(json!(tools.execute(call).await.outcome.is_ok()))
        }
    }));
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    client.prompt(&session, "go").await;
    assert_eq!(
        text_of_update(&client.updates()[1]),
        "false",
        "denied, and nobody was asked"
    );
    client.end().await;
}

#[tokio::test]
async fn a_question_is_dropped_when_the_client_leaves() {
    let mut client = Client::start(world().options()).await;
    let session = client.session().await;
    client.start_prompt(&session, "go");
    client.question().await;
    let (report, lines) = client.end().await;
    assert!(report.unfinished.is_empty() && report.written);
    let answer = lines
        .iter()
        .find(|line| line.get("result").is_some())
        .expect("the prompt is answered");
    assert_eq!(answer["result"]["stopReason"], json!("cancelled"));
}

#[tokio::test]
async fn an_answer_that_stands_is_not_asked_for_again_and_outlives_the_process() {
    let script = "[[reply]]\nstep = 1\n[[reply.tool_call]]\nname = \"risk\"\n[[reply]]\nstep = 2\ntext = \"done\"\n";
    let risky = |world: World| world.tool(TestTool::new("risk", |_| async { Ok(json!("ran")) }).risky());
    let first = risky(World::new(script)).stored();
    let mut client = Client::start(first.options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let question = client.question().await;
    select(&mut client, &question, "always_0");
    client.response(prompt).await;
    let again = client.prompt(&session, "go").await;
    assert_eq!(again["result"]["stopReason"], json!("end_turn"), "and nobody was asked");
    client.end().await;

    let second = risky(World::new(script)).beside(&first);
    let mut client = Client::start(second.options()).await;
    let load = json!({ "sessionId": session, "cwd": "/", "mcpServers": [] });
    assert!(client.call("session/load", load).await["error"].is_null());
    client.take();
    assert_eq!(
        client.prompt(&session, "go").await["result"]["stopReason"],
        json!("end_turn")
    );
    let updates = client.updates();
    assert!(
        updates.iter().any(|update| update["status"] == "completed"),
        "{updates:?}"
    );
    client.end().await;
}
