//! Tool calls, however they are sent.

use std::time::Duration;

use weft_model::ModelErrorKind;
use weft_types::AssistantBlock;

use super::*;

fn arguments(index: u64, part: &str) -> String {
    piece("function_call_arguments.delta", index, part)
}

/// Checks the calls of an answer.
async fn check(items: &[String], expected: &[ModelEvent]) {
    let mut events = good(Reply::stream(start() + &items.concat() + &completed())).await;
    assert_eq!(events.pop(), Some(ModelEvent::Finish(StopReason::ToolUse)));
    assert_eq!(events.pop(), Some(usage()));
    assert_eq!(events, expected);
}

#[tokio::test]
async fn sse_05_parallel_calls_in_pieces_and_with_gaps_in_their_numbers() {
    let items = [
        said(1, "Looking."),
        added(3, &call(3, "x", "read", "")),
        added(9, &call(9, "y", "list", "")),
        arguments(3, "{\"path\":"),
        arguments(9, "{\"all\":true}"),
        arguments(3, "\"c.txt\"}"),
        event(
            "function_call_arguments.done",
            ",\"output_index\":3,\"arguments\":\"{}\"",
        ),
        done(9, &call(9, "y", "list", "{\"all\":true}")),
        done(3, &call(3, "x", "read", "{\"path\":\"c.txt\"}")),
    ];
    let expected = [
        text("Looking."),
        tool_call("x", "read", "{\"path\":\"c.txt\"}"),
        tool_call("y", "list", "{\"all\":true}"),
    ];
    check(&items, &expected).await;
}

#[tokio::test]
async fn calls_with_one_number_are_told_apart() {
    let items = [called(0, "x", "read", "{\"a\":1}"), called(0, "y", "read", "{\"a\":2}")];
    check(
        &items,
        &[tool_call("x", "read", "{\"a\":1}"), tool_call("y", "read", "{\"a\":2}")],
    )
    .await;
}

#[tokio::test]
async fn sse_08_arguments_stay_as_they_are_and_none_are_an_empty_object() {
    let items = [
        called(0, "a", "none", ""),
        called(1, "b", "read", "null"),
        called(2, "c", "write", "{\"a\":1,}"),
        done(3, &call(3, "d", "read", "{\"at\":\"once\"}")),
    ];
    let expected = [
        tool_call("a", "none", "{}"),
        tool_call("b", "read", "null"),
        tool_call("c", "write", "{\"a\":1,}"),
        tool_call("d", "read", "{\"at\":\"once\"}"),
    ];
    check(&items, &expected).await;
}

#[tokio::test]
async fn ids_that_are_missing_or_taken_are_minted() {
    let items = [
        called(0, "", "a", "{}"),
        called(1, "old", "b", "{}"),
        called(2, "new", "c", "{}"),
        called(3, "new", "d", "{}"),
    ];
    let server = Server::start([Reply::stream(items.concat() + &completed())]).await;
    let mut request = ask("go");
    let old = AssistantBlock::ToolCall {
        id: CallId::new("old"),
        name: "b".into(),
        arguments: "{}".into(),
    };
    request.messages.push(Message::Assistant { content: vec![old] });
    let events = support::good(model(&server).stream(request).collect().await);
    let expected = [
        tool_call("call_t3s2n1", "a", "{}"),
        tool_call("call_t3s2n2", "b", "{}"),
        tool_call("new", "c", "{}"),
        tool_call("call_t3s2n4", "d", "{}"),
    ];
    assert_eq!(events[..4], expected);
}

#[tokio::test]
async fn the_calls_of_an_answer_that_was_cut_off_are_left_out() {
    let cut = added(1, &call(1, "x", "read", "")) + &arguments(1, "{\"pa");
    for items in [said(0, "a") + &cut, said(0, "a") + &called(1, "x", "read", "{}")] {
        let events = good(Reply::stream(start() + &items + &incomplete("max_output_tokens"))).await;
        assert_eq!(events[0], text("a"));
        assert_eq!(events[1..], finished(StopReason::MaxTokens));
    }
}

#[tokio::test]
async fn sse_09_a_call_that_did_not_end_fails_the_answer() {
    for part in ["{\"pa", "{}", ""] {
        let body = start() + &added(0, &call(0, "x", "read", "")) + &arguments(0, part) + &completed();
        let (events, error) = bad(Reply::stream(body)).await;
        assert!(events.is_empty(), "{events:?}");
        assert_eq!(error.kind(), ModelErrorKind::Incomplete);
        assert!(
            error.message().ends_with("it holds a tool call that did not end"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_piece_that_belongs_nowhere_fails_the_answer() {
    let cases = [
        (arguments(0, "{}"), "arguments"),
        (begin_message(0) + &arguments(0, "{}"), "arguments"),
        (added(0, &call(0, "x", "read", "")) + &say(0, "a"), "text"),
        (begin_message(0) + &say(7, "a").replace("i7", "other"), "text"),
        (begin_message(0) + &piece("reasoning_text.delta", 0, "a"), "reasoning"),
    ];
    for (items, what) in cases {
        let (events, error) = bad(Reply::stream(start() + &items + &completed())).await;
        assert!(events.is_empty(), "{events:?}");
        let expected = format!("a piece of {what} belongs to no item of its kind");
        assert!(error.message().ends_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn a_call_without_a_name_fails_the_answer() {
    let (_, error) = bad(Reply::stream(called(0, "x", "", "{}") + &completed())).await;
    assert!(
        error.message().ends_with("it holds a tool call without a name"),
        "{error}"
    );
}

#[tokio::test]
async fn items_and_arguments_without_end_are_ended() {
    let calls: String = (0..1_100).map(|index| called(index, "", "a", "{}")).collect();
    let (_, error) = bad(Reply::stream(calls + &completed())).await;
    assert!(
        error.message().ends_with("is too long: more than 1024 items"),
        "{error}"
    );

    let body = added(0, &call(0, "x", "read", "")) + &arguments(0, "more");
    let mut server = Server::start([Reply::stream(body).then(End::Repeat)]).await;
    let mut config = config(&server);
    config.endpoint.max_answer_bytes = 2_048;
    let model = OpenAiResponses::new(config).expect("a good configuration");
    let answer = model.stream(ask("go")).collect();
    let items = tokio::time::timeout(Duration::from_secs(4), answer).await;
    let (_, error) = support::bad(items.expect("the limit ends it at once"));
    assert!(
        error.message().ends_with("more than max_answer_bytes (2048)"),
        "{error}"
    );
    server.left().await;
}
