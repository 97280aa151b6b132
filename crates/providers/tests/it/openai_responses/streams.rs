//! Answers of text and reasoning, however they are sent.

use weft_model::ModelErrorKind;

use super::*;

fn hello() -> Vec<ModelEvent> {
    [vec![text("Hel"), text("lo")], finished(StopReason::EndTurn).to_vec()].concat()
}

#[tokio::test]
async fn sse_01_comments_repetitions_and_what_is_unknown_are_passed_over() {
    let body = [
        ": hi\r\n\r\n".to_owned(),
        start(),
        begin_message(0),
        event(
            "content_part.added",
            ",\"output_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\"}",
        ),
        say(0, "Hel"),
        event("some_later_kind", ",\"output_index\":0,\"delta\":\"x\""),
        say(0, "lo").replace('\n', "\r\n").replace("data: ", "data:"),
        event("output_text.done", ",\"output_index\":0,\"text\":\"Hello\""),
        event(
            "content_part.done",
            ",\"output_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"Hello\"}",
        ),
        done(0, &message(0, "Hello")),
        added(1, "{\"type\":\"web_search_call\",\"id\":\"w\"}"),
        done(1, "{\"type\":\"web_search_call\",\"id\":\"w\"}"),
        completed(),
        "data: [DONE]\n\n".to_owned(),
    ];
    assert_eq!(good(Reply::stream(body.concat())).await, hello());
}

#[tokio::test]
async fn an_answer_may_be_cut_anywhere_even_in_a_character() {
    let body = start() + &said(0, "héé") + &said(1, "😀") + &completed();
    for piece in 1..=7 {
        let events = good(Reply::stream(&body).in_pieces_of(piece)).await;
        assert_eq!(events[..2], [text("héé"), text("😀")]);
        assert_eq!(events[2..], finished(StopReason::EndTurn));
    }
}

#[tokio::test]
async fn text_that_did_not_come_in_pieces_comes_with_the_end_of_its_item_or_of_the_answer() {
    let rest = begin_message(0) + &say(0, "Hel") + &done(0, &message(0, "Hello"));
    assert_eq!(good(Reply::stream(start() + &rest + &completed())).await, hello());
    let output = format!(
        ",\"response\":{{\"output\":[{},{}],{USAGE}}}",
        message(0, "Hel"),
        message(1, "lo")
    );
    assert_eq!(good(Reply::stream(event("completed", &output))).await, hello());
    let both = start() + &said(0, "Hel") + &said(1, "lo") + &event("completed", &output);
    assert_eq!(good(Reply::stream(&both)).await, hello(), "once only");
    let unnumbered = both
        .replace("\"output_index\":0,", "")
        .replace("\"output_index\":1,", "");
    assert_eq!(good(Reply::stream(&unnumbered)).await, hello(), "by their ids");
    let unnamed = unnumbered.replace("\"i0\"", "\"\"").replace("\"i1\"", "\"\"");
    assert_eq!(good(Reply::stream(unnamed)).await, hello(), "without either");
}

#[tokio::test]
async fn reasoning_is_told_apart_from_text_and_its_paragraphs_from_each_other() {
    let item = "{\"type\":\"reasoning\",\"id\":\"i0\",\"summary\":[]}";
    let whole = "{\"type\":\"reasoning\",\"id\":\"i0\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"a\"},\
                 {\"type\":\"summary_text\",\"text\":\"b\"}]}";
    let part = event("reasoning_summary_part.added", ",\"item_id\":\"i0\",\"output_index\":0");
    let pieces = [
        added(0, item),
        part.clone(),
        piece("reasoning_summary_text.delta", 0, "a"),
        part,
        piece("reasoning_summary_text.delta", 0, "b"),
        done(0, whole),
        said(1, "c"),
        completed(),
    ];
    let events = good(Reply::stream(pieces.concat())).await;
    assert_eq!(events[..4], [thought("a"), thought("\n\n"), thought("b"), text("c")]);
    assert_eq!(
        good(Reply::stream(done(0, whole) + &completed())).await[0],
        thought("a\n\nb")
    );
    let raw = added(0, item) + &piece("reasoning_text.delta", 0, "hm") + &completed();
    assert_eq!(good(Reply::stream(raw)).await[0], thought("hm"));
}

