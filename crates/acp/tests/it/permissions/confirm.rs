//! Questions that no call stands behind.

use weft_agent::AgentContext;
use weft_tools::Question;

use super::*;

const CONFIRM: &str = r#"
    [[reply]]
    step = 1
    [[reply.tool_call]]
    id = "c1"
    name = "confirm"
    [[reply]]
    step = 2
    text = "done"
"#;

/// A world whose tool `confirm` asks such a question and gives what came of it.
fn world() -> World {
    World::new(CONFIRM).tool(TestTool::new("confirm", |execution| async move {
        let context = execution.extension::<AgentContext>().expect("an agent calls");
        let approver = context.approver.clone().expect("it can ask");
        let question = Question {
            command: "trust".to_owned(),
            title: "May it?".to_owned(),
            text: "mcp.db.command = \"db\"".to_owned(),
            yes: "Trust".to_owned(),
            no: "Do not trust".to_owned(),
        };
        let answer = approver.confirm(question, execution.signal().clone()).await;
        Ok(json!(format!("{answer:?}")))
    }))
}

/// The statuses of the question's card, the text of its last state, and what the asker was told.
fn seen(client: &mut Client, question: &Value) -> (Vec<String>, String, String) {
    let id = &question["params"]["toolCall"]["toolCallId"];
    let updates = client.updates();
    let card: Vec<_> = updates.iter().filter(|update| update["toolCallId"] == *id).collect();
    let statuses = card
        .iter()
        .map(|update| update["status"].as_str().unwrap_or("pending").to_owned());
    let result = updates
        .iter()
        .rfind(|update| update["toolCallId"] == "c1")
        .expect("the call ends");
    let last = card.last().map(|update| text_of_update(update)).unwrap_or_default();
    (statuses.collect(), last, text_of_update(result))
}

#[tokio::test]
async fn the_card_shows_what_is_asked_and_ends_with_the_answer() {
    for (option, status, said, told) in [
        ("allow_once", "completed", "Trust", "AllowedOnce"),
        ("reject_once", "failed", "Do not trust", "Rejected"),
        ("always_0", "failed", "Do not trust", "Rejected"),
    ] {
        let mut client = Client::start(world().options()).await;
        let session = client.session().await;
        let prompt = client.start_prompt(&session, "go");
        let question = client.question().await;
        let card = &question["params"]["toolCall"];
        assert_eq!(card["title"], "May it?");
        assert!(card["content"].to_string().contains("mcp.db.command"), "{card}");
        assert_eq!(
            question["params"]["options"],
            json!([
                { "optionId": "allow_once", "name": "Trust", "kind": "allow_once" },
                { "optionId": "reject_once", "name": "Do not trust", "kind": "reject_once" },
            ])
        );
        select(&mut client, &question, option);
        client.response(prompt).await;
        let (statuses, last, result) = seen(&mut client, &question);
        assert_eq!(statuses, ["pending", status], "{option}");
        assert!(last.contains("mcp.db.command") && last.ends_with(said), "{last}");
        assert!(result.contains(told), "{result}");
        client.end().await;
    }
}

#[tokio::test]
async fn a_cancel_withdraws_the_question_and_ends_its_card() {
    let mut client = Client::start(world().options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let question = client.question().await;
    client.cancel(&session);
    assert_eq!(client.response(prompt).await["result"]["stopReason"], "cancelled");
    let messages = client.take();
    assert!(messages.iter().any(|message| {
        message["method"] == "$/cancel_request" && message["params"]["requestId"] == question["id"]
    }));
    let id = &question["params"]["toolCall"]["toolCallId"];
    let mut updates = messages.iter().map(|message| &message["params"]["update"]);
    let last = updates.rfind(|update| update["toolCallId"] == *id);
    let last = last.expect("the card ends");
    assert_eq!(last["status"], "failed");
    assert!(text_of_update(last).ends_with("Not answered"), "{last}");
    client.end().await;
}

#[tokio::test]
async fn a_client_that_cannot_answer_is_nobody_to_ask() {
    let mut client = Client::start(world().options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let question = client.question().await;
    client.send(json!({ "id": question["id"], "error": { "code": -32601, "message": "no" } }));
    client.response(prompt).await;
    let (statuses, last, result) = seen(&mut client, &question);
    assert_eq!(statuses, ["pending", "failed"]);
    assert!(last.ends_with("Nobody could be asked"), "{last}");
    assert!(result.contains("Unavailable"), "{result}");
    client.end().await;
}
