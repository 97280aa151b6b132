//! Servers behind an endpoint.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode};
use axum::routing::any;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use weft_mcp::Transport;
use weft_types::text_of;

use crate::support::{Session, config};

/// An endpoint that knows a few sessions, forgets them when told to, and remembers what it was sent.
#[derive(Default)]
struct Endpoint {
    /// The number of the session that is valid.
    session: AtomicUsize,
    keys: Mutex<Vec<String>>,
    wants_key: bool,
}

struct Serving {
    endpoint: Arc<Endpoint>,
    url: String,
    task: JoinHandle<()>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(endpoint: Endpoint) -> Serving {
    let endpoint = Arc::new(endpoint);
    let app = Router::new()
        .route("/mcp", any(answer))
        .with_state(Arc::clone(&endpoint));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let task = tokio::spawn(async move { axum::serve(listener, app).await.expect("it serves") });
    Serving { endpoint, url, task }
}

async fn answer(
    State(endpoint): State<Arc<Endpoint>>,
    method: Method,
    headers: HeaderMap,
    body: String,
) -> Response<Body> {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    if method != Method::POST {
        return status(if method == Method::GET {
            StatusCode::METHOD_NOT_ALLOWED
        } else {
            StatusCode::OK
        });
    }
    endpoint
        .keys
        .lock()
        .expect("nothing panics under it")
        .push(header("x-key"));
    if endpoint.wants_key && header("x-key") != "s3cret-key" {
        return Response::builder()
            .status(StatusCode::UNAUTHORIZED)
            .header("www-authenticate", "Bearer realm=\"test\"")
            .body(Body::empty())
            .expect("a response");
    }
    let message: Value = serde_json::from_str(&body).unwrap_or_default();
    let Some(id) = message.get("id") else {
        return status(StatusCode::ACCEPTED);
    };
    let session = endpoint.session.load(Ordering::SeqCst).to_string();
    let is_hello = message["method"] == "initialize";
    if !is_hello && header("mcp-session-id") != session {
        return status(StatusCode::NOT_FOUND);
    }
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "http", "version": "0"}}),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            let token = &message["params"]["_meta"]["progressToken"];
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": 1, "total": 2}});
            let text = message["params"]["arguments"]["text"].clone();
            let result = json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}});
            return Response::builder()
                .header("content-type", "text/event-stream")
                .body(Body::from(format!("data: {progress}\n\ndata: {result}\n\n")))
                .expect("a response");
        }
        _ => json!({}),
    };
    let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    Response::builder()
        .header("content-type", "application/json")
        .header("mcp-session-id", session)
        .body(Body::from(body))
        .expect("a response")
}

fn status(code: StatusCode) -> Response<Body> {
    Response::builder()
        .status(code)
        .body(Body::empty())
        .expect("a response")
}

fn http(url: &str, key: &str) -> weft_mcp::ServerConfig {
    let transport = Transport::Http {
        url: url.to_owned(),
        headers: vec![("X-Key".into(), key.into())],
    };
    config("test", transport)
}

#[tokio::test]
async fn an_endpoint_is_called_with_its_headers() {
    let serving = serve(Endpoint {
        wants_key: true,
        ..Endpoint::default()
    })
    .await;
    let session = Session::start(vec![http(&serving.url, "s3cret-key")]).await;
    assert!(session.notices.is_empty(), "{:?}", session.notices);
    assert_eq!(Session::text(&session.call("echo", json!({"text": "hi"})).await), "hi");
    let keys = serving.endpoint.keys.lock().expect("nothing panics under it").clone();
    assert!(
        keys.len() >= 3 && keys.iter().all(|key| key == "s3cret-key"),
        "{keys:?}"
    );
}

#[tokio::test]
async fn a_session_that_has_expired_is_begun_anew() {
    let serving = serve(Endpoint::default()).await;
    let session = Session::start(vec![http(&serving.url, "")]).await;
    assert_eq!(
        Session::text(&session.call("echo", json!({"text": "one"})).await),
        "one"
    );
    serving.endpoint.session.fetch_add(1, Ordering::SeqCst);
    assert_eq!(
        Session::text(&session.call("echo", json!({"text": "two"})).await),
        "two"
    );
}

#[tokio::test]
async fn an_endpoint_that_wants_a_key_says_what_to_do() {
    let serving = serve(Endpoint {
        wants_key: true,
        ..Endpoint::default()
    })
    .await;
    let session = Session::start(vec![http(&serving.url, "wrong-key")]).await;
    let [notice] = &session.notices[..] else {
        panic!("{:?}", session.notices)
    };
    assert!(notice.contains("its endpoint wants an authorisation"), "{notice}");
    assert!(
        notice.ends_with("\nhint: give a valid token in the server's headers"),
        "{notice}"
    );
    assert!(!notice.contains("wrong-key"), "{notice}");
}

#[tokio::test]
async fn an_endpoint_that_nobody_serves_is_told_of() {
    let serving = serve(Endpoint::default()).await;
    let url = serving.url.clone();
    let session = Session::start(vec![http(&url, "")]).await;
    drop(serving);
    let failed = session.call("echo", json!({"text": "hi"})).await;
    assert!(failed.is_error());
    assert!(
        text_of(&failed.content).starts_with("Error: MCP server \"test\" "),
        "{failed:?}"
    );
}
