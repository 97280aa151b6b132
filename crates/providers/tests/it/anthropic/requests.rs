//! What is sent.

use std::sync::Arc;

use serde_json::{Value, json};
use weft_types::{AssistantBlock, ToolSpec};

use super::*;

/// Sends a request and gives what arrived.
async fn sent(request: ModelRequest) -> server::Request {
    let mut server = Server::start([Reply::stream(whole(&said(0, "a"), "end_turn"))]).await;
    let answer: Vec<_> = model(&server).stream(request).collect().await;
    assert_eq!(answer[0], Ok(text("a")));
    server.request().await
}

fn call(id: &str, name: &str, arguments: &str) -> AssistantBlock {
    AssistantBlock::ToolCall {
        id: CallId::new(id),
        name: name.into(),
        arguments: arguments.into(),
    }
}

fn result(id: &str, texts: &[&str], is_error: bool) -> Message {
    Message::Tool {
        call_id: CallId::new(id),
        content: texts.iter().copied().map(ContentBlock::text).collect(),
        is_error,
    }
}

fn say_text(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.into() }
}

fn conversation() -> ModelRequest {
    let mut request = ask("look");
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "d".into(),
        parameters: json!({ "type": "object", "properties": { "z": {}, "a": {} } }),
    };
    request.tools = Arc::from([tool("read"), tool("list")]);
    let unsigned = AssistantBlock::Reasoning {
        text: "hm".into(),
        sealed: None,
    };
    let calls = vec![
        unsigned,
        say_text("Looking."),
        call("x", "read", "{\"b\": 1,\"a\":2}"),
        call("y", "list", ""),
    ];
    request.messages.extend([
        Message::Assistant { content: calls },
        result("x", &["he", "llo"], false),
        result("y", &[], true),
        Message::Assistant {
            content: vec![say_text("It is.")],
        },
        Message::User {
            content: vec![ContentBlock::text("  "), ContentBlock::text("and?")],
        },
        Message::Assistant {
            content: vec![call("z", "read", "{}")],
        },
        result("z", &[" "], false),
    ]);
    request
}

#[tokio::test]
async fn a_conversation_is_sent_byte_for_byte_with_marks_for_the_cache() {
    let request = sent(conversation()).await;
    let schema = json!({ "type": "object", "properties": { "z": {}, "a": {} } });
    let mark = json!({ "type": "ephemeral" });
    let expected = json!({
        "model": "test-model",
        "max_tokens": 32_000,
        "stream": true,
        "tools": [
            { "name": "read", "description": "d", "input_schema": schema },
            { "name": "list", "description": "d", "input_schema": schema, "cache_control": mark },
        ],
        "system": [{ "type": "text", "text": "be brief", "cache_control": mark }],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "look" }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "Looking." },
                { "type": "tool_use", "id": "x", "name": "read", "input": "RAW" },
                { "type": "tool_use", "id": "y", "name": "list", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "x", "content": "hello" },
                { "type": "tool_result", "tool_use_id": "y", "content": "(no message)", "is_error": true },
            ] },
            { "role": "assistant", "content": [{ "type": "text", "text": "It is." }] },
            { "role": "user", "content": [{ "type": "text", "text": "and?", "cache_control": mark }] },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "z", "name": "read", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "z", "cache_control": mark }] },
        ],
    });
    // The arguments are the model's own bytes.
    let expected = expected.to_string().replace("\"RAW\"", "{\"b\": 1,\"a\":2}");
    assert_eq!(String::from_utf8(request.body).expect("text"), expected);
}

#[tokio::test]
async fn a_longer_conversation_begins_with_the_bytes_of_the_shorter_marks_aside() {
    let unmarked = |body: Vec<u8>| {
        let body = String::from_utf8(body).expect("text");
        body.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
    };
    let longer = conversation();
    let full = unmarked(sent(longer.clone()).await.body);
    for kept in 1..longer.messages.len() {
        let mut shorter = longer.clone();
        shorter.messages.truncate(kept);
        let body = unmarked(sent(shorter).await.body);
        let common = body.strip_suffix("]}]}").expect("messages stand last");
        assert!(full.starts_with(common), "after {kept} messages: {common}");
    }
}

