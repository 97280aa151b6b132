//! What is not an answer.

use std::time::Duration;

use weft_model::ModelErrorKind;

use super::*;

#[tokio::test]
async fn sse_12_refusals_are_told_apart_and_the_wait_is_given_on() {
    let body = "{\"error\":{\"message\":\"not now\",\"type\":\"x\",\"code\":null}}";
    for (status, kind, retryable) in [
        ("400 X", ModelErrorKind::InvalidRequest, false),
        ("401 X", ModelErrorKind::Auth, false),
        ("429 X", ModelErrorKind::RateLimited, true),
        ("500 X", ModelErrorKind::Overloaded, true),
        ("503 X", ModelErrorKind::Overloaded, true),
    ] {
        let (events, error) = bad(Reply::new(status, &["retry-after: 7"], body)).await;
        assert!(events.is_empty());
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{error}");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        assert!(error.message().contains("not now"), "{error}");
    }
}

#[tokio::test]
async fn an_answer_that_failed_is_told_with_its_reason_after_what_came_before() {
    let failed = |code: &str| {
        let error = format!("{{\"code\":{code:?},\"message\":\"no more\"}}");
        event(
            "failed",
            &format!(",\"response\":{{\"status\":\"failed\",\"error\":{error}}}"),
        )
    };
    let event_of = |code: &str| {
        format!(
            "event: error\ndata: {{\"type\":\"error\",\"code\":{code:?},\"message\":\"no more\",\"param\":null}}\n\n"
        )
    };
    for (code, kind) in [
        ("server_error", ModelErrorKind::Overloaded),
        ("rate_limit_exceeded", ModelErrorKind::RateLimited),
        ("context_length_exceeded", ModelErrorKind::ContextOverflow),
        ("insufficient_quota", ModelErrorKind::Auth),
        ("some_later_code", ModelErrorKind::Incomplete),
    ] {
        for last in [failed(code), event_of(code)] {
            let body = start() + &begin_message(0) + &say(0, "half") + &last + &completed();
            let (events, error) = bad(Reply::stream(body)).await;
            assert_eq!(events, [text("half")]);
            assert_eq!(error.kind(), kind, "{code}: {error}");
            assert!(error.message().contains("reported an error: no more"), "{error}");
        }
    }
    let (_, error) = bad(Reply::stream(event("failed", ",\"response\":{\"error\":null}"))).await;
    assert!(error.message().contains("it failed without a reason"), "{error}");
    let (_, error) = bad(Reply::stream(event("cancelled", ",\"response\":{}"))).await;
    assert!(
        error.message().ends_with("ended it as cancelled (no reason given)"),
        "{error}"
    );
}

#[tokio::test]
async fn sse_15_an_event_that_is_not_json_fails_the_answer_with_the_event_shown() {
    let broken = "data: {\"type\": sk-abc-DEF hunter2-hunter2\n\n";
    let body = start() + &begin_message(0) + &say(0, "one ") + broken + &completed();
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
async fn sse_14_what_is_no_response_is_named_so() {
    for body in [
        "<html>log in</html>",
        "{\"choices\":[]}",
        "[1]",
        "{\"status\":\"completed\"}",
    ] {
        let (_, error) = bad(Reply::new("200 OK", &[], body)).await;
        assert_eq!(error.kind(), ModelErrorKind::Protocol, "{body}");
        assert!(error.message().contains("instead of responses"), "{error}");
    }
    let (_, error) = bad(Reply::new(
        "200 OK",
        &[],
        "{\"error\":{\"message\":\"busy\",\"code\":\"server_error\"}}",
    ))
    .await;
    assert_eq!(error.kind(), ModelErrorKind::Overloaded);
    let half = "{\"status\":\"in_progress\",\"output\":[]}";
    let (_, error) = bad(Reply::new("200 OK", &[], half)).await;
    assert_eq!(error.kind(), ModelErrorKind::Incomplete, "{error}");
}