#[tokio::test]
async fn why_an_answer_ended_is_told() {
    for (last, expected) in [
        (completed(), StopReason::EndTurn),
        (incomplete("max_output_tokens"), StopReason::MaxTokens),
        (incomplete("content_filter"), StopReason::Refusal),
    ] {
        let events = good(Reply::stream(start() + &said(0, "a") + &last)).await;
        assert_eq!(events[1..], finished(expected));
    }
    let (events, error) = bad(Reply::stream(
        start() + &said(0, "a") + &incomplete("some_later_reason"),
    ))
    .await;
    assert_eq!(events, [text("a")]);
    assert_eq!(error.kind(), ModelErrorKind::Incomplete);
    assert!(
        error.message().ends_with("ended it as incomplete (some_later_reason)"),
        "{error}"
    );
}

#[tokio::test]
async fn a_refusal_is_shown_and_named_so() {
    let whole = message(0, "No.")
        .replace("output_text", "refusal")
        .replace("\"text\":", "\"refusal\":");
    let pieces = begin_message(0) + &piece("refusal.delta", 0, "No.") + &done(0, &whole) + &completed();
    for body in [pieces, done(0, &whole) + &completed()] {
        let events = good(Reply::stream(body)).await;
        assert_eq!(events[0], text("No."));
        assert_eq!(events[1..], finished(StopReason::Refusal));
    }
}

#[tokio::test]
async fn sse_17_an_empty_answer_is_given_as_such() {
    for items in [
        String::new(),
        begin_message(0) + &say(0, "") + &done(0, &message(0, "")),
    ] {
        let events = good(Reply::stream(start() + &items + &completed())).await;
        assert_eq!(events, finished(StopReason::EndTurn));
    }
}

#[tokio::test]
async fn sse_02_an_answer_without_its_last_event_is_not_whole() {
    let half = start() + &begin_message(0) + &say(0, "half");
    let bodies = [
        half.clone(),
        half.clone() + &done(0, &message(0, "half")),
        half.clone() + &done(0, &message(0, "half")) + "data: [DONE]\n\n",
        half + "event: response.completed\ndata: ",
    ];
    for body in bodies {
        for ending in [End::Close, End::Reset] {
            let (events, error) = bad(Reply::stream(&body).then(ending)).await;
            assert_eq!(events, [text("half")], "{body}");
            assert_eq!(error.kind(), ModelErrorKind::Incomplete, "{error}");
            assert!(error.is_retryable());
        }
    }
    for nothing in ["", ": only a comment\n\n", "data: [DONE]\n\n"] {
        let (events, error) = bad(Reply::stream(nothing)).await;
        assert!(events.is_empty());
        assert_eq!(error.kind(), ModelErrorKind::Incomplete, "{nothing:?}: {error}");
    }
}

#[tokio::test]
async fn the_last_event_ends_an_answer_at_once_though_the_connection_stays() {
    let body = start() + &said(0, "Hel") + &said(1, "lo") + &completed() + &said(2, "ignored");
    let mut server = Server::start([Reply::stream(body).then(End::Hold)]).await;
    let items: Vec<_> = model(&server).stream(ask("go")).collect().await;
    assert_eq!(support::good(items), hello());
    server.left().await;
}

#[tokio::test]
async fn sse_14_an_answer_in_one_piece_is_used() {
    let output = format!("{},{}", message(0, "whole"), call(1, "x", "read", "{\"a\":1}"));
    let body =
        format!("{{\"object\":\"response\",\"status\":\"completed\",\"error\":null,\"output\":[{output}],{USAGE}}}");
    let expected = [
        text("whole"),
        tool_call("x", "read", "{\"a\":1}"),
        usage(),
        ModelEvent::Finish(StopReason::ToolUse),
    ];
    let json = Reply::new("200 OK", &["content-type: application/json"], body);
    assert_eq!(good(json.in_pieces_of(5)).await, expected);
}
