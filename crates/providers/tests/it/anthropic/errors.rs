//! What is not an answer.

use std::time::Duration;

use weft_model::ModelErrorKind;

use super::*;

fn error_body(kind: &str, message: &str) -> String {
    format!("{{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":{message:?}}},\"request_id\":\"req_1\"}}")
}

fn refusal(status: &str, kind: &str, message: &str) -> Reply {
    Reply::new(status, &["content-type: application/json"], error_body(kind, message))
}

#[tokio::test]
async fn sse_12_refusals_are_told_apart() {
    let cases = [
        (
            "400 X",
            "invalid_request_error",
            "bad field",
            ModelErrorKind::InvalidRequest,
            false,
        ),
        (
            "400 X",
            "invalid_request_error",
            "prompt is too long: 9 tokens",
            ModelErrorKind::ContextOverflow,
            false,
        ),
        (
            "400 X",
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 9",
            ModelErrorKind::ContextOverflow,
            false,
        ),
        (
            "400 X",
            "invalid_request_error",
            "Your credit balance is too low",
            ModelErrorKind::Auth,
            false,
        ),
        (
            "401 X",
            "authentication_error",
            "invalid x-api-key",
            ModelErrorKind::Auth,
            false,
        ),
        ("403 X", "permission_error", "not yours", ModelErrorKind::Auth, false),
        (
            "404 X",
            "not_found_error",
            "model: x",
            ModelErrorKind::InvalidRequest,
            false,
        ),
        (
            "413 X",
            "request_too_large",
            "too large",
            ModelErrorKind::ContextOverflow,
            false,
        ),
        (
            "429 X",
            "rate_limit_error",
            "slow down",
            ModelErrorKind::RateLimited,
            true,
        ),
        ("500 X", "api_error", "it broke", ModelErrorKind::Overloaded, true),
        (
            "529 X",
            "overloaded_error",
            "Overloaded",
            ModelErrorKind::Overloaded,
            true,
        ),
    ];
    for (status, kind, message, expected, retryable) in cases {
        let (events, error) = bad(refusal(status, kind, message)).await;
        assert!(events.is_empty());
        assert_eq!(error.kind(), expected, "{status} {message}: {error}");
        assert_eq!(error.is_retryable(), retryable, "{status} {message}");
        assert!(error.message().contains(message), "{error}");
    }
}

#[tokio::test]
async fn sse_12_the_wait_that_the_endpoint_asks_for_is_given_on() {
    for (status, kind) in [
        ("429 Too Many Requests", ModelErrorKind::RateLimited),
        ("529 Overloaded", ModelErrorKind::Overloaded),
    ] {
        let reply = Reply::new(status, &["retry-after: 7"], error_body("x", "wait"));
        let (_, error) = bad(reply).await;
        assert_eq!(
            (error.kind(), error.retry_after()),
            (kind, Some(Duration::from_secs(7)))
        );
    }
}

#[tokio::test]
async fn an_error_inside_of_a_stream_ends_it_after_what_came_before() {
    for (kind, expected) in [
        ("overloaded_error", ModelErrorKind::Overloaded),
        ("api_error", ModelErrorKind::Overloaded),
        ("rate_limit_error", ModelErrorKind::RateLimited),
        ("authentication_error", ModelErrorKind::Auth),
        ("invalid_request_error", ModelErrorKind::InvalidRequest),
        ("some_later_error", ModelErrorKind::Incomplete),
    ] {
        let error = format!("event: error\ndata: {}\n\n", error_body(kind, "no more"));
        let body = start() + &begin(0, TEXT) + &say(0, "half") + &error + &end(0) + &stop("end_turn") + &over();
        let (events, error) = bad(Reply::stream(body)).await;
        assert_eq!(events, [text("half")]);
        assert_eq!(error.kind(), expected, "{kind}: {error}");
        assert!(error.message().contains("reported an error: no more"), "{error}");
    }
}

#[tokio::test]
async fn sse_15_an_event_that_is_not_json_fails_the_answer_with_the_event_shown() {
    let body =
        start() + &begin(0, TEXT) + &say(0, "one ") + "data: {\"type\": sk-abc-DEF hunter2-hunter2\n\n" + &over();
    let (events, error) = bad(Reply::stream(body)).await;
    assert_eq!(events, [text("one ")]);
    assert_eq!(error.kind(), ModelErrorKind::Incomplete);
    assert!(error.message().contains("an event is not JSON"), "{error}");
    assert!(
        !error.message().contains("hunter2") && !error.message().contains("sk-abc"),
        "{error}"
    );
}

#[tokio::test]
async fn sse_14_what_is_no_message_is_named_so_and_the_key_is_not_shown() {
    let key = "Invalid key sk-ant-abc-DEF (hunter2-hunter2)";
    let (_, error) = bad(refusal("401 Unauthorized", "authentication_error", key)).await;
    assert!(
        error
            .message()
            .contains("Invalid key [removed] ([removed]); check the provider's key"),
        "{error}"
    );
    for body in ["<html>log in</html>", "{\"choices\":[]}", "[1]"] {
        let (_, error) = bad(Reply::new("200 OK", &[], body)).await;
        assert_eq!(error.kind(), ModelErrorKind::Protocol, "{body}");
        assert!(error.message().contains("instead of messages"), "{error}");
    }
}

#[tokio::test]
async fn a_reset_before_the_answer_is_a_network_failure() {
    let (events, error) = bad(Reply::raw("").then(End::Reset)).await;
    assert!(events.is_empty());
    assert_eq!(error.kind(), ModelErrorKind::Network, "{error}");
}

#[tokio::test]
async fn can_01_dropping_the_stream_in_the_middle_closes_the_connection() {
    let body = start() + &begin(0, TEXT) + &say(0, "w0 ");
    let mut server = Server::start([Reply::stream(body).then(End::Hold)]).await;
    let mut stream = model(&server).stream(ask("talk"));
    assert_eq!(stream.next().await, Some(Ok(text("w0 "))));
    drop(stream);
    server.left().await;
}
