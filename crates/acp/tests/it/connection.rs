//! Handshake, framing, refusals and extension methods.

use std::time::Duration;

use serde_json::{Value, json};
use weft_acp::{CloseGrace, ExitReason, ExtensionError, ExtensionMethods, LineLimit, MaxSessions, OpenError};

use crate::support::{Client, Opening, World};

const HELLO: &str = "[[reply]]\ntext = \"hello\"\n";

fn code(response: &Value) -> i64 {
    response["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("no error: {response}"))
}

fn error_text(response: &Value) -> &str {
    response["error"]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("no error: {response}"))
}

#[tokio::test]
async fn initialize_says_what_is_true() {
    let mut client = Client::connect(World::new(HELLO).options());
    let answer = client
        .initialize(json!({ "fs": { "readTextFile": true }, "terminal": true }))
        .await;
    assert_eq!(
        answer,
        json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": true, "sse": false },
                "sessionCapabilities": { "additionalDirectories": {}, "close": {}, "delete": {}, "list": {}, "resume": {} },
                "auth": {},
            },
            "authMethods": [{
                "id": "configured",
                "name": "Use the configured provider",
                "description": "Nothing to do here: the key is the one of the configured model provider.",
            }],
            "agentInfo": { "name": "weft-test", "title": "Test", "version": "1.2.3" },
        })
    );
    let answer = client.call("authenticate", json!({ "methodId": "configured" })).await;
    assert_eq!(answer["result"], json!({}));
    assert_eq!(
        code(&client.call("authenticate", json!({ "methodId": "other" })).await),
        -32602
    );
    client.end().await;
}

#[tokio::test]
async fn another_protocol_version_is_answered_with_ours() {
    let mut client = Client::connect(World::new(HELLO).options());
    let answer = client.call("initialize", json!({ "protocolVersion": 65535 })).await;
    assert_eq!(answer["result"]["protocolVersion"], json!(1));
    client.end().await;
}

#[tokio::test]
async fn frm07_what_is_piped_in_at_once_is_answered_before_the_end() {
    let world = World::new(HELLO);
    let mut client = Client::connect(world.options());
    client.request("initialize", json!({ "protocolVersion": 1 }));
    client.request("session/new", json!({ "cwd": "/", "mcpServers": [] }));
    client.write(b"\n{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"x\"}}");
    let (report, lines) = client.end().await;
    assert_eq!(report.reason, ExitReason::EndOfInput);
    assert!(report.written && report.unfinished.is_empty());
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line.get("result").is_some()), "{lines:?}");
    let prompt = vec![weft_types::ContentBlock::text("too late")];
    assert!(matches!(
        world.agents()[0].prompt(prompt),
        Err(weft_agent::PromptRefused::Closed)
    ));
}

#[tokio::test]
async fn a_request_before_initialize_is_refused() {
    let mut client = Client::connect(World::new(HELLO).options());
    let response = client
        .call("session/new", json!({ "cwd": "/", "mcpServers": [] }))
        .await;
    assert_eq!(code(&response), -32600);
    client.initialize(json!({})).await;
    client.session().await;
    client.end().await;
}

#[tokio::test]
async fn frm09_odd_but_legal_messages_are_handled() {
    let mut client = Client::start(World::new(HELLO).options()).await;
    let new = json!({ "cwd": "/", "mcpServers": [] });
    for id in [
        json!("3f2c-string"),
        json!(0),
        json!(-7),
        json!(""),
        json!(9_007_199_254_740_993_u64),
    ] {
        client.send(json!({ "id": id, "method": "session/new", "params": new }));
        assert!(client.response(id).await.get("result").is_some());
    }
    client.notify("session/no_such_notification", json!({}));
    client.notify("$/cancel_request", json!({ "requestId": 424_242 }));
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":\"nobody-asked\",\"result\":{}}\n");
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"theirs\"}}\n");
    for method in ["session/no_such_method", "_vendor/ping", "session/fork"] {
        assert_eq!(code(&client.call(method, json!({})).await), -32601, "{method}");
    }
    client.session().await;
    assert_eq!(client.take(), [] as [Value; 0]);
    client.end().await;
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_the_connection_goes_on() {
    let mut client = Client::start(World::new(HELLO).options()).await;
    for (line, expected) in [
        (&b"{nope\n"[..], -32700),
        (b"{\"foo\":\"bar\"}\n", -32600),
        (b"[]\n", -32600),
        (b"\xff\xfe\n", -32700),
    ] {
        client.write(line);
        let response = client.until(|message| message["id"].is_null()).await;
        assert_eq!(code(&response), expected);
    }
    client.session().await;
    client.end().await;
}

