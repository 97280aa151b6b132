//! Thinking: shown as it comes, and sent back as it was.

use serde_json::{Value, json};
use weft_types::{AssistantBlock, SessionId};

use super::*;

/// An answer with two thoughts, one of them sealed, between texts and calls.
fn thoughtful() -> String {
    let blocks = [
        thinks(0, "I should look", "sig-1"),
        said(1, "Looking "),
        begin(2, "{\"type\":\"redacted_thinking\",\"data\":\"sealed\"}") + &end(2),
        said(3, "twice."),
        called(4, "x", "read", "{\"a\": 1}"),
        thinks(5, "", "sig-2"),
        called(6, "x", "list", "{}"),
    ];
    whole(&blocks.concat(), "tool_use")
}

/// The conversation after an answer, as an agent makes it of the events, with a result for each call.
fn continued(mut request: ModelRequest, events: &[ModelEvent]) -> ModelRequest {
    let (mut content, mut results) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            ModelEvent::TextDelta(more) => match content.last_mut() {
                Some(AssistantBlock::Text { text }) => text.push_str(more),
                _ => content.push(AssistantBlock::Text { text: more.clone() }),
            },
            ModelEvent::ReasoningDelta(text) => content.push(AssistantBlock::Reasoning {
                text: text.clone(),
                sealed: None,
            }),
            ModelEvent::ToolCall { id, name, arguments } => {
                content.push(AssistantBlock::ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                });
                results.push(Message::Tool {
                    call_id: id.clone(),
                    content: vec![ContentBlock::text("ok")],
                    is_error: false,
                });
            }
            ModelEvent::Usage(_) | ModelEvent::Finish(_) => {}
        }
    }
    request.messages.push(Message::Assistant { content });
    request.messages.extend(results);
    request
}

fn thinking_model(server: &Server, thinking: Thinking) -> Anthropic {
    let mut config = config(server);
    config.thinking = thinking;
    Anthropic::new(config).expect("a good configuration")
}

/// Gets a thoughtful answer, and gives the body of the next request, which `change` may change.
async fn next(thinking: Thinking, first: String, change: impl FnOnce(&mut ModelRequest)) -> Value {
    let replies = [first, whole("", "end_turn")].map(Reply::stream);
    let mut server = Server::start(replies).await;
    let model = thinking_model(&server, thinking);
    let events = support::good(model.stream(ask("go")).collect().await);
    let mut request = continued(ask("go"), &events);
    change(&mut request);
    assert_eq!(model.stream(request).count().await, 2);
    server.request().await;
    server.request().await.json()
}

fn without_thinking() -> Value {
    json!([
        { "type": "text", "text": "Looking twice." },
        { "type": "tool_use", "id": "x", "name": "read", "input": { "a": 1 } },
        { "type": "tool_use", "id": "call_t3s2n2", "name": "list", "input": {} },
    ])
}