#[tokio::test]
async fn head_names_the_endpoint_the_key_and_the_version() {
    let request = sent(ask("go")).await;
    assert_eq!(request.head[0], "POST /v1/messages HTTP/1.1");
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn configured_headers_win_and_a_key_is_optional() {
    let mut server = Server::start([Reply::stream(whole("", "end_turn"))]).await;
    let mut config = AnthropicConfig::new(server.url());
    config.endpoint.headers = vec![
        ("Authorization".into(), Secret::new("Bearer t")),
        ("anthropic-version".into(), Secret::new("2099-01-01")),
        ("anthropic-beta".into(), Secret::new("b")),
    ];
    config.endpoint.max_tokens = Some(77);
    let model = Anthropic::new(config).expect("a good configuration");
    assert_eq!(model.stream(ask("go")).count().await, 2);
    let request = server.request().await;
    assert_eq!(request.header("x-api-key"), None);
    assert_eq!(request.header("authorization"), Some("Bearer t"));
    assert_eq!(request.header("anthropic-version"), Some("2099-01-01"));
    assert_eq!(request.header("anthropic-beta"), Some("b"));
    assert_eq!(request.json()["max_tokens"], 77);
}

#[tokio::test]
async fn results_stand_together_before_anything_else_the_user_says() {
    let mut request = ask("go");
    request.messages.extend([
        Message::Assistant {
            content: vec![call("x", "read", "{}"), call("y", "read", "{}")],
        },
        result("x", &["1"], false),
        Message::User {
            content: vec![ContentBlock::text("by the way")],
        },
        result("y", &["2"], false),
        Message::User {
            content: vec![ContentBlock::text("go on")],
        },
    ]);
    let body = sent(request).await.json();
    let content = body["messages"][2]["content"].as_array().expect("blocks");
    let kinds: Vec<_> = content
        .iter()
        .map(|block| {
            block
                .get("tool_use_id")
                .or_else(|| block.get("text"))
                .and_then(Value::as_str)
                .expect("a text")
        })
        .collect();
    assert_eq!(kinds, ["x", "y", "by the way", "go on"]);
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn sse_09_what_endpoints_refuse_in_a_history_is_made_fit() {
    let mut request = ask("go");
    request.system = " ".into();
    let calls = vec![
        say_text("\n"),
        call("a.b:0", "No Such", "{\"a\":1,}"),
        call("ok", "read", "[1]"),
    ];
    request.messages.extend([
        Message::Assistant { content: calls },
        result("a.b:0", &["no"], true),
        result("ok", &["no"], true),
        Message::Assistant {
            content: vec![AssistantBlock::Reasoning {
                text: "hm".into(),
                sealed: None,
            }],
        },
    ]);
    let body = sent(request).await.json();
    assert_eq!(body.get("system"), None);
    assert_eq!(body.get("tools"), None);
    assert_eq!(
        body["messages"][1]["content"],
        json!([
            { "type": "tool_use", "id": "hex_612e623a30", "name": "No_Such",
              "input": { "not_a_json_object": "{\"a\":1,}" } },
            { "type": "tool_use", "id": "ok", "name": "read", "input": { "not_a_json_object": "[1]" } },
        ])
    );
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "hex_612e623a30");
    assert_eq!(
        body["messages"].as_array().map(Vec::len),
        Some(3),
        "thinking alone is no message"
    );
}

#[test]
fn settings_are_checked() {
    let check = |change: fn(&mut AnthropicConfig), expected: &str| {
        let mut config = AnthropicConfig::new("https://a.example");
        change(&mut config);
        assert_eq!(Anthropic::new(config).expect_err("a bad setting").to_string(), expected);
    };
    check(
        |config| config.endpoint.max_tokens = Some(0),
        "max_tokens: found 0, expected 1 to 1000000",
    );
    check(
        |config| config.thinking = Thinking::Budget(1_023),
        "thinking: found 1023, expected at least 1024 and less than max_tokens (32000)",
    );
    check(
        |config| config.thinking = Thinking::Budget(32_000),
        "thinking: found 32000, expected at least 1024 and less than max_tokens (32000)",
    );
    check(
        |config| config.endpoint.base_url.push_str("/v1/messages"),
        "base_url: found \"https://a.example/v1/messages\", expected it without /messages, which is added",
    );
}

#[tokio::test]
async fn pictures_go_where_they_stand_in_prompts_and_results() {
    let body = sent(support::with_images()).await.json();
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "QUJD" } });
    let mut marked = image.clone();
    marked["cache_control"] = json!({ "type": "ephemeral" });
    assert_eq!(
        body["messages"][0]["content"],
        json!([{ "type": "text", "text": "see" }, marked])
    );
    let results = &body["messages"][2]["content"];
    assert_eq!(
        results[0]["content"],
        json!([{ "type": "text", "text": "a picture" }, image])
    );
    assert_eq!(results[1]["content"], "none");
}
