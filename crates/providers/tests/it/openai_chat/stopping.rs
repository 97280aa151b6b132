//! Answers that stop, and callers that do.

use weft_model::ModelErrorKind;

use super::server::End;
use super::*;

const IDLE: Duration = Duration::from_millis(150);

fn impatient(server: &Server) -> OpenAiChat {
    let mut config = config(server);
    config.idle_timeout = IDLE;
    OpenAiChat::new(config).expect("a good configuration")
}

#[tokio::test]
async fn sse_02_an_answer_that_just_stops_is_not_whole() {
    for end in [End::Close, End::Reset] {
        let (events, error) = bad(Reply::stream(say("half of the ans")).then(end)).await;
        assert_eq!(events, [text("half of the ans")]);
        assert_eq!(error.kind(), ModelErrorKind::Incomplete, "{error}");
        assert!(error.is_retryable());
    }
}

#[tokio::test]
async fn sse_02_calls_that_were_not_finished_are_not_given() {
    let (events, error) = bad(Reply::stream(call(0, "x", "read", "{}"))).await;
    assert!(events.is_empty(), "{events:?}");
    assert!(error.message().ends_with("is incomplete: it just stops"), "{error}");
}

#[tokio::test]
async fn sse_02_nothing_at_all_is_not_an_answer() {
    for body in ["", "\r\n\n", DONE, ": only a comment\n\n"] {
        let (events, error) = bad(Reply::stream(body)).await;
        assert!(events.is_empty(), "{events:?}");
        assert_eq!(error.kind(), ModelErrorKind::Incomplete, "{body:?}: {error}");
    }
}

#[tokio::test]
async fn sse_02_a_body_shorter_than_announced_is_incomplete() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n";
    let (events, error) = bad(Reply::raw(format!("{head}{}", say("a")))).await;
    assert_eq!(events, [text("a")]);
    assert_eq!(error.kind(), ModelErrorKind::Incomplete, "{error}");
}

#[tokio::test]
async fn can_01_dropping_the_stream_in_the_middle_closes_the_connection() {
    let mut server = Server::start([Reply::stream(say("w0 ") + &say("w1 ")).then(End::Hold)]).await;
    let mut stream = model(&server).stream(ask("talk"));
    assert_eq!(stream.next().await, Some(Ok(text("w0 "))));
    assert_eq!(stream.next().await, Some(Ok(text("w1 "))));
    drop(stream);
    server.left().await;
}

#[tokio::test]
async fn can_01_dropping_the_stream_before_the_answer_closes_the_connection() {
    let mut server = Server::start([Reply::raw("").then(End::Hold)]).await;
    let mut stream = model(&server).stream(ask("talk"));
    tokio::select! {
        item = stream.next() => panic!("{item:?}"),
        _ = server.request() => {}
    }
    drop(stream);
    server.left().await;
}

#[tokio::test]
async fn a_stream_that_is_not_polled_asks_nothing() {
    let mut server = Server::start([Reply::stream(DONE)]).await;
    let model = model(&server);
    drop(model.stream(ask("never")));
    assert_eq!(model.stream(ask("asked")).count().await, 1);
    assert_eq!(server.request().await.json()["messages"][1]["content"], "asked");
}

#[tokio::test]
async fn silence_before_the_answer_has_a_limit() {
    let mut server = Server::start([Reply::raw("").then(End::Hold)]).await;
    let items: Vec<_> = impatient(&server).stream(ask("go")).collect().await;
    let [Err(error)] = &items[..] else { panic!("{items:?}") };
    assert_eq!(error.kind(), ModelErrorKind::Network);
    assert!(
        error.message().ends_with("did not answer within 150ms (idle_timeout)"),
        "{error}"
    );
    server.left().await;
}

#[tokio::test]
async fn connecting_has_a_limit() {
    // The system takes the connection, but nobody answers the handshake.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let mut config = EndpointConfig::new(format!("https://127.0.0.1:{port}/v1"));
    config.connect_timeout = Duration::from_millis(50);
    let model = OpenAiChat::new(config).expect("a good configuration");
    let items: Vec<_> = model.stream(ask("go")).collect().await;
    let [Err(error)] = &items[..] else { panic!("{items:?}") };
    assert_eq!(error.kind(), ModelErrorKind::Network);
    assert!(error.is_retryable());
    assert!(
        error
            .message()
            .ends_with(": no connection within 50ms (connect_timeout)"),
        "{error}"
    );
}

#[tokio::test]
async fn silence_within_the_answer_has_a_limit() {
    let mut server = Server::start([Reply::stream(say("a")).then(End::Hold)]).await;
    let items: Vec<_> = impatient(&server).stream(ask("go")).collect().await;
    let [Ok(event), Err(error)] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!(*event, text("a"));
    assert_eq!(error.kind(), ModelErrorKind::Incomplete);
    assert!(
        error.message().ends_with("nothing came for 150ms (idle_timeout)"),
        "{error}"
    );
    server.left().await;
}

#[tokio::test]
async fn silence_after_the_last_word_is_no_failure() {
    let mut server = Server::start([Reply::stream(say("a") + &finish("stop") + USAGE).then(End::Hold)]).await;
    let items: Vec<_> = impatient(&server).stream(ask("go")).collect().await;
    assert_eq!(
        items,
        [Ok(text("a")), Ok(usage()), Ok(ModelEvent::Finish(StopReason::EndTurn))]
    );
    server.left().await;
}

#[tokio::test]
async fn the_end_marker_ends_an_answer_at_once_though_the_connection_stays() {
    let mut server = Server::start([Reply::stream(say("a") + DONE).then(End::Hold)]).await;
    let answer = model(&server).stream(ask("go")).collect::<Vec<_>>();
    let items = tokio::time::timeout(Duration::from_secs(4), answer)
        .await
        .expect("no waiting for the connection");
    assert_eq!(items, [Ok(text("a")), Ok(ModelEvent::Finish(StopReason::EndTurn))]);
    server.left().await;
}

#[tokio::test]
async fn a_refusal_whose_body_never_ends_is_still_given() {
    let mut server = Server::start([Reply::new("400 Bad Request", &[], "half a rea").then(End::Hold)]).await;
    let items: Vec<_> = impatient(&server).stream(ask("go")).collect().await;
    let [Err(error)] = &items[..] else { panic!("{items:?}") };
    assert!(error.message().contains("400 Bad Request: half a rea"), "{error}");
    server.left().await;
}
