//! Good answers, however they are sent.

use super::*;
use crate::support::thought;

fn hello() -> Vec<ModelEvent> {
    vec![
        text("Hel"),
        text("lo"),
        usage(),
        ModelEvent::Finish(StopReason::EndTurn),
    ]
}

#[tokio::test]
async fn sse_01_noise_around_the_chunks_does_not_matter_and_usage_counts_once() {
    let body = format!(
        ": hi\n\n:\n\ndata: {{\"choices\":[{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":null}}}}]}}\r\n\r\n\
         {}event: ping\ndata: {{}}\n\ndata:\n\ndata:{}{USAGE}\
         data: {{\"usage\":{{\"prompt_tokens\":10,\"completion_tokens\":5}}}}\n\n\
         data: {{\"choices\":null,\"usage\":null}}\n\n{}{DONE}",
        say("Hel"),
        say("lo").trim_start_matches("data: "),
        finish("stop"),
    );
    assert_eq!(good(Reply::stream(body)).await, hello());
}

#[tokio::test]
async fn an_answer_may_be_cut_anywhere() {
    let body = format!("\u{feff}{}{}{}{USAGE}{DONE}", say("héé"), say("😀"), finish("stop"));
    for piece in 1..=7 {
        let events = good(Reply::stream(&body).in_pieces_of(piece)).await;
        assert_eq!(
            events,
            [
                text("héé"),
                text("😀"),
                usage(),
                ModelEvent::Finish(StopReason::EndTurn)
            ]
        );
    }
}

#[tokio::test]
async fn sse_11_reasoning_is_told_apart_from_text_under_both_its_names() {
    let body = [
        delta("{\"reasoning_content\":\"\",\"content\":null}"),
        delta("{\"reasoning_content\":\"hm \"}"),
        delta("{\"reasoning\":\"yes\"}"),
        delta("{\"reasoning\":\"!\",\"reasoning_content\":\"!\"}"),
        say("done"),
        finish("stop"),
        DONE.into(),
    ];
    let expected = [
        thought("hm "),
        thought("yes"),
        thought("!"),
        text("done"),
        ModelEvent::Finish(StopReason::EndTurn),
    ];
    assert_eq!(good(Reply::stream(body.concat())).await, expected);
}

#[tokio::test]
async fn usage_holds_cached_and_reasoning_tokens_of_either_dialect() {
    let cases = [
        (
            "{\"prompt_tokens\":100,\"completion_tokens\":50,\"prompt_tokens_details\":{\"cached_tokens\":64},\
             \"completion_tokens_details\":{\"reasoning_tokens\":30}}",
            Usage {
                input_tokens: 100,
                output_tokens: 50,
                cached_input_tokens: 64,
                reasoning_tokens: 30,
            },
        ),
        (
            "{\"prompt_tokens\":100,\"completion_tokens\":50,\"prompt_cache_hit_tokens\":40,\
             \"prompt_cache_miss_tokens\":60,\"prompt_tokens_details\":null}",
            Usage {
                input_tokens: 100,
                output_tokens: 50,
                cached_input_tokens: 40,
                reasoning_tokens: 0,
            },
        ),
    ];
    for (sent, expected) in cases {
        let body = format!(
            "{}data: {{\"choices\":[],\"usage\":{sent}}}\n\n{DONE}",
            say("a") + &finish("stop")
        );
        let events = good(Reply::stream(body)).await;
        assert_eq!(
            events,
            [
                text("a"),
                ModelEvent::Usage(expected),
                ModelEvent::Finish(StopReason::EndTurn)
            ]
        );
    }
}

