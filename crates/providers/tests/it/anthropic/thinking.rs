//! Thinking: shown as it comes, and sent back as it was.

use serde_json::{Value, json};
use weft_types::AssistantBlock;

use crate::support::{continued, unsealed};

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

fn thinking_model(server: &Server, thinking: Thinking) -> Anthropic {
    let mut config = config(server);
    config.thinking = thinking;
    Anthropic::new(config).expect("a good configuration")
}

/// Gets a thoughtful answer, and gives the body of the next request, which `change` may change and another process
/// sends.
async fn next(thinking: Thinking, first: String, change: impl FnOnce(&mut ModelRequest)) -> Value {
    let replies = [first, whole("", "end_turn")].map(Reply::stream);
    let mut server = Server::start(replies).await;
    let model = thinking_model(&server, thinking);
    let events = support::good(model.stream(ask("go")).collect().await);
    let mut request = continued(ask("go"), &events);
    change(&mut request);
    let model = thinking_model(&server, thinking);
    assert_eq!(model.stream(request).count().await, 2);
    server.request().await;
    server.request().await.json()
}

fn without_thinking() -> Value {
    json!([
        { "type": "text", "text": "Looking " },
        { "type": "text", "text": "twice." },
        { "type": "tool_use", "id": "x", "name": "read", "input": { "a": 1 } },
        { "type": "tool_use", "id": "call_t3s2n2", "name": "list", "input": {} },
    ])
}

#[tokio::test]
async fn thinking_is_told_apart_from_text() {
    let events = good(Reply::stream(thoughtful())).await;
    let seals = events.iter().filter(|event| support::is_seal(event)).count();
    assert_eq!(seals, 3);
    assert!(support::is_seal(&events[1]), "behind its text: {events:?}");
    let events = unsealed(events);
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
async fn thinking_of_another_model_is_not_sent() {
    let body = next(Thinking::Adaptive, thoughtful(), |request| {
        request.model = "other".into();
    })
    .await;
    assert_eq!(body["messages"][1]["content"], without_thinking());
    assert_eq!(body["thinking"]["type"], "adaptive");
}

#[tokio::test]
async fn thinking_whose_end_was_not_told_is_sealed_all_the_same() {
    let begun = begin(0, "{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}");
    let body = next(
        Thinking::Unsaid,
        whole(&(begun + &called(1, "x", "read", "{}")), "tool_use"),
        |_| {},
    )
    .await;
    let expected = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
    assert_eq!(body["messages"][1]["content"][0], expected);
}

#[tokio::test]
async fn thinking_of_an_answer_without_calls_goes_back_before_its_text() {
    let first = whole(&(thinks(0, "hm", "sig") + &said(1, "yes")), "end_turn");
    let body = next(Thinking::Unsaid, first, |_| {}).await;
    let expected = json!([
        { "type": "thinking", "thinking": "hm", "signature": "sig" },
        { "type": "text", "text": "yes" },
    ]);
    assert_eq!(body["messages"][1]["content"], expected);
}

#[tokio::test]
async fn a_budget_is_left_out_while_calls_are_answered_whose_thinking_is_gone() {
    let elsewhere = |request: &mut ModelRequest| request.model = "other".into();
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
async fn a_model_that_gives_fewer_tokens_is_asked_for_no_more() {
    for (most, budget, expected) in [
        (8_192, None, 8_192),
        (64_000, None, 32_000),
        (8_192, Some(9_000), 9_000),
    ] {
        let mut server = Server::start([Reply::stream(whole("", "end_turn"))]).await;
        let mut config = config(&server);
        config.endpoint.knowledge = support::blind(most);
        config.endpoint.max_tokens = budget;
        config.thinking = Thinking::Budget(8_500);
        let model = Anthropic::new(config).expect("a good configuration");
        assert_eq!(model.stream(ask("go")).count().await, 2);
        let body = server.request().await.json();
        assert_eq!(body["max_tokens"], expected);
        assert_eq!(body["thinking"]["budget_tokens"], 8_500.min(expected - 1));
    }
}