#[tokio::test]
async fn frm01_an_over_long_line_is_refused_by_its_id() {
    let mut options = World::new(HELLO).options();
    options.line_limit = LineLimit::new(4096).unwrap();
    let mut client = Client::start(options).await;
    let session = client.session().await;
    let response = client.prompt(&session, &"a".repeat(5000)).await;
    assert_eq!(code(&response), -32600);
    assert!(error_text(&response).contains("acp.line_limit_bytes"), "{response}");
    let response = client.prompt(&session, "small").await;
    assert_eq!(response["result"]["stopReason"], json!("end_turn"));
    client.end().await;
}

#[tokio::test]
async fn wrong_params_are_refused_without_being_repeated() {
    let mut client = Client::start(World::new(HELLO).options()).await;
    let response = client
        .call("session/new", json!({ "cwd": { "secret": 1 }, "mcpServers": [] }))
        .await;
    assert_eq!(code(&response), -32602);
    assert!(!response.to_string().contains("secret"), "{response}");
    let response = client.call("session/prompt", json!({ "prompt": "secret" })).await;
    assert_eq!(code(&response), -32602);
    assert!(!response.to_string().contains("secret"), "{response}");
    client.end().await;
}

fn server(name: &str) -> Value {
    json!({ "name": name, "command": "/bin/m", "args": [], "env": [] })
}

#[tokio::test]
async fn a_session_that_cannot_be_had_is_refused_by_name() {
    let file = std::env::current_exe().unwrap();
    let folder = file.parent().unwrap();
    let mut client = Client::start(World::new(HELLO).options()).await;
    let cases = [
        (
            json!({ "cwd": "relative", "mcpServers": [] }),
            "`cwd` relative is not an absolute path".to_owned(),
        ),
        (
            json!({ "cwd": "", "mcpServers": [] }),
            "is not an absolute path".to_owned(),
        ),
        (
            json!({ "cwd": "/no/such/folder", "mcpServers": [] }),
            "`cwd` /no/such/folder cannot be used".to_owned(),
        ),
        (
            json!({ "cwd": file, "mcpServers": [] }),
            format!("`cwd` {} is not a folder", file.display()),
        ),
        (
            json!({ "cwd": folder, "mcpServers": [], "additionalDirectories": ["/", "relative"] }),
            "`additionalDirectories` relative is not an absolute path".to_owned(),
        ),
        (
            json!({ "cwd": folder, "mcpServers": [], "additionalDirectories": [file] }),
            format!("`additionalDirectories` {} is not a folder", file.display()),
        ),
        (
            json!({ "cwd": folder, "mcpServers": [server("m"), server("n"), server("m")] }),
            "`mcpServers` names two servers `m`".to_owned(),
        ),
    ];
    for (params, text) in cases {
        let response = client.call("session/new", params).await;
        assert_eq!(code(&response), -32602);
        assert!(error_text(&response).contains(&text), "{response}");
    }
    client.end().await;
}

#[tokio::test]
async fn a_session_that_fails_to_open_says_why() {
    let world = World::new(HELLO);
    let mut client = Client::start(world.options()).await;
    for (error, expected) in [
        (
            OpenError::Refused("`model` names no provider".into()),
            (-32602, "invalid params: `model` names no provider"),
        ),
        (
            OpenError::Failed("the store is full".into()),
            (-32603, "the store is full"),
        ),
    ] {
        world.set_opening(Opening::Fails(error));
        let response = client
            .call("session/new", json!({ "cwd": "/", "mcpServers": [] }))
            .await;
        assert_eq!((code(&response), error_text(&response)), expected);
    }
    world.set_opening(Opening::Hangs(std::sync::Arc::default()));
    let opening = client.request("session/new", json!({ "cwd": "/", "mcpServers": [] }));
    client.notify("$/cancel_request", json!({ "requestId": opening }));
    assert_eq!(code(&client.response(opening).await), -32800);
    world.set_opening(Opening::Opens);
    client.session().await;
    client.end().await;
}

