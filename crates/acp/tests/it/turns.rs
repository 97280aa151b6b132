//! Prompts that go their way.

use serde_json::{Value, json};

use crate::support::{Client, TestTool, World, text_of_update};

fn kinds(updates: &[Value]) -> Vec<&str> {
    updates
        .iter()
        .filter_map(|update| update["sessionUpdate"].as_str())
        .collect()
}

#[tokio::test]
async fn an_answer_streams_as_one_message_before_the_response() {
    let world = World::new("[[reply]]\nreasoning = [\"hm\", \" well\"]\ntext = [\"hel\", \"lo\"]\n");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let response = client.prompt(&session, "hi").await;
    assert_eq!(response["result"], json!({ "stopReason": "end_turn" }));
    let updates = client.updates();
    let shown: Vec<_> = updates
        .iter()
        .map(|update| (update["messageId"].as_str().unwrap(), text_of_update(update)))
        .collect();
    let expected = [
        ("thought-1.1", "hm"),
        ("thought-1.1", " well"),
        ("message-1.1", "hel"),
        ("message-1.1", "lo"),
    ];
    assert_eq!(shown, expected.map(|(id, text)| (id, text.to_owned())));
    client.end().await;
}

#[tokio::test]
async fn frm03_line_like_characters_go_through_unharmed() {
    let text = "first\u{2028}second\u{2029}third\u{85}fourth\u{b}fifth\u{c}sixth";
    let world = World::new(&format!("[[reply]]\ntext = {}\n", json!(text)));
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    client.prompt(&session, text).await;
    assert_eq!(client.updates().iter().map(text_of_update).collect::<String>(), text);
    client.end().await;
}

