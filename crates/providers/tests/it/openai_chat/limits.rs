//! Endpoints that never stop talking.

use weft_model::ModelErrorKind;

use super::server::End;
use super::*;

/// Checks that an endless answer is ended by a limit, and the connection with it.
async fn check(reply: Reply, change: impl FnOnce(&mut EndpointConfig), kind: ModelErrorKind, expected: &str) {
    let mut server = Server::start([reply.then(End::Repeat)]).await;
    let mut config = config(&server);
    change(&mut config);
    let model = OpenAiChat::new(config).expect("a good configuration");
    let answer = model.stream(ask("go")).fold(None, async |_, item| Some(item));
    let last = tokio::time::timeout(Duration::from_secs(4), answer)
        .await
        .expect("the limit ends it at once");
    let Some(Err(error)) = last else { panic!("{last:?}") };
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.message().contains(expected), "{error}");
    server.left().await;
}

#[tokio::test]
async fn an_endless_event_is_ended() {
    let expected = "is too long: an event of the stream is longer than max_event_bytes (4096)";
    let shrink = |config: &mut EndpointConfig| config.max_event_bytes = 4_096;
    let body = "data: ".to_owned() + &"a".repeat(100);
    check(
        Reply::stream(&body).in_pieces_of(1_000),
        shrink,
        ModelErrorKind::Protocol,
        expected,
    )
    .await;
}

#[tokio::test]
async fn an_endless_answer_is_ended() {
    let expected = "is too long: more than max_answer_bytes (2048)";
    let shrink = |config: &mut EndpointConfig| config.max_answer_bytes = 2_048;
    check(Reply::stream(say("more ")), shrink, ModelErrorKind::Protocol, expected).await;
    check(
        Reply::stream(call(0, "x", "read", "more")),
        shrink,
        ModelErrorKind::Protocol,
        expected,
    )
    .await;
    check(
        Reply::stream("{\"choices\": "),
        shrink,
        ModelErrorKind::Protocol,
        expected,
    )
    .await;
}

#[tokio::test]
async fn an_endless_row_of_calls_is_ended() {
    let calls: String = (0..1_100).map(|index| call(index, "", "a", "")).collect();
    let (_, error) = bad(Reply::stream(calls + DONE)).await;
    assert!(
        error.message().ends_with("is too long: more than 1024 tool calls"),
        "{error}"
    );
}

#[tokio::test]
async fn an_endless_refusal_is_cut() {
    let reply = Reply::new("400 Bad Request", &[], "x ".repeat(50_000));
    check(reply, |_| {}, ModelErrorKind::InvalidRequest, "x x x").await;
}

#[tokio::test]
async fn what_came_before_a_limit_is_given() {
    let server = Server::start([Reply::stream(say("a") + "data: " + &"x".repeat(5_000))]).await;
    let mut config = config(&server);
    config.max_event_bytes = 4_096;
    let model = OpenAiChat::new(config).expect("a good configuration");
    let items: Vec<_> = model.stream(ask("go")).collect().await;
    let [Ok(event), Err(error)] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!(*event, text("a"));
    assert_eq!(error.kind(), ModelErrorKind::Protocol);
}
