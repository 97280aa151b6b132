//! What is sent.

use serde_json::{Value, json};
use weft_types::{AssistantBlock, ToolSpec};

use super::*;

/// Sends a request and gives what arrived.
async fn sent(request: ModelRequest) -> server::Request {
    let mut server = Server::start([Reply::stream(say("a") + DONE)]).await;
    let answer: Vec<_> = model(&server).stream(request).collect().await;
    assert_eq!(answer[0], Ok(text("a")));
    server.request().await
}

fn conversation() -> ModelRequest {
    let mut request = ask("look");
    request.tools = Arc::from([ToolSpec {
        name: "read".into(),
        description: "reads".into(),
        parameters: json!({ "type": "object", "properties": { "z": {}, "a": {} } }),
    }]);
    let call = |id: &str, arguments: &str| AssistantBlock::ToolCall {
        id: CallId::new(id),
        name: "read".into(),
        arguments: arguments.into(),
    };
    let result = |id: &str| Message::Tool {
        call_id: CallId::new(id),
        content: vec![ContentBlock::text("he"), ContentBlock::text("llo")],
        is_error: false,
    };
    request.messages.push(Message::Assistant {
        content: vec![
            AssistantBlock::Reasoning {
                text: "I should ".into(),
                sealed: None,
            },
            AssistantBlock::Reasoning {
                text: "look".into(),
                sealed: None,
            },
            AssistantBlock::Text {
                text: "Looking.".into(),
            },
            call("x", "{\"a\": 1}"),
            call("y", ""),
        ],
    });
    request.messages.extend([result("x"), result("y")]);
    let thought = AssistantBlock::Reasoning {
        text: "done".into(),
        sealed: None,
    };
    request.messages.push(Message::Assistant {
        content: vec![thought.clone()],
    });
    request.messages.push(Message::Assistant {
        content: vec![thought, AssistantBlock::Text { text: "It is.".into() }],
    });
    request
}

#[tokio::test]
async fn sse_11_a_conversation_is_sent_with_reasoning_beside_its_calls() {
    let request = sent(conversation()).await;
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": arguments } });
    let expected = json!({
        "model": "test-model",
        "stream": true,
        "stream_options": { "include_usage": true },
        "tools": [{ "type": "function", "function": {
            "name": "read",
            "description": "reads",
            "parameters": { "type": "object", "properties": { "z": {}, "a": {} } },
        } }],
        "messages": [
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": "look" },
            { "role": "assistant", "content": "Looking.", "reasoning_content": "I should look",
              "tool_calls": [call("x", "{\"a\": 1}"), call("y", "{}")] },
            { "role": "tool", "tool_call_id": "x", "content": "hello" },
            { "role": "tool", "tool_call_id": "y", "content": "hello" },
            { "role": "assistant", "content": "It is." },
        ],
    });
    assert_eq!(
        String::from_utf8(request.body).expect("text"),
        expected.to_string(),
        "byte for byte"
    );
}

#[tokio::test]
async fn head_names_the_endpoint_the_key_and_the_client() {
    let request = sent(ask("go")).await;
    assert_eq!(request.head[0], "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(request.header("authorization"), Some("Bearer hunter2-hunter2"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("accept"), Some("text/event-stream"));
    assert!(
        request
            .header("user-agent")
            .is_some_and(|agent| agent.starts_with("weft/"))
    );
}

/// The environment belongs to the whole process, so another test is run in one of its own.
#[tokio::test]
async fn an_endpoint_on_this_machine_is_reached_without_the_proxy_of_the_environment() {
    let nobody = "http://127.0.0.1:9";
    let this = std::env::current_exe().expect("a path");
    let mut test = tokio::process::Command::new(this);
    test.args([
        "--exact",
        "openai_chat::requests::head_names_the_endpoint_the_key_and_the_client",
    ])
    .kill_on_drop(true);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        test.env(name, nobody);
    }
    let output = test
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .output()
        .await
        .expect("the test binary runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}

#[tokio::test]
async fn configured_headers_win_and_a_key_is_optional() {
    let mut server = Server::start([Reply::stream(DONE)]).await;
    let mut config = EndpointConfig::new(server.url());
    config.headers = vec![
        ("X-Extra".into(), Secret::new("1")),
        ("User-Agent".into(), Secret::new("me")),
    ];
    let model = OpenAiChat::new(config).expect("a good configuration");
    assert_eq!(model.stream(ask("go")).count().await, 1);
    let request = server.request().await;
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.header("x-extra"), Some("1"));
    assert_eq!(request.header("user-agent"), Some("me"));
}

#[tokio::test]
async fn a_longer_conversation_begins_with_the_bytes_of_the_shorter() {
    let longer = conversation();
    let full = sent(longer.clone()).await.body;
    for kept in 1..longer.messages.len() {
        let mut shorter = longer.clone();
        shorter.messages.truncate(kept);
        let body = sent(shorter).await.body;
        let common = body.strip_suffix(b"]}").expect("messages stand last");
        assert!(full.starts_with(common), "after {kept} messages");
    }
}

#[tokio::test]
async fn sse_09_arguments_go_back_as_an_object_that_shows_what_was_written() {
    let mut request = ask("go");
    let written = [
        "null",
        "[1]",
        "\"x\"",
        "{\"a\":1,}",
        "{\"a\":",
        "{\"a\":\"x\ny\"}",
        " ",
        "{\"ok\":true}",
    ];
    let call = |(at, arguments): (usize, &&str)| AssistantBlock::ToolCall {
        id: CallId::new(at.to_string()),
        name: "read".into(),
        arguments: (*arguments).into(),
    };
    request.messages.push(Message::Assistant {
        content: written.iter().enumerate().map(call).collect(),
    });
    let body = sent(request).await.json();
    let answer = &body["messages"][2];
    assert_eq!(answer["content"], Value::Null);
    assert_eq!(answer.get("reasoning_content"), None);
    let sent = answer["tool_calls"].as_array().expect("calls").iter();
    let sent: Vec<Value> = sent
        .map(|call| serde_json::from_str(call["function"]["arguments"].as_str().expect("a text")).expect("JSON"))
        .collect();
    let kept = |text: &str| json!({ "not_a_json_object": text });
    let mut expected: Vec<Value> = written[..6].iter().map(|text| kept(text)).collect();
    expected.extend([json!({}), json!({ "ok": true })]);
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn an_empty_system_prompt_and_no_tools_are_not_sent() {
    let mut request = ask("go");
    request.system = "".into();
    let body = sent(request).await.json();
    assert_eq!(body.get("tools"), None);
    assert_eq!(body["messages"], json!([{ "role": "user", "content": "go" }]));
}

#[tokio::test]
async fn a_connection_serves_one_request_after_the_other() {
    let body = say("a") + &finish("stop") + DONE;
    let chunked = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    let replies = [chunked.clone(), chunked].map(|bytes| Reply::raw(bytes).then(server::End::KeepAlive));
    let mut server = Server::start(replies).await;
    let model = model(&server);
    assert_eq!(model.stream(ask("one")).count().await, 2);
    // The connection's own task puts it back, once it has seen the end of the answer.
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert_eq!(model.stream(ask("two")).count().await, 2);
    let mut connections = 0;
    for _ in 0..3 {
        connections += usize::from(matches!(server.seen().await, server::Seen::Connected));
    }
    assert_eq!(
        connections, 1,
        "of the first three things that happened, two are requests"
    );
}

#[tokio::test]
async fn pictures_of_prompts_stand_in_them_and_those_of_results_follow_the_row_of_results() {
    let body = sent(support::with_images()).await.json();
    let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } });
    assert_eq!(
        body["messages"][1]["content"],
        json!([{ "type": "text", "text": "see" }, image])
    );
    assert_eq!(
        body["messages"][3]["content"],
        "a picture\n[image image/png: it follows the results]"
    );
    assert_eq!(body["messages"][4]["content"], "none");
    let told = "The images of the tool results above, in their order:";
    let expected = json!({ "role": "user", "content": [{ "type": "text", "text": told }, image] });
    assert_eq!(body["messages"][5], expected);
}

