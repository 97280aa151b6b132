//! What is sent.

use std::sync::Arc;

use serde_json::{Value, json};
use weft_types::{AssistantBlock, ToolSpec};

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
        "prompt_cache_key": "s",
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

/// Gets an answer with reasoning and a call, and gives the body of the next request, which another process sends to
/// a model.
async fn next(reasoning: &str, to: &str) -> Value {
    let first = start() + &done(0, reasoning) + &said(1, "Looking.") + &called(2, "x", "read", "{}") + &completed();
    let mut server = Server::start([first, completed()].map(Reply::stream)).await;
    let mut config = config(&server);
    config.reasoning_effort = Some("high".into());
    let model = || OpenAiResponses::new(config.clone()).expect("a good configuration");
    let events = support::good(model().stream(ask("go")).collect().await);
    let shown = support::unsealed(events.clone());
    assert_eq!(shown[..2], [thought("hm"), text("Looking.")]);
    let mut request = support::continued(ask("go"), &events);
    request.model = to.into();
    assert_eq!(model().stream(request).count().await, 2);
    server.request().await;
    server.request().await.json()
}

#[tokio::test]
async fn sse_11_encrypted_reasoning_is_asked_for_and_goes_back_with_its_calls() {
    let body = next(REASONING, "test-model").await;
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
    for body in [next(REASONING, "another model").await, next(&open, "test-model").await] {
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

#[tokio::test]
async fn pictures_go_where_they_stand_in_prompts_and_results() {
    let body = sent(support::with_images()).await.json();
    let image = json!({ "type": "input_image", "image_url": "data:image/png;base64,QUJD" });
    let told = |text: &str| json!({ "type": "input_text", "text": text });
    assert_eq!(body["input"][0]["content"], json!([told("see"), image]));
    assert_eq!(body["input"][3]["output"], json!([told("a picture"), image]));
    assert_eq!(body["input"][4]["output"], "none");
}

#[tokio::test]
async fn a_limit_of_tokens_is_sent_where_one_is_set() {
    let mut server = Server::start([Reply::stream(said(0, "a") + &completed())]).await;
    let mut config = config(&server);
    config.endpoint.max_tokens = Some(777);
    let model = OpenAiResponses::new(config).expect("a good configuration");
    assert_eq!(model.stream(ask("go")).count().await, 3);
    assert_eq!(server.request().await.json()["max_output_tokens"], 777);
}