#[tokio::test]
async fn the_number_of_sessions_is_bounded() {
    let mut options = World::new(HELLO).options();
    options.max_sessions = MaxSessions::new(2).unwrap();
    let mut client = Client::start(options).await;
    let first = client.session().await;
    let second = client.session().await;
    assert_ne!(first, second);
    let response = client
        .call("session/new", json!({ "cwd": "/", "mcpServers": [] }))
        .await;
    assert!(error_text(&response).contains("acp.max_sessions"), "{response}");
    client.call("session/close", json!({ "sessionId": first })).await;
    client.session().await;
    client.end().await;
}

#[tokio::test]
async fn ord01_every_session_is_announced_before_anything_of_it() {
    let mut client = Client::start(World::new(HELLO).options()).await;
    let ids: Vec<_> = (0..50)
        .map(|_| client.request("session/new", json!({ "cwd": "/", "mcpServers": [] })))
        .collect();
    let mut sessions = Vec::new();
    for _ in ids {
        let response = client.until(|message| message.get("result").is_some()).await;
        sessions.push(response["result"]["sessionId"].clone());
    }
    sessions.sort_by_key(ToString::to_string);
    sessions.dedup();
    assert_eq!(sessions.len(), 50);
    client.end().await;
}

fn extensions(world: &World) -> ExtensionMethods {
    let mut methods = ExtensionMethods::new();
    let script = world.script.clone();
    methods
        .register("_test/wait", move |params| {
            let script = script.clone();
            async move {
                let gate = params["gate"]
                    .as_str()
                    .ok_or(ExtensionError::InvalidParams("`gate` is a text".into()))?;
                script
                    .wait_gate(gate)
                    .await
                    .map_err(|error| ExtensionError::Failed(error.to_string()))?;
                Ok(json!({ "gate": gate }))
            }
        })
        .expect("a free name");
    methods
}

#[tokio::test]
async fn extension_methods_are_answered_when_they_are_done() {
    let world = World::new("[[reply]]\ngate = \"g\"\ntext = \"hello\"\n");
    let mut options = world.options();
    options.extensions = extensions(&world);
    let mut client = Client::start(options).await;
    let session = client.session().await;
    let waiting = client.request("_test/wait", json!({ "gate": "g" }));
    assert_eq!(code(&client.call("_test/wait", json!({})).await), -32602);
    assert_eq!(
        code(&client.call("_test/wait", json!({ "gate": "none" })).await),
        -32603
    );
    assert_eq!(code(&client.call("_test/other", json!({})).await), -32601);
    let prompt = client.start_prompt(&session, "go");
    assert_eq!(client.response(waiting).await["result"], json!({ "gate": "g" }));
    world.script.open_gate("g").unwrap();
    assert_eq!(client.response(prompt).await["result"]["stopReason"], json!("end_turn"));
    client.end().await;
}

#[tokio::test]
async fn a_waiting_extension_method_can_be_cancelled_and_ends_with_the_connection() {
    let world = World::new("[[reply]]\ngate = \"g\"\ntext = \"hello\"\n");
    let mut options = world.options();
    options.extensions = extensions(&world);
    options.close_grace = CloseGrace::new(Duration::from_secs(60)).unwrap();
    let mut client = Client::start(options).await;
    let first = client.request("_test/wait", json!({ "gate": "g" }));
    client.notify("$/cancel_request", json!({ "requestId": first }));
    assert_eq!(code(&client.response(first).await), -32800);
    let second = client.request("_test/wait", json!({ "gate": "g" }));
    let (report, lines) = client.end().await;
    assert_eq!(report.reason, ExitReason::EndOfInput);
    assert_eq!((lines.len(), &lines[0]["id"]), (1, &second));
    assert_eq!(code(&lines[0]), -32603);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_without_reading_does_not_hold_up_the_end() {
    let mut options = World::new(HELLO).options();
    options.close_grace = CloseGrace::new(Duration::from_millis(200)).unwrap();
    let big = |_| async { Ok(json!("x".repeat(10_000))) };
    options.extensions.register("_test/big", big).unwrap();
    let ((mut client, sender), output) = Client::connect_unread(options);
    client.request("initialize", json!({ "protocolVersion": 1 }));
    // More than a pipe holds.
    for _ in 0..50 {
        client.request("_test/big", json!({}));
    }
    client.close_input();
    let report = (&mut client.serving).await.unwrap();
    assert_eq!((report.reason, report.written), (ExitReason::EndOfInput, false));
    drop((output, sender));
}