#[tokio::test]
async fn a_model_that_takes_no_pictures_is_told_of_them() {
    let mut server = Server::start([Reply::stream(say("a") + DONE)]).await;
    let mut config = config(&server);
    config.knowledge = support::blind(1);
    let model = OpenAiChat::new(config).expect("a good configuration");
    assert_eq!(model.stream(support::with_images()).count().await, 2);
    let body = server.request().await.json();
    let left_out = "[image image/png left out: test-model takes no images]";
    assert_eq!(body["messages"][1]["content"], format!("see{left_out}"));
    assert_eq!(body["messages"][3]["content"], format!("a picture{left_out}"));
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(5));
}

#[tokio::test]
async fn a_limit_of_tokens_is_sent_where_one_is_set() {
    let mut server = Server::start([Reply::stream(say("a") + DONE)]).await;
    let mut config = config(&server);
    config.max_tokens = Some(777);
    let model = OpenAiChat::new(config).expect("a good configuration");
    assert_eq!(model.stream(ask("go")).count().await, 2);
    let body = server.request().await.json();
    assert_eq!(
        (&body["max_tokens"], body.get("max_completion_tokens")),
        (&json!(777), None)
    );
}

/// Gets an answer with a call, and gives the answer's message in the next request, which another process sends.
async fn next(first: &str, to: &str) -> Value {
    let mut server = Server::start([first.to_owned(), say("a") + DONE].map(Reply::stream)).await;
    let answer = support::good(model(&server).stream(ask("go")).collect().await);
    let mut request = support::continued(ask("go"), &answer);
    request.model = to.into();
    assert_eq!(model(&server).stream(request).count().await, 2);
    server.request().await;
    server.request().await.json()["messages"][2].clone()
}

#[tokio::test]
async fn sse_11_what_a_gateway_wants_back_goes_back_with_its_calls() {
    let first = concat!(
        "data: {\"choices\":[{\"delta\":{\"reasoning\":\"h\",\"reasoning_details\":[{\"type\":\"reasoning.text\",",
        "\"index\":0,\"text\":\"h\"}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"index\":0,",
        "\"text\":\"m\",\"signature\":\"sig\"}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"read\",",
        "\"arguments\":\"{}\"},\"extra_content\":{\"google\":{\"thought_signature\":\"t\"}}}]},",
        "\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
    );
    let back = next(first, "test-model").await;
    let details = json!([{ "type": "reasoning.text", "index": 0, "text": "hm", "signature": "sig" }]);
    assert_eq!(back["reasoning_details"], details);
    assert_eq!(back.get("reasoning_content"), None);
    let extra = json!({ "google": { "thought_signature": "t" } });
    assert_eq!(back["tool_calls"][0]["extra_content"], extra);
    let other = next(first, "another model").await;
    assert_eq!(other.get("reasoning_details"), None);
    assert_eq!(other["reasoning_content"], "hm");
    assert_eq!(other["tool_calls"][0].get("extra_content"), None);
}
