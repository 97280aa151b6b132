//! Keys that a command prints, and the list of models that they open.

use futures::StreamExt;
use weft_model::{Model, ModelErrorKind};
use weft_providers::{EndpointConfig, OpenAiChat};

use crate::server::{Reply, Server};
use crate::support::{ask, bad, good, text};

const FINE: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A refusal that repeats the key, and the one before it.
fn refusal(counts: bool) -> Reply {
    let keys = if counts { "hunter2-1 and hunter2-2" } else { "hunter2-1" };
    let body = format!("{{\"error\":{{\"message\":\"bad key {keys}\"}}}}");
    Reply::new("401 Unauthorized", &["content-type: application/json"], body)
}

/// A model whose key is `hunter2-N` where N counts the runs of the command, or the same each time.
fn model(server: &Server, folder: &std::path::Path, counts: bool) -> OpenAiChat {
    let number = if counts { "$(wc -l < runs)" } else { "1" };
    let script = format!("cd {} && echo run >> runs && echo hunter2-{number}", folder.display());
    let mut config = EndpointConfig::new(server.url());
    config.api_key_command = Some(["sh", "-c", &script].map(str::to_owned).to_vec());
    OpenAiChat::new(config).expect("a good configuration")
}

#[tokio::test]
async fn a_refused_key_is_asked_for_anew_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let replies = [refusal(true), Reply::stream(FINE), Reply::stream(FINE)];
    let mut server = Server::start(replies).await;
    let model = model(&server, folder.path(), true);
    for _ in 0..2 {
        let events = good(model.stream(ask("go")).collect().await);
        assert_eq!(events[0], text("a"));
    }
    for expected in ["Bearer hunter2-1", "Bearer hunter2-2", "Bearer hunter2-2"] {
        assert_eq!(server.request().await.header("authorization"), Some(expected));
    }
}

#[tokio::test]
async fn sec_08_a_key_that_stays_refused_is_told_without_being_shown() {
    for counts in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start([refusal(counts), refusal(counts)]).await;
        let (events, error) = bad(model(&server, folder.path(), counts).stream(ask("go")).collect().await);
        assert_eq!((events.len(), error.kind()), (0, ModelErrorKind::Auth));
        assert!(!error.message().contains("hunter2-"), "{error}");
        let runs = std::fs::read_to_string(folder.path().join("runs")).expect("it ran");
        assert_eq!(runs.lines().count(), 2);
    }
}

#[tokio::test]
async fn the_list_of_models_is_fetched_with_the_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = Reply::new("200 OK", &[], "{\"data\":[{\"id\":\"m\",\"context_length\":5}]}");
    let mut server = Server::start([list, Reply::new("404 Not Found", &[], "nothing here")]).await;
    let listing = model(&server, folder.path(), true).listing();
    let models = listing.fetch().await.expect("a list");
    assert_eq!(models["m"].context_window, Some(5));
    let request = server.request().await;
    assert_eq!(request.head[0], "GET /v1/models HTTP/1.1");
    assert_eq!(request.header("authorization"), Some("Bearer hunter2-1"));
    let error = listing.fetch().await.expect_err("no list");
    assert!(
        error.message().contains("404") && error.message().contains("nothing here"),
        "{error}"
    );
}