#[tokio::test]
async fn the_last_count_wins_when_usage_grows_with_every_chunk() {
    let chunk = |tokens: u64| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"a\"}}}}],\
             \"usage\":{{\"prompt_tokens\":7,\"completion_tokens\":{tokens}}}}}\n\n"
        )
    };
    let events = good(Reply::stream(format!(
        "{}{}{}{DONE}",
        chunk(1),
        chunk(2),
        finish("stop")
    )))
    .await;
    let usage = Usage {
        input_tokens: 7,
        output_tokens: 2,
        ..Usage::default()
    };
    assert_eq!(
        events,
        [
            text("a"),
            text("a"),
            ModelEvent::Usage(usage),
            ModelEvent::Finish(StopReason::EndTurn)
        ]
    );
}

#[tokio::test]
async fn finish_reasons_are_mapped() {
    for (reason, expected) in [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("tool_calls", StopReason::EndTurn),
        ("eos_token", StopReason::EndTurn),
    ] {
        let events = good(Reply::stream(format!("{}{}{DONE}", say("a"), finish(reason)))).await;
        assert_eq!(events, [text("a"), ModelEvent::Finish(expected)], "{reason}");
    }
}

#[tokio::test]
async fn a_refusal_is_shown_and_named_so() {
    let body = format!("{}{}{DONE}", delta("{\"refusal\":\"I will not\"}"), finish("stop"));
    assert_eq!(
        good(Reply::stream(body)).await,
        [text("I will not"), ModelEvent::Finish(StopReason::Refusal)]
    );
}

#[tokio::test]
async fn text_in_parts_and_other_choices_are_read_right() {
    let body = format!(
        "{}data: {{\"choices\":[{{\"index\":1,\"delta\":{{\"content\":\"other\"}}}}]}}\n\n{}{DONE}",
        delta("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}"),
        finish("stop")
    );
    assert_eq!(
        good(Reply::stream(body)).await,
        [text("ab"), ModelEvent::Finish(StopReason::EndTurn)]
    );
}

#[tokio::test]
async fn sse_14_an_answer_in_one_piece_is_used() {
    let body = "\n{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"whole\",\"tool_calls\":[\
                {\"id\":\"x\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}},\
                {\"id\":\"y\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}],\
                \"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}";
    let expected = [
        text("whole"),
        tool_call("x", "read", "{}"),
        tool_call("y", "read", "{}"),
        usage(),
        ModelEvent::Finish(StopReason::ToolUse),
    ];
    let json = Reply::new("200 OK", &["content-type: application/json"], body);
    assert_eq!(good(json.in_pieces_of(5)).await, expected);
    assert_eq!(good(Reply::stream(body)).await, expected, "whatever the header says");
}

#[tokio::test]
async fn a_stream_is_a_stream_whatever_the_header_says() {
    let body = format!("{}{}{USAGE}{}{DONE}", say("Hel"), say("lo"), finish("stop"));
    for header in [
        "content-type: application/json",
        "content-type: text/plain",
        "x-none: 1",
    ] {
        assert_eq!(good(Reply::new("200 OK", &[header], &body)).await, hello());
    }
}

#[tokio::test]
async fn sse_17_an_empty_answer_is_given_as_such() {
    let body = format!(
        "{}{}{USAGE}{DONE}",
        delta("{\"role\":\"assistant\",\"content\":\"\"}"),
        finish("stop")
    );
    assert_eq!(
        good(Reply::stream(body)).await,
        [usage(), ModelEvent::Finish(StopReason::EndTurn)]
    );
}

#[tokio::test]
async fn a_finish_reason_or_the_end_marker_makes_an_answer_whole() {
    let whole = [text("a"), ModelEvent::Finish(StopReason::EndTurn)];
    assert_eq!(good(Reply::stream(say("a") + &finish("stop"))).await, whole);
    assert_eq!(good(Reply::stream(say("a") + DONE)).await, whole);
    assert_eq!(
        good(Reply::stream(say("a") + &finish("stop")).then(server::End::Reset)).await,
        whole
    );
    assert_eq!(
        good(Reply::stream(say("a") + "data: [DONE]")).await,
        whole,
        "without the blank line"
    );
    assert_eq!(good(Reply::stream(say("a") + DONE + &say("ignored"))).await, whole);
}
