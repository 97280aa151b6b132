//! Answers of text, however they are sent.

use weft_model::ModelErrorKind;

use super::*;

fn hello() -> Vec<ModelEvent> {
    [vec![text("Hel"), text("lo")], finished(StopReason::EndTurn).to_vec()].concat()
}

#[tokio::test]
async fn sse_01_pings_comments_and_what_is_unknown_are_passed_over() {
    let body = [
        ": hi\r\n\r\n".to_owned(),
        start(),
        event("ping", ""),
        begin(0, TEXT),
        event("some_later_kind", ",\"index\":0"),
        say(0, "Hel"),
        delta(0, "{\"type\":\"citations_delta\",\"citation\":{}}"),
        "data:\n\n".to_owned(),
        say(0, "lo").replace('\n', "\r\n").replace("data: ", "data:"),
        end(0),
        begin(1, "{\"type\":\"some_later_block\"}"),
        delta(1, "{\"type\":\"text_delta\",\"text\":\"not for us\"}"),
        delta(1, "{\"type\":\"some_later_delta\"}"),
        end(1),
        stop("end_turn"),
        "data: [DONE]\n\n".to_owned(),
        over(),
    ];
    assert_eq!(good(Reply::stream(body.concat())).await, hello());
}

#[tokio::test]
async fn an_answer_may_be_cut_anywhere_even_in_a_character() {
    let body = whole(&(said(0, "héé") + &said(1, "😀")), "end_turn");
    for piece in 1..=7 {
        let events = good(Reply::stream(&body).in_pieces_of(piece)).await;
        assert_eq!(events[..2], [text("héé"), text("😀")]);
        assert_eq!(events[2..], finished(StopReason::EndTurn));
    }
}

#[tokio::test]
async fn the_type_within_the_data_is_enough_and_so_is_the_one_beside_it() {
    let body = whole(&(begin(0, TEXT) + &say(0, "Hel") + &say(0, "lo") + &end(0)), "end_turn");
    let within: String = body
        .lines()
        .filter(|line| !line.starts_with("event"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(good(Reply::stream(within)).await, hello());
    let beside = body
        .lines()
        .map(|line| {
            match line
                .strip_prefix("data: {\"type\":\"")
                .and_then(|rest| rest.split_once('"'))
            {
                Some((_, rest)) => format!("data: {{{}\n", rest.trim_start_matches(',')),
                None => format!("{line}\n"),
            }
        })
        .collect::<String>();
    assert_eq!(good(Reply::stream(beside)).await, hello());
}

#[tokio::test]
async fn usage_counts_the_cache_in_and_grows() {
    let more = "{\"input_tokens\":11,\"cache_read_input_tokens\":70,\"output_tokens\":3}";
    let last = "{\"input_tokens\":0,\"output_tokens\":9}";
    let body = [
        start(),
        said(0, "a"),
        event("message_delta", &format!(",\"delta\":{{}},\"usage\":{more}")),
        event(
            "message_delta",
            &format!(",\"delta\":{{\"stop_reason\":\"end_turn\"}},\"usage\":{last}"),
        ),
        over(),
    ];
    let usage = Usage {
        input_tokens: 11 + 20 + 70,
        output_tokens: 9,
        cached_input_tokens: 70,
        reasoning_tokens: 0,
    };
    let events = good(Reply::stream(body.concat())).await;
    assert_eq!(
        events[1..],
        [ModelEvent::Usage(usage), ModelEvent::Finish(StopReason::EndTurn)]
    );
    let without = [
        event("message_start", ",\"message\":{\"usage\":null}"),
        said(0, "a"),
        event("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"}"),
        over(),
    ];
    let events = good(Reply::stream(without.concat())).await;
    assert_eq!(events, [text("a"), ModelEvent::Finish(StopReason::EndTurn)]);
}

#[tokio::test]
async fn stop_reasons_are_mapped() {
    for (reason, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("tool_use", StopReason::EndTurn),
        ("some_later_reason", StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
    ] {
        let events = good(Reply::stream(whole(&said(0, "a"), reason))).await;
        assert_eq!(events[1..], finished(expected), "{reason}");
    }
}

#[tokio::test]
async fn a_paused_turn_is_not_taken_for_a_finished_one() {
    let (events, error) = bad(Reply::stream(whole(&said(0, "a"), "pause_turn"))).await;
    assert_eq!(events, [text("a")]);
    assert_eq!(error.kind(), ModelErrorKind::Protocol);
    assert!(error.message().contains("paused the turn (pause_turn)"), "{error}");
}

#[tokio::test]
async fn sse_17_an_empty_answer_is_given_as_such() {
    for blocks in [
        String::new(),
        begin(0, TEXT) + &end(0),
        begin(0, TEXT) + &say(0, "") + &end(0),
    ] {
        let events = good(Reply::stream(whole(&blocks, "end_turn"))).await;
        assert_eq!(events, finished(StopReason::EndTurn));
    }
    assert_eq!(
        good(Reply::stream(whole("", "refusal"))).await,
        finished(StopReason::Refusal)
    );
}

#[tokio::test]
async fn sse_02_an_answer_that_just_stops_is_not_whole() {
    let half = start() + &begin(0, TEXT) + &say(0, "half");
    let bodies = [
        half.clone(),
        half.clone() + &end(0),
        half.clone() + &end(0) + &over(),
        half.clone() + &event("message_delta", ",\"delta\":{\"stop_reason\":null}") + &over(),
        half + "event: message_delta\ndata: ",
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
async fn why_it_stopped_makes_an_answer_whole_though_the_end_marker_is_missing() {
    let body = start() + &said(0, "Hel") + &said(1, "lo") + &stop("end_turn");
    for ending in [End::Close, End::Reset] {
        assert_eq!(good(Reply::stream(&body).then(ending)).await, hello());
    }
}

#[tokio::test]
async fn the_end_marker_ends_an_answer_at_once_though_the_connection_stays() {
    let body = whole(&(said(0, "Hel") + &said(1, "lo")), "end_turn") + &said(2, "ignored");
    let mut server = Server::start([Reply::stream(body).then(End::Hold)]).await;
    let items: Vec<_> = model(&server).stream(ask("go")).collect().await;
    assert_eq!(support::good(items), hello());
    server.left().await;
}

#[tokio::test]
async fn sse_14_an_answer_in_one_piece_is_used() {
    let body = "{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"},\
                {\"type\":\"text\",\"text\":\"whole\"},\
                {\"type\":\"tool_use\",\"id\":\"x\",\"name\":\"read\",\"input\":{\"a\":1}}],\
                \"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":30,\"cache_read_input_tokens\":70,\
                \"output_tokens\":5}}";
    let expected = [
        thought("hm"),
        text("whole"),
        tool_call("x", "read", "{\"a\":1}"),
        usage(),
        ModelEvent::Finish(StopReason::ToolUse),
    ];
    let json = Reply::new("200 OK", &["content-type: application/json"], body);
    let events = good(json.in_pieces_of(5)).await;
    assert!(support::is_seal(&events[1]), "{events:?}");
    assert_eq!(support::unsealed(events), expected);
}
