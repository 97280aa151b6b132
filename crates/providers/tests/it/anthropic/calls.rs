//! Tool calls, however they are sent.

use std::time::Duration;

use weft_model::ModelErrorKind;
use weft_types::AssistantBlock;

use super::*;

/// Checks the calls of an answer.
async fn check(blocks: &[String], expected: &[ModelEvent]) {
    let mut events = good(Reply::stream(whole(&blocks.concat(), "tool_use"))).await;
    assert_eq!(events.pop(), Some(ModelEvent::Finish(StopReason::ToolUse)));
    assert_eq!(events.pop(), Some(usage()));
    assert_eq!(events, expected);
}

#[tokio::test]
async fn sse_05_parallel_calls_in_pieces_and_with_gaps_in_their_numbers() {
    let blocks = [
        said(1, "Looking."),
        begin_call(3, "x", "read"),
        begin_call(9, "y", "list"),
        json(3, ""),
        json(3, "{\"path\":"),
        json(9, "{\"all\":true}"),
        json(3, "\"c.txt\"}"),
        end(9),
        end(3),
    ];
    let expected = [
        text("Looking."),
        tool_call("x", "read", "{\"path\":\"c.txt\"}"),
        tool_call("y", "list", "{\"all\":true}"),
    ];
    check(&blocks, &expected).await;
}

#[tokio::test]
async fn calls_with_one_number_are_told_apart() {
    let blocks = [called(0, "x", "read", "{\"a\":1}"), called(0, "y", "read", "{\"a\":2}")];
    check(
        &blocks,
        &[tool_call("x", "read", "{\"a\":1}"), tool_call("y", "read", "{\"a\":2}")],
    )
    .await;
}

#[tokio::test]
async fn sse_08_no_arguments_are_an_empty_object_and_others_stay_as_they_are() {
    let given = "{\"type\":\"tool_use\",\"id\":\"e\",\"name\":\"read\",\"input\":{\"a\":[1]}}";
    let blocks = [
        begin_call(0, "a", "none") + &end(0),
        called(1, "b", "none", ""),
        called(2, "c", "read", "null"),
        called(3, "d", "write", "{\"a\":1,}"),
        begin(4, given) + &end(4),
        begin(5, &given.replace("\"e\"", "\"f\"")) + &json(5, "{}") + &end(5),
    ];
    let expected = [
        tool_call("a", "none", "{}"),
        tool_call("b", "none", "{}"),
        tool_call("c", "read", "null"),
        tool_call("d", "write", "{\"a\":1,}"),
        tool_call("e", "read", "{\"a\":[1]}"),
        tool_call("f", "read", "{}"),
    ];
    check(&blocks, &expected).await;
}

#[tokio::test]
async fn ids_that_are_missing_or_taken_are_minted() {
    let blocks = [
        called(0, "", "a", "{}"),
        called(1, "old", "b", "{}"),
        called(2, "new", "c", "{}"),
        called(3, "new", "d", "{}"),
    ];
    let server = Server::start([Reply::stream(whole(&blocks.concat(), "tool_use"))]).await;
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
    for (reason, expected) in [("max_tokens", StopReason::MaxTokens), ("refusal", StopReason::Refusal)] {
        let blocks = said(0, "a") + &begin_call(1, "x", "read") + &json(1, "{\"pa");
        for blocks in [blocks.clone(), blocks + &end(1)] {
            let events = good(Reply::stream(whole(&blocks, reason))).await;
            assert_eq!(events[0], text("a"));
            assert_eq!(events[1..], finished(expected));
        }
    }
}

#[tokio::test]
async fn sse_09_a_call_that_did_not_end_fails_the_answer() {
    for part in ["{\"pa", "{}", ""] {
        let body = whole(&(begin_call(0, "x", "read") + &json(0, part)), "tool_use");
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
        (json(0, "{}"), "a input_json_delta belongs to no block of its kind"),
        (
            begin(0, TEXT) + &json(0, "{}"),
            "a input_json_delta belongs to no block of its kind",
        ),
        (
            begin_call(0, "x", "read") + &say(0, "a"),
            "a text_delta belongs to no block of its kind",
        ),
        (
            begin(0, TEXT) + &say(7, "a"),
            "a text_delta belongs to no block of its kind",
        ),
    ];
    for (blocks, expected) in cases {
        let (events, error) = bad(Reply::stream(whole(&blocks, "tool_use"))).await;
        assert!(events.is_empty(), "{events:?}");
        assert_eq!(error.kind(), ModelErrorKind::Incomplete);
        assert!(error.message().ends_with(expected), "{error}");
    }
}

#[tokio::test]
async fn a_call_without_a_name_fails_the_answer() {
    let (_, error) = bad(Reply::stream(whole(&called(0, "x", "", "{}"), "tool_use"))).await;
    assert!(
        error.message().ends_with("it holds a tool call without a name"),
        "{error}"
    );
}

#[tokio::test]
async fn calls_and_blocks_without_end_are_ended() {
    let calls: String = (0..1_100).map(|index| called(index, "", "a", "{}")).collect();
    let (_, error) = bad(Reply::stream(whole(&calls, "tool_use"))).await;
    assert!(
        error.message().ends_with("is too long: more than 1024 tool calls"),
        "{error}"
    );

    let mut server = Server::start([Reply::stream(begin(0, TEXT)).then(End::Repeat)]).await;
    let mut config = config(&server);
    config.endpoint.max_answer_bytes = 2_048;
    let model = Anthropic::new(config).expect("a good configuration");
    let answer = model.stream(ask("go")).collect();
    let items = tokio::time::timeout(Duration::from_secs(4), answer).await;
    let (_, error) = support::bad(items.expect("the limit ends it at once"));
    assert!(
        error.message().ends_with("more than max_answer_bytes (2048)"),
        "{error}"
    );
    server.left().await;
}
