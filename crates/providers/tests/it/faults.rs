//! The faults that every protocol meets, each met by all three adapters.

use std::time::Duration;

use futures::StreamExt;
use weft_model::{Model, ModelError, ModelErrorKind, ModelEvent};
use weft_providers::{Anthropic, AnthropicConfig, EndpointConfig, OpenAiChat, OpenAiResponses, OpenAiResponsesConfig};

use crate::server::{End, Reply, Server};
use crate::support::{ask, text};

/// A protocol: its adapter, and the two halves of an answer that says `Hellö` in it.
struct Spoken {
    name: &'static str,
    adapter: fn(EndpointConfig) -> Box<dyn Model>,
    halves: [String; 2],
}

fn event(kind: &str, rest: &str) -> String {
    format!("event: {kind}\ndata: {{\"type\":\"{kind}\",{rest}}}\n\n")
}

fn spoken() -> [Spoken; 3] {
    let chunk = |rest: &str| format!("data: {{\"choices\":[{{\"index\":0,{rest}}}]}}\n\n");
    let block = |text: &str| format!("\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{text:?}}}");
    let item = "\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"i\",\"content\":[]}";
    let piece = |text: &str| {
        event(
            "response.output_text.delta",
            &format!("\"output_index\":0,\"delta\":{text:?}"),
        )
    };
    [
        Spoken {
            name: "chat completions",
            adapter: |config| Box::new(OpenAiChat::new(config).expect("a good configuration")),
            halves: [
                chunk("\"delta\":{\"content\":\"Hel\"}"),
                chunk("\"delta\":{\"content\":\"lö\"},\"finish_reason\":\"stop\"") + "data: [DONE]\n\n",
            ],
        },
        Spoken {
            name: "messages",
            adapter: |endpoint| {
                let config = AnthropicConfig {
                    endpoint,
                    ..AnthropicConfig::new("")
                };
                Box::new(Anthropic::new(config).expect("a good configuration"))
            },
            halves: [
                event("message_start", "\"message\":{}")
                    + &event(
                        "content_block_start",
                        "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}",
                    )
                    + &event("content_block_delta", &block("Hel")),
                event("content_block_delta", &block("lö"))
                    + &event("content_block_stop", "\"index\":0")
                    + &event("message_delta", "\"delta\":{\"stop_reason\":\"end_turn\"}")
                    + &event("message_stop", "\"x\":0"),
            ],
        },
        Spoken {
            name: "responses",
            adapter: |endpoint| {
                let config = OpenAiResponsesConfig {
                    endpoint,
                    ..OpenAiResponsesConfig::new("")
                };
                Box::new(OpenAiResponses::new(config).expect("a good configuration"))
            },
            halves: [
                event("response.output_item.added", item) + &piece("Hel"),
                piece("lö")
                    + &event(
                        "response.completed",
                        "\"response\":{\"status\":\"completed\",\"output\":[]}",
                    ),
            ],
        },
    ]
}

type Got = Vec<Result<ModelEvent, ModelError>>;

/// What each adapter makes of an answer; the endpoint's limits are small.
async fn each(reply: impl Fn(&Spoken) -> Reply, check: impl Fn(&str, Got)) {
    for spoken in spoken() {
        let server = Server::start([reply(&spoken)]).await;
        let mut config = EndpointConfig::new(server.url());
        config.max_event_bytes = 4 << 10;
        config.idle_timeout = Duration::from_secs(20);
        let got = (spoken.adapter)(config).stream(ask("go")).collect().await;
        check(spoken.name, got);
    }
}

