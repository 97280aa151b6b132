//! Tool calls, however they are sent.

use weft_types::AssistantBlock;

use super::*;

/// Checks the calls of an answer that ends with a reason.
async fn check(chunks: &[String], reason: &str, expected: &[ModelEvent]) {
    let body = format!("{}{}{DONE}", chunks.concat(), finish(reason));
    let mut events = good(Reply::stream(body)).await;
    assert_eq!(events.pop(), Some(ModelEvent::Finish(StopReason::ToolUse)));
    assert_eq!(events, expected);
}

#[tokio::test]
async fn sse_05_parallel_calls_with_gaps_in_their_numbers() {
    let more = |index: u64, arguments: &str| {
        delta(&format!(
            "{{\"tool_calls\":[{{\"index\":{index},\"function\":{{\"arguments\":{arguments:?}}}}}]}}"
        ))
    };
    let chunks = [
        call(3, "x", "read", ""),
        call(9, "y", "list", ""),
        more(3, "{\"path\":"),
        more(9, "{\"all\":true}"),
        more(3, "\"c.txt\"}"),
    ];
    let expected = [
        tool_call("x", "read", "{\"path\":\"c.txt\"}"),
        tool_call("y", "list", "{\"all\":true}"),
    ];
    check(&chunks, "tool_calls", &expected).await;
}

#[tokio::test]
async fn sse_07_a_whole_call_without_a_number() {
    let chunk =
        delta("{\"tool_calls\":[{\"id\":\"x\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"a\\\":1}\"}}]}");
    check(&[chunk], "tool_calls", &[tool_call("x", "read", "{\"a\":1}")]).await;
}

#[tokio::test]
async fn sse_08_no_arguments_are_an_empty_object_and_others_stay_as_they_are() {
    let chunks = [
        call(0, "a", "none", ""),
        call(1, "b", "read", "null"),
        call(2, "c", "read", "[3]"),
        call(3, "d", "read", "\"x\""),
        delta("{\"tool_calls\":[{\"index\":4,\"id\":\"e\",\"function\":{\"name\":\"none\",\"arguments\":null}}]}"),
    ];
    let expected = [
        tool_call("a", "none", "{}"),
        tool_call("b", "read", "null"),
        tool_call("c", "read", "[3]"),
        tool_call("d", "read", "\"x\""),
        tool_call("e", "none", "{}"),
    ];
    check(&chunks, "tool_calls", &expected).await;
}

#[tokio::test]
async fn sse_09_arguments_that_are_no_json_arrive_unchanged() {
    let broken = ["{\"a\":\"x\ny\t\"}", "{\"a\":\"C:\\d\"}", "{\"a\":1,}", "{\"a\":"];
    let chunks: Vec<_> = broken
        .iter()
        .zip(0..)
        .map(|(text, n)| call(n, &n.to_string(), "write", text))
        .collect();
    let expected: Vec<_> = broken
        .iter()
        .zip(0..)
        .map(|(text, n)| tool_call(&format!("{n}"), "write", text))
        .collect();
    check(&chunks, "tool_calls", &expected).await;
}

#[tokio::test]
async fn sse_18_a_name_in_pieces_and_an_unknown_one() {
    let chunks = [
        call(0, "a", "re", ""),
        delta("{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"ad\"}}]}"),
        call(1, "b", "No_Such_Tool", "{}"),
    ];
    check(
        &chunks,
        "tool_calls",
        &[tool_call("a", "read", "{}"), tool_call("b", "No_Such_Tool", "{}")],
    )
    .await;
}

#[tokio::test]
async fn calls_count_even_if_the_endpoint_says_stop() {
    check(&[call(0, "a", "read", "{}")], "stop", &[tool_call("a", "read", "{}")]).await;
}

#[tokio::test]
async fn ids_that_are_missing_or_taken_are_minted() {
    let chunks = [
        call(0, "", "a", "{}"),
        call(1, "old", "b", "{}"),
        call(2, "new", "c", "{}"),
        call(5, "", "d", "{}"),
    ];
    let body = format!("{}{}{DONE}", chunks.concat(), finish("tool_calls"));
    let server = Server::start([Reply::stream(body)]).await;
    let mut request = ask("go");
    let old = AssistantBlock::ToolCall {
        id: CallId::new("old"),
        name: "b".into(),
        arguments: "{}".into(),
    };
    request.messages.push(Message::Assistant { content: vec![old] });
    let events: Vec<_> = model(&server)
        .stream(request)
        .map(|item| item.expect("a good answer"))
        .collect()
        .await;
    let expected = [
        tool_call("call_t3s2n1", "a", "{}"),
        tool_call("call_t3s2n2", "b", "{}"),
        tool_call("new", "c", "{}"),
        tool_call("call_t3s2n4", "d", "{}"),
        ModelEvent::Finish(StopReason::ToolUse),
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn the_calls_of_an_answer_that_was_cut_off_are_left_out() {
    for (reason, stop) in [
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
    ] {
        let body = format!("{}{}{}{DONE}", say("a"), call(0, "x", "read", "{}"), finish(reason));
        assert_eq!(good(Reply::stream(body)).await, [text("a"), ModelEvent::Finish(stop)]);
    }
}

#[tokio::test]
async fn a_call_without_a_name_fails_the_answer() {
    let (events, error) = bad(Reply::stream(call(0, "x", "", "{}") + &finish("tool_calls"))).await;
    assert!(events.is_empty());
    assert!(
        error
            .message()
            .ends_with("is incomplete: it holds a tool call without a name"),
        "{error}"
    );
}