#[tokio::test]
async fn thinking_is_told_apart_from_text() {
    let events = good(Reply::stream(thoughtful())).await;
    let expected = [
        thought("I should look"),
        text("Looking "),
        text("twice."),
        tool_call("x", "read", "{\"a\": 1}"),
        tool_call("call_t3s2n2", "list", "{}"),
        usage(),
        ModelEvent::Finish(StopReason::ToolUse),
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn sse_11_signed_thinking_goes_back_with_its_calls_in_its_order() {
    for thinking in [Thinking::Unsaid, Thinking::Adaptive, Thinking::Budget(2_048)] {
        let body = next(thinking, thoughtful(), |_| {}).await;
        let expected = json!([
            { "type": "thinking", "thinking": "I should look", "signature": "sig-1" },
            { "type": "text", "text": "Looking " },
            { "type": "redacted_thinking", "data": "sealed" },
            { "type": "text", "text": "twice." },
            { "type": "tool_use", "id": "x", "name": "read", "input": { "a": 1 } },
            { "type": "thinking", "thinking": "", "signature": "sig-2" },
            { "type": "tool_use", "id": "call_t3s2n2", "name": "list", "input": {} },
        ]);
        assert_eq!(body["messages"][1]["content"], expected);
    }
}

#[tokio::test]
async fn thinking_is_asked_for_as_configured() {
    for (thinking, expected) in [
        (Thinking::Unsaid, Value::Null),
        (
            Thinking::Adaptive,
            json!({ "type": "adaptive", "display": "summarized" }),
        ),
        (
            Thinking::Budget(2_048),
            json!({ "type": "enabled", "budget_tokens": 2_048 }),
        ),
    ] {
        assert_eq!(next(thinking, thoughtful(), |_| {}).await["thinking"], expected);
    }
}

#[tokio::test]
async fn thinking_of_another_session_is_not_sent() {
    let body = next(Thinking::Adaptive, thoughtful(), |request| {
        request.origin.session = SessionId::new("t");
    })
    .await;
    assert_eq!(body["messages"][1]["content"], without_thinking());
    assert_eq!(body["thinking"]["type"], "adaptive");
}

#[tokio::test]
async fn thinking_of_an_answer_that_is_no_longer_what_it_was_is_not_sent() {
    let changed = |request: &mut ModelRequest| {
        let Message::Assistant { content } = &mut request.messages[1] else {
            panic!("an answer")
        };
        content.retain(|block| !matches!(block, AssistantBlock::Text { .. }));
    };
    let body = next(Thinking::Adaptive, thoughtful(), changed).await;
    assert_eq!(body["messages"][1]["content"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn a_budget_is_left_out_while_calls_are_answered_whose_thinking_is_gone() {
    let elsewhere = |request: &mut ModelRequest| request.origin.session = SessionId::new("t");
    let body = next(Thinking::Budget(2_048), thoughtful(), elsewhere).await;
    assert_eq!(body.get("thinking"), None);
    let interrupted = |request: &mut ModelRequest| {
        elsewhere(request);
        request.messages.push(Message::User {
            content: vec![ContentBlock::text("go on")],
        });
    };
    let body = next(Thinking::Budget(2_048), thoughtful(), interrupted).await;
    assert_eq!(body.get("thinking"), None, "the results still stand before the prompt");
    let answered = |request: &mut ModelRequest| {
        elsewhere(request);
        request.messages.push(Message::Assistant {
            content: vec![AssistantBlock::Text { text: "done".into() }],
        });
        request.messages.push(Message::User {
            content: vec![ContentBlock::text("next")],
        });
    };
    let body = next(Thinking::Budget(2_048), thoughtful(), answered).await;
    assert_eq!(body["thinking"]["budget_tokens"], 2_048, "another turn");
    let unthought = whole(&called(0, "x", "read", "{}"), "tool_use");
    assert_eq!(
        next(Thinking::Budget(2_048), unthought, |_| {}).await.get("thinking"),
        None
    );
}

#[tokio::test]
async fn thinking_without_a_signature_goes_back_without_one() {
    let first = begin(0, "{\"type\":\"thinking\",\"thinking\":\"hm\"}") + &end(0) + &called(1, "x", "read", "{}");
    let body = next(Thinking::Unsaid, whole(&first, "tool_use"), |_| {}).await;
    assert_eq!(
        body["messages"][1]["content"][0],
        json!({ "type": "thinking", "thinking": "hm" })
    );
}

#[tokio::test]
async fn the_thinking_of_an_answer_that_failed_is_not_kept() {
    let cut = start() + &thinks(0, "hm", "sig") + &called(1, "x", "read", "{}");
    let replies = [cut, whole("", "end_turn")].map(Reply::stream);
    let mut server = Server::start(replies).await;
    let model = model(&server);
    let (events, _) = support::bad(model.stream(ask("go")).collect().await);
    assert_eq!(events, [thought("hm")]);
    let same = continued(ask("go"), &[tool_call("x", "read", "{}")]);
    assert_eq!(model.stream(same).count().await, 2);
    server.request().await;
    let body = server.request().await.json();
    assert_eq!(body["messages"][1]["content"].as_array().map(Vec::len), Some(1));
}
