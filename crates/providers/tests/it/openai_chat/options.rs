//! Endpoints that refuse to be asked for the usage of a stream.

use serde_json::Value;
use weft_model::ModelErrorKind;

use super::*;

const JSON: &[&str] = &["content-type: application/json"];

fn refusal(body: &str) -> Reply {
    Reply::new("400 Bad Request", JSON, body)
}

fn asks_for_usage(request: &server::Request) -> bool {
    request.json()["stream_options"] != Value::Null
}

#[tokio::test]
async fn an_endpoint_that_refuses_stream_options_is_asked_without_them_from_then_on() {
    for (status, body) in [
        (
            "400 Bad Request",
            "{\"error\":{\"message\":\"Unrecognized request argument supplied: stream_options\"}}",
        ),
        (
            "422 Unprocessable Entity",
            "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"stream_options\"]}]}",
        ),
    ] {
        let answer = || Reply::stream(say("a") + &finish("stop") + DONE);
        let mut server = Server::start([Reply::new(status, JSON, body), answer(), answer()]).await;
        let model = model(&server);
        for asked in [&[true, false][..], &[false]] {
            let events = support::good(model.stream(ask("go")).collect().await);
            assert_eq!(events, [text("a"), ModelEvent::Finish(StopReason::EndTurn)]);
            for expected in asked {
                assert_eq!(asks_for_usage(&server.request().await), *expected, "{body}");
            }
        }
    }
}

#[tokio::test]
async fn what_else_is_refused_is_not_sent_again() {
    let mut server = Server::start([refusal("{\"error\":{\"message\":\"unknown field foo\"}}")]).await;
    let (_, error) = support::bad(model(&server).stream(ask("go")).collect().await);
    assert_eq!(error.kind(), ModelErrorKind::InvalidRequest);
    assert!(asks_for_usage(&server.request().await));
}

#[tokio::test]
async fn an_endpoint_that_goes_on_refusing_is_asked_twice_only() {
    let said = |times: &str| refusal(&format!("{{\"error\":{{\"message\":\"stream_options, {times}\"}}}}"));
    let mut server = Server::start([said("once"), said("twice")]).await;
    let (_, error) = support::bad(model(&server).stream(ask("go")).collect().await);
    assert!(error.message().contains("stream_options, twice"), "{error}");
    assert!(asks_for_usage(&server.request().await));
    assert!(!asks_for_usage(&server.request().await));
}
