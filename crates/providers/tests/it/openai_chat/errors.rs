//! What is not an answer.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weft_model::ModelErrorKind;

use super::*;

/// Checks the error of an answer without events; it must hold no key and be one line of bounded length.
async fn check(reply: Reply, kind: ModelErrorKind, parts: &[&str]) -> ModelError {
    let (events, error) = bad(reply).await;
    assert!(events.is_empty(), "{events:?}");
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.message().contains(part), "{error:?} lacks {part:?}");
    }
    let message = error.message();
    assert!(!message.contains("hunter2") && !message.contains("sk-"), "{message}");
    assert!(!message.contains('\n') && message.chars().count() < 600, "{message}");
    error
}

fn refusal(status: &str, body: &str) -> Reply {
    Reply::new(status, &["content-type: application/json"], body)
}

#[tokio::test]
async fn sse_14_a_web_page_is_named_as_one() {
    let page = "<html><body>Please log in, hunter2-hunter2</body></html>";
    let expected = [
        "a web page instead of chat completions",
        "Please log in",
        "check base_url",
    ];
    for header in [
        "content-type: text/html; charset=utf-8",
        "content-type: text/event-stream",
    ] {
        let error = check(
            Reply::new("200 OK", &[header], page),
            ModelErrorKind::Protocol,
            &expected,
        )
        .await;
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn sse_14_a_refused_key_is_not_repeated() {
    let body = "{\"error\":{\"message\":\"Incorrect key sk-abc-DEF-123 (hunter2-hunter2)\",\"type\":\"auth\"}}";
    let expected = ["answered 401 Unauthorized: Incorrect key [removed] ([removed]); check the provider's key"];
    let error = check(refusal("401 Unauthorized", body), ModelErrorKind::Auth, &expected).await;
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn sse_14_a_bad_request_is_not_tried_again() {
    let body = "{\"error\":{\"message\":\"unknown field foo\"}}";
    let error = check(
        refusal("400 Bad Request", body),
        ModelErrorKind::InvalidRequest,
        &["400 Bad Request: unknown field foo"],
    )
    .await;
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn sse_12_statuses_that_may_pass_are_told_from_those_that_will_not() {
    let cases = [
        ("401 X", ModelErrorKind::Auth, false),
        ("402 X", ModelErrorKind::Auth, false),
        ("403 X", ModelErrorKind::Auth, false),
        ("404 X", ModelErrorKind::InvalidRequest, false),
        ("405 X", ModelErrorKind::InvalidRequest, false),
        ("408 X", ModelErrorKind::Overloaded, true),
        ("409 X", ModelErrorKind::Overloaded, true),
        ("413 X", ModelErrorKind::ContextOverflow, false),
        ("418 X", ModelErrorKind::InvalidRequest, false),
        ("429 X", ModelErrorKind::RateLimited, true),
        ("500 X", ModelErrorKind::Overloaded, true),
        ("503 X", ModelErrorKind::Overloaded, true),
        ("529 X", ModelErrorKind::Overloaded, true),
    ];
    for (status, kind, retryable) in cases {
        let error = check(refusal(status, "upstream down"), kind, &[&status[..3], "upstream down"]).await;
        assert_eq!(error.is_retryable(), retryable, "{status}");
    }
}

#[tokio::test]
async fn sse_12_the_wait_that_the_endpoint_asks_for_is_given_on() {
    for (header, expected) in [
        ("Retry-After: 2", Some(Duration::from_secs(2))),
        ("retry-after-ms: 1500", Some(Duration::from_millis(1_500))),
        ("Retry-After: soon", None),
        ("x-none: 1", None),
    ] {
        let reply = Reply::new("429 Too Many Requests", &[header], "{\"error\":{\"message\":\"rate\"}}");
        let error = check(reply, ModelErrorKind::RateLimited, &["429 Too Many Requests: rate"]).await;
        assert_eq!(error.retry_after(), expected, "{header}");
    }
    let dates = [
        "date: Wed, 21 Oct 2026 07:28:00 GMT",
        "retry-after: Wed, 21 Oct 2026 08:28:00 GMT",
    ];
    let error = check(Reply::new("503 X", &dates, ""), ModelErrorKind::Overloaded, &["503"]).await;
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3_600)));
}

#[tokio::test]
async fn can_08_a_long_wait_is_given_on_at_once_and_not_sat_out() {
    let reply = Reply::new("429 X", &["retry-after: 60"], "{\"error\":{\"message\":\"slow\"}}");
    let error = check(reply, ModelErrorKind::RateLimited, &["slow"]).await;
    assert_eq!(error.retry_after(), Some(Duration::from_secs(60)));
}

#[tokio::test]
async fn the_endpoint_has_the_last_word_on_trying_again() {
    let error = check(
        Reply::new("500 X", &["x-should-retry: false"], ""),
        ModelErrorKind::Overloaded,
        &[],
    )
    .await;
    assert!(!error.is_retryable());
    let error = check(
        Reply::new("404 X", &["x-should-retry: true"], ""),
        ModelErrorKind::InvalidRequest,
        &[],
    )
    .await;
    assert!(error.is_retryable());
}

#[tokio::test]
async fn ctx_01_a_request_beyond_the_context_is_told_apart() {
    let bodies = [
        "{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}",
        "{\"error\":{\"message\":\"This model's maximum context length is 65536 tokens\",\"code\":null}}",
        "{\"error\":\"the request exceeds the available context size\"}",
        "{\"object\":\"error\",\"message\":\"Prompt is too long: 9 tokens\"}",
    ];
    for body in bodies {
        check(refusal("400 Bad Request", body), ModelErrorKind::ContextOverflow, &[]).await;
    }
    let stream = format!("data: {}\n\n", bodies[0]);
    check(
        Reply::stream(stream),
        ModelErrorKind::ContextOverflow,
        &["reported an error: too long"],
    )
    .await;
}

#[tokio::test]
async fn an_empty_account_is_not_a_busy_endpoint() {
    let body = "{\"error\":{\"message\":\"You exceeded your quota\",\"type\":\"insufficient_quota\"}}";
    check(
        refusal("429 X", body),
        ModelErrorKind::Auth,
        &["exceeded your quota", "nothing left to pay with"],
    )
    .await;
}

#[tokio::test]
async fn a_redirect_is_not_followed_but_shown() {
    let reply = Reply::new("301 Moved Permanently", &["location: https://other.example/v1"], "");
    check(
        reply,
        ModelErrorKind::InvalidRequest,
        &["301", "set base_url", "https://other.example/v1"],
    )
    .await;
}

#[tokio::test]
async fn an_error_inside_of_a_stream_ends_it_after_what_came_before() {
    let cases = [
        (
            "{\"error\":{\"message\":\"busy\",\"type\":\"overloaded_error\"}}",
            ModelErrorKind::Overloaded,
        ),
        (
            "{\"error\":{\"message\":\"slow\",\"code\":429}}",
            ModelErrorKind::RateLimited,
        ),
        (
            "{\"error\":{\"message\":\"who?\",\"code\":\"invalid_api_key\"}}",
            ModelErrorKind::Auth,
        ),
        (
            "{\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\"}}",
            ModelErrorKind::InvalidRequest,
        ),
        ("{\"error\":\"it broke\",\"choices\":[]}", ModelErrorKind::Incomplete),
    ];
    for (chunk, kind) in cases {
        let (events, error) = bad(Reply::stream(format!("{}data: {chunk}\n\n{DONE}", say("half")))).await;
        assert_eq!(events, [text("half")]);
        assert_eq!(error.kind(), kind, "{error}");
    }
    let (_, error) = bad(Reply::stream("event: error\ndata: {\"message\":\"named\"}\n\n")).await;
    assert!(error.message().ends_with("reported an error: named"), "{error}");
    let (_, error) = bad(refusal("200 OK", "{\"error\":{\"message\":\"at once\",\"code\":503}}")).await;
    assert_eq!(error.kind(), ModelErrorKind::Overloaded);
}

#[tokio::test]
async fn sse_15_a_line_that_is_not_json_fails_the_answer_with_the_line_shown() {
    for line in [
        "{\"choices\":[{\"delta\":{\"content\":\"tw",
        ": PROCESSING",
        "sk-abc-DEF hunter2-hunter2",
    ] {
        let body = format!(
            "{}data: {line}\n\n{}{}{DONE}",
            say("one "),
            say("three"),
            finish("stop")
        );
        let (events, error) = bad(Reply::stream(body)).await;
        assert_eq!(events, [text("one ")]);
        assert_eq!(error.kind(), ModelErrorKind::Incomplete);
        assert!(error.is_retryable());
        assert!(error.message().contains("an event is not JSON"), "{error}");
        assert!(
            !error.message().contains("hunter2") && !error.message().contains("sk-abc"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn other_protocols_are_named_so() {
    for body in [
        "{\"message\":{\"content\":\"a\"}}\n{\"done\":true}\n",
        "[1]",
        "{\"result\":\"a\"}",
    ] {
        let error = check(
            refusal("200 OK", body),
            ModelErrorKind::Protocol,
            &["instead of chat completions"],
        )
        .await;
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn nobody_listening_is_an_unreachable_endpoint() {
    let server = Server::start([]).await;
    let config = config(&server);
    let url = server.url();
    drop(server);
    // The task that listens ends at the next turn of the runtime.
    tokio::task::yield_now().await;
    let model = OpenAiChat::new(config).expect("a good configuration");
    let items: Vec<_> = model.stream(ask("go")).collect().await;
    let [Err(error)] = &items[..] else { panic!("{items:?}") };
    assert_eq!(error.kind(), ModelErrorKind::Network);
    assert!(error.is_retryable());
    assert!(
        error.message().starts_with(&format!("could not reach {url}: ")),
        "{error}"
    );
}

#[tokio::test]
async fn no_answer_at_all_is_a_network_failure() {
    for end in [server::End::Close, server::End::Reset] {
        let (events, error) = bad(Reply::raw("").then(end)).await;
        assert!(events.is_empty());
        assert_eq!(error.kind(), ModelErrorKind::Network, "{error}");
    }
}

#[tokio::test]
async fn an_endpoint_over_tls_is_spoken_to_in_tls_with_the_certificates_of_the_system() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let model = OpenAiChat::new(EndpointConfig::new(format!("https://127.0.0.1:{port}"))).expect("a good URL");
    let server = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut hello = [0; 3];
        stream.read_exact(&mut hello).await.expect("three bytes");
        stream
            .write_all(b"HTTP/1.1 400 no TLS here\r\n\r\n")
            .await
            .expect("a write");
        hello
    };
    let (hello, items) = tokio::join!(server, model.stream(ask("go")).collect::<Vec<_>>());
    assert_eq!(hello[..2], [0x16, 3], "a handshake record");
    let [Err(error)] = &items[..] else { panic!("{items:?}") };
    assert_eq!(error.kind(), ModelErrorKind::Network, "{error}");
    assert!(error.message().contains("could not reach https://127.0.0.1"), "{error}");
}