#[tokio::test]
async fn a_tool_turn_shows_its_card_between_two_steps() {
    let world = World::new(
        r#"
        [[reply]]
        step = 1
        text = "look"
        [[reply.tool_call]]
        id = "c1"
        name = "echo"
        arguments = { a = 1 }
        [[reply]]
        step = 2
        text = "done"
        "#,
    )
    .tool(TestTool::echo());
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let response = client.prompt(&session, "go").await;
    assert_eq!(response["result"]["stopReason"], json!("end_turn"));
    let updates = client.updates();
    assert_eq!(
        kinds(&updates),
        [
            "agent_message_chunk",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk"
        ]
    );
    assert_eq!(updates[1]["rawInput"], json!({ "a": 1 }));
    assert_eq!(updates[2]["status"], json!("completed"));
    assert_eq!(text_of_update(&updates[2]), r#"{"a":1}"#);
    client.end().await;
}

#[tokio::test]
async fn ends_of_turns_have_their_stop_reasons() {
    let world = World::new(
        r#"
        [[reply]]
        prompt = "long"
        text = "cut"
        stop = "max_tokens"
        [[reply]]
        prompt = "bad"
        text = "no"
        stop = "refusal"
        "#,
    );
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    assert_eq!(
        client.prompt(&session, "long").await["result"]["stopReason"],
        json!("max_tokens")
    );
    assert_eq!(
        client.prompt(&session, "bad").await["result"]["stopReason"],
        json!("refusal")
    );
    client.end().await;
}

#[tokio::test]
async fn a_failed_turn_is_shown_and_answered_with_an_error_that_says_why() {
    let world = World::new(
        r#"
        [[reply]]
        prompt = "fail"
        error = { kind = "not_configured", message = "no model is configured; set `model`" }
        [[reply]]
        text = "fine"
        "#,
    );
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let response = client.prompt(&session, "fail").await;
    assert_eq!(response["error"]["code"], json!(-32603));
    let text = response["error"]["message"].as_str().unwrap();
    assert!(
        text.starts_with("turn failed: ") && text.contains("set `model`"),
        "{text}"
    );
    let shown: String = client.updates().iter().map(text_of_update).collect();
    assert!(
        shown.starts_with("[the turn failed: ") && shown.contains("set `model`"),
        "{shown}"
    );
    assert_eq!(
        client.prompt(&session, "again").await["result"]["stopReason"],
        json!("end_turn")
    );
    client.end().await;
}

#[tokio::test]
async fn prompts_that_cannot_be_answered_are_refused_and_store_nothing() {
    let world = World::new("[[reply]]\ntext = \"hello\"\n");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let unknown = client.prompt("no-such-session", "hi").await;
    assert_eq!(unknown["error"]["code"], json!(-32002));
    assert_eq!(unknown["error"]["data"], json!({ "sessionId": "no-such-session" }));
    for prompt in [
        json!([]),
        json!([{ "type": "text", "text": "  " }]),
        json!([{ "type": "image", "mimeType": "image/png", "data": "?" }]),
    ] {
        let response = client
            .call("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
            .await;
        assert_eq!(response["error"]["code"], json!(-32602), "{response}");
    }
    assert_eq!(world.agents()[0].session().len(), 0);
    assert_eq!(
        client.prompt(&session, "hi").await["result"]["stopReason"],
        json!("end_turn")
    );
    client.end().await;
}

#[tokio::test]
async fn a_prompt_for_want_of_a_key_is_told_so_and_stores_nothing() {
    let world = World::new("[[reply]]\ntext = \"hello\"\n");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let choice = json!({ "sessionId": session, "configId": "model", "value": "keyless/model" });
    let chosen = client.call("session/set_config_option", choice).await;
    assert!(
        chosen.get("result").is_some(),
        "it can be chosen before its key is there: {chosen}"
    );
    let refused = client.prompt(&session, "hi").await;
    assert_eq!(refused["error"]["code"], json!(-32000), "{refused}");
    assert_eq!(refused["error"]["message"], json!("set THE_KEY"));
    assert_eq!(world.agents()[0].session().len(), 0);
    client.end().await;
}

#[tokio::test]
async fn g78_a_second_prompt_is_refused_and_the_first_goes_on() {
    let world = World::new("[[reply]]\ngate = \"g\"\ntext = \"hello\"\n");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let first = client.start_prompt(&session, "one");
    let second = client.prompt(&session, "two").await;
    assert_eq!(second["error"]["code"], json!(-32602));
    assert!(second["error"]["message"].as_str().unwrap().contains("in flight"));
    world.script.open_gate("g").unwrap();
    assert_eq!(client.response(first).await["result"]["stopReason"], json!("end_turn"));
    assert_eq!(
        client.prompt(&session, "three").await["result"]["stopReason"],
        json!("end_turn")
    );
    client.end().await;
}

#[tokio::test]
async fn a_slow_session_does_not_hold_up_another() {
    let world = World::new("[[reply]]\nprompt = \"slow\"\ngate = \"g\"\ntext = \"late\"\n[[reply]]\ntext = \"soon\"\n");
    let mut client = Client::start(world.options()).await;
    let (slow, fast) = (client.session().await, client.session().await);
    let waiting = client.start_prompt(&slow, "slow");
    assert_eq!(
        client.prompt(&fast, "fast").await["result"]["stopReason"],
        json!("end_turn")
    );
    client.session().await;
    world.script.open_gate("g").unwrap();
    assert_eq!(
        client.response(waiting).await["result"]["stopReason"],
        json!("end_turn")
    );
    client.end().await;
}

#[tokio::test]
async fn a_tool_that_panics_fails_its_card_only() {
    let script =
        "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"bad\"\n[[reply]]\nstep = 2\ntext = \"done\"\n";
    let world = World::new(script).tool(TestTool::new("bad", |_| async { panic!("on purpose") }));
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    assert_eq!(
        client.prompt(&session, "go").await["result"]["stopReason"],
        json!("end_turn")
    );
    let updates = client.updates();
    assert_eq!(updates[1]["status"], json!("failed"));
    client.end().await;
}
