//! What is sent.

use std::sync::Arc;

use serde_json::{Value, json};
use weft_types::{AssistantBlock, SessionId, ToolSpec};

use super::*;

/// Sends a request and gives what arrived.
async fn sent(request: ModelRequest) -> server::Request {
    let mut server = Server::start([Reply::stream(said(0, "a") + &completed())]).await;
    let answer: Vec<_> = model(&server).stream(request).collect().await;
    assert_eq!(answer[0], Ok(text("a")));
    server.request().await
}

fn asked_call(id: &str, name: &str, arguments: &str) -> AssistantBlock {
    AssistantBlock::ToolCall {
        id: CallId::new(id),
        name: name.into(),
        arguments: arguments.into(),
    }
}

fn result(id: &str) -> Message {
    Message::Tool {
        call_id: CallId::new(id),
        content: vec![ContentBlock::text("he"), ContentBlock::text("llo")],
        is_error: false,
    }
}

fn conversation() -> ModelRequest {
    let mut request = ask("look");
    request.tools = Arc::from([ToolSpec {
        name: "read".into(),
        description: "reads".into(),
        parameters: json!({ "type": "object", "properties": { "z": {}, "a": {} } }),
    }]);
    let content = vec![
        AssistantBlock::Reasoning {
            text: "hm".into(),
            sealed: None,
        },
        AssistantBlock::Text {
            text: "Looking.".into(),
        },
        asked_call("x", "read", "{\"b\": 1,\"a\":2}"),
        asked_call("y", "No Such", "[1]"),
    ];
    request.messages.extend([
        Message::Assistant { content },
        result("x"),
        result("y"),
        Message::Assistant {
            content: vec![AssistantBlock::Text { text: "It is.".into() }],
        },
    ]);
    request
}

#[tokio::test]
async fn a_conversation_is_sent_byte_for_byte() {
    let said = |text: &str| json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] });
    let expected = json!({
        "model": "test-model",
        "stream": true,
        "store": false,
        "tools": [{
            "type": "function", "name": "read", "description": "reads",
            "parameters": { "type": "object", "properties": { "z": {}, "a": {} } }, "strict": false,
        }],
        "instructions": "be brief",
        "input": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "look" }] },
            said("Looking."),
            { "type": "function_call", "call_id": "x", "name": "read", "arguments": "{\"b\": 1,\"a\":2}" },
            { "type": "function_call", "call_id": "y", "name": "No_Such",
              "arguments": "{\"not_a_json_object\":\"[1]\"}" },
            { "type": "function_call_output", "call_id": "x", "output": "hello" },
            { "type": "function_call_output", "call_id": "y", "output": "hello" },
            said("It is."),
        ],
    });
    let request = sent(conversation()).await;
    assert_eq!(String::from_utf8(request.body).expect("text"), expected.to_string());
}

#[tokio::test]
async fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
    let longer = conversation();
    let full = sent(longer.clone()).await.body;
    for kept in 1..longer.messages.len() {
        let mut shorter = longer.clone();
        shorter.messages.truncate(kept);
        let body = sent(shorter).await.body;
        let common = body.strip_suffix(b"]}").expect("the input stands last");
        assert!(full.starts_with(common), "after {kept} messages");
    }
}

#[tokio::test]
async fn head_names_the_endpoint_and_the_key() {
    let request = sent(ask("go")).await;
    assert_eq!(request.head[0], "POST /v1/responses HTTP/1.1");
    assert_eq!(request.header("authorization"), Some("Bearer hunter2-hunter2"));
    assert_eq!(request.header("accept"), Some("text/event-stream"));
}

const REASONING: &str = "{\"type\":\"reasoning\",\"id\":\"i0\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"hm\"}],\
                         \"status\":\"completed\",\"encrypted_content\":\"sealed\"}";

/// Gets an answer with reasoning and a call, and gives the body of the next request of a session.
async fn next(reasoning: &str, session: &str) -> Value {
    let first = start() + &done(0, reasoning) + &said(1, "Looking.") + &called(2, "x", "read", "{}") + &completed();
    let mut server = Server::start([first, completed()].map(Reply::stream)).await;
    let mut config = config(&server);
    config.reasoning_effort = Some("high".into());
    let model = OpenAiResponses::new(config).expect("a good configuration");
    let events = support::good(model.stream(ask("go")).collect().await);
    assert_eq!(events[..2], [thought("hm"), text("Looking.")]);
    let mut request = ask("go");
    request.origin.session = SessionId::new(session);
    let content = vec![
        AssistantBlock::Reasoning {
            text: "hm".into(),
            sealed: None,
        },
        AssistantBlock::Text {
            text: "Looking.".into(),
        },
        asked_call("x", "read", "{}"),
    ];
    request.messages.extend([Message::Assistant { content }, result("x")]);
    assert_eq!(model.stream(request).count().await, 2);
    server.request().await;
    server.request().await.json()
}

#[tokio::test]
async fn sse_11_encrypted_reasoning_is_asked_for_and_goes_back_with_its_calls() {
    let body = next(REASONING, "s").await;
    assert_eq!(body["reasoning"], json!({ "effort": "high", "summary": "auto" }));
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    let expected = json!({
        "type": "reasoning", "id": "i0", "summary": [{ "type": "summary_text", "text": "hm" }],
        "encrypted_content": "sealed",
    });
    assert_eq!(body["input"][1], expected);
    assert_eq!(body["input"][2]["content"][0]["text"], "Looking.");
    assert_eq!(body["input"][3]["call_id"], "x");
}

#[tokio::test]
async fn reasoning_that_the_endpoint_could_not_read_is_not_sent() {
    let open = REASONING.replace("encrypted_content", "other");
    for body in [next(REASONING, "another session").await, next(&open, "s").await] {
        let kinds: Vec<_> = body["input"]
            .as_array()
            .expect("items")
            .iter()
            .map(|item| &item["type"])
            .collect();
        assert_eq!(kinds, ["message", "message", "function_call", "function_call_output"]);
    }
}

#[test]
fn settings_are_checked() {
    let mut config = OpenAiResponsesConfig::new("https://a.example/v1");
    config.reasoning_effort = Some("Very high".into());
    assert_eq!(
        OpenAiResponses::new(config).expect_err("a bad setting").to_string(),
        "reasoning_effort: found \"Very high\", expected one word of lower-case letters, such as high"
    );
}