fn said(got: &Got) -> String {
    let pieces = got.iter().filter_map(|event| match event {
        Ok(ModelEvent::TextDelta(text)) => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}

fn whole(spoken: &Spoken) -> String {
    spoken.halves.concat()
}

#[track_caller]
fn is_whole(name: &str, got: &Got) {
    assert_eq!(said(got), "Hellö", "{name}");
    assert!(matches!(got.last(), Some(Ok(ModelEvent::Finish(_)))), "{name}: {got:?}");
}

#[track_caller]
fn failed(name: &str, got: &Got, kind: ModelErrorKind) -> String {
    match got.last() {
        Some(Err(error)) if error.kind() == kind => error.message().to_owned(),
        other => panic!("{name}: expected {kind:?}, got {other:?}"),
    }
}

#[tokio::test]
async fn sse_01_keep_alives_between_events_are_passed_over() {
    let alive = |spoken: &Spoken| {
        let [first, second] = &spoken.halves;
        Reply::stream(format!(": alive\n\n{first}: alive\r\n\r\n\n{second}"))
    };
    each(alive, |name, got| is_whole(name, &got)).await;
}

#[tokio::test]
async fn events_and_characters_that_are_split_anywhere_are_put_together() {
    for piece in [1, 2, 7] {
        each(
            |spoken| Reply::stream(whole(spoken)).in_pieces_of(piece),
            |name, got| is_whole(name, &got),
        )
        .await;
    }
}

#[tokio::test]
async fn sse_02_a_connection_that_is_reset_in_the_middle_fails_the_answer_after_what_came() {
    let reset = |spoken: &Spoken| {
        let headers = ["content-type: text/event-stream", "content-length: 100000"];
        Reply::new("200 OK", &headers, &spoken.halves[0]).then(End::Reset)
    };
    each(reset, |name, got| {
        failed(name, &got, ModelErrorKind::Incomplete);
        // The reset may overtake what was sent before it.
        assert!(["", "Hel"].contains(&said(&got).as_str()), "{name}: {got:?}");
    })
    .await;
}

#[tokio::test]
async fn sse_02_a_clean_close_in_the_middle_fails_the_answer_after_what_came() {
    each(
        |spoken| Reply::stream(&spoken.halves[0]),
        |name, got| {
            failed(name, &got, ModelErrorKind::Incomplete);
            assert_eq!(got[0], Ok(text("Hel")), "{name}");
        },
    )
    .await;
}

#[tokio::test]
async fn sse_15_an_event_that_is_not_json_fails_the_answer() {
    let torn = |spoken: &Spoken| {
        let [first, second] = &spoken.halves;
        Reply::stream(format!("{first}data: {{\"type\": tor\n\n{second}"))
    };
    each(torn, |name, got| {
        let told = failed(name, &got, ModelErrorKind::Incomplete);
        assert!(told.contains("not JSON"), "{name}: {told}");
    })
    .await;
}

#[tokio::test]
async fn an_event_beyond_the_limit_fails_the_answer_and_names_the_limit() {
    let huge = |spoken: &Spoken| {
        let [first, second] = &spoken.halves;
        Reply::stream(format!("{first}data: {}\n\n{second}", "x".repeat(8 << 10)))
    };
    each(huge, |name, got| {
        let told = failed(name, &got, ModelErrorKind::Protocol);
        assert!(told.contains("max_event_bytes (4096)"), "{name}: {told}");
    })
    .await;
}

#[tokio::test]
async fn a_stream_with_the_wrong_content_type_is_a_stream() {
    for kind in ["content-type: application/json", "content-type: text/plain", "x: none"] {
        each(
            |spoken| Reply::new("200 OK", &[kind], whole(spoken)),
            |name, got| is_whole(name, &got),
        )
        .await;
    }
}

#[tokio::test]
async fn sse_14_a_web_page_with_status_200_is_named_so_and_not_tried_again() {
    for kind in ["content-type: text/html", "content-type: text/event-stream"] {
        each(
            |_| Reply::new("200 OK", &[kind], "<html><body>Log in</body></html>"),
            |name, got| {
                let told = failed(name, &got, ModelErrorKind::Protocol);
                assert!(told.contains("a web page instead of"), "{name}: {told}");
                assert!(!ModelErrorKind::Protocol.is_retryable());
            },
        )
        .await;
    }
}

#[tokio::test]
async fn sse_14_json_that_is_no_answer_is_named_so() {
    let json = "{\"hello\":\"world\"}";
    each(
        |_| Reply::new("200 OK", &["content-type: application/json"], json),
        |name, got| {
            failed(name, &got, ModelErrorKind::Protocol);
        },
    )
    .await;
}

#[tokio::test]
async fn sse_12_busy_endpoints_may_be_asked_again_after_the_wait_they_ask_for() {
    for (status, kind) in [
        ("429 Too Many Requests", ModelErrorKind::RateLimited),
        ("500 Internal Server Error", ModelErrorKind::Overloaded),
        ("502 Bad Gateway", ModelErrorKind::Overloaded),
        ("503 Service Unavailable", ModelErrorKind::Overloaded),
        ("529 Overloaded", ModelErrorKind::Overloaded),
    ] {
        each(
            |_| Reply::new(status, &["retry-after: 7"], "<html>busy</html>"),
            |name, got| {
                failed(name, &got, kind);
                let Some(Err(error)) = got.last() else {
                    unreachable!("it failed")
                };
                assert!(error.is_retryable(), "{name} {status}");
                assert_eq!(error.retry_after(), Some(Duration::from_secs(7)), "{name} {status}");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn sse_12_the_endpoint_has_the_last_word_on_another_attempt() {
    for (told, expected) in [("x-should-retry: false", false), ("x-should-retry: true", true)] {
        each(
            |_| Reply::new("400 Bad Request", &[told], "no"),
            |name, got| {
                let Some(Err(error)) = got.last() else {
                    panic!("{name}: {got:?}")
                };
                assert_eq!(error.is_retryable(), expected, "{name}");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn ctx_01_a_conversation_that_is_too_long_is_told_from_other_bad_requests() {
    for said in [
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens",
        "prompt is too long: 214850 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 154996 + 64000 > 200000",
        "Your input exceeds the context window of this model",
        "The input token count (1000001) exceeds the maximum number of tokens allowed (1000000)",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
        "Invalid request: Your request exceeded model token limit: 262144",
        "Please reduce the length of the messages or completion",
        "Input is too long for requested model",
        "the request exceeds the available context size, try increasing it",
        "prompt token count of 130000 exceeds the limit of 128000",
        "prompt too long; exceeded max context length by 5 tokens",
        "Input tokens exceed the configured limit of 272000 tokens",
    ] {
        let body = serde_json::json!({ "error": { "message": said } }).to_string();
        each(
            |_| Reply::new("400 Bad Request", &[], &body),
            |name, got| {
                failed(name, &got, ModelErrorKind::ContextOverflow);
            },
        )
        .await;
    }
    for other in [
        "unknown field tools[3].name",
        "max_tokens must be at most 8192",
        "temperature is not supported",
    ] {
        let body = serde_json::json!({ "error": { "message": other } }).to_string();
        each(
            |_| Reply::new("400 Bad Request", &[], &body),
            |name, got| {
                failed(name, &got, ModelErrorKind::InvalidRequest);
            },
        )
        .await;
    }
}
