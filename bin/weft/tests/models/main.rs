//! `weft models` against an endpoint on loopback, which also stands in for a proxy.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Output, Stdio};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// An endpoint that answers one request with this list, and then gives the head of the request.
fn endpoint(list: &Value) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let body = list.to_string();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("a request") > 0 {
            head.push(byte[0]);
        }
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("the client reads");
        String::from_utf8(head).expect("text")
    });
    (address, serving)
}

/// Runs `weft models` in a home of its own with nothing but these variables of the environment.
fn models(home: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    #[expect(clippy::disallowed_methods, reason = "the test waits for the process itself")]
    let mut weft = std::process::Command::new(env!("CARGO_BIN_EXE_weft"));
    weft.arg("models")
        .args(arguments)
        .env_clear()
        .env("WEFT_HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("weft runs")
}

fn configure(home: &Path, provider: &str) {
    let text = format!(
        "model = \"p/chosen\"\n[providers.p]\nkind = \"openai-chat\"\n{provider}\n[models.\"p/chosen\"]\n\
         context_window = 1234\n"
    );
    std::fs::write(home.join("config.toml"), text).expect("written");
}

fn ids(output: &Output) -> Vec<String> {
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let models = document["models"].as_array().expect("a list");
    let id = |model: &Value| model["id"].as_str().expect("an id").to_owned();
    models.iter().map(id).collect()
}

#[test]
fn what_an_endpoint_lists_is_kept_and_its_key_comes_from_a_command() {
    let home = tempfile::tempdir().expect("a folder");
    let (address, serving) = endpoint(&json!({ "data": [{ "id": "listed", "context_length": 9_000 }] }));
    configure(
        home.path(),
        &format!("base_url = \"http://{address}/v1\"\napi_key_command = [\"echo\", \"hunter2\"]"),
    );
    let before = models(home.path(), &["--json"], &[]);
    assert_eq!(ids(&before), ["p/chosen"], "nothing is asked without being told");
    let refreshed = models(home.path(), &["--refresh", "--json"], &[]);
    assert!(refreshed.status.success(), "{refreshed:?}");
    assert_eq!(ids(&refreshed), ["p/chosen", "p/listed"]);
    let head = serving.join().expect("served");
    assert!(head.starts_with("GET /v1/models HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer hunter2\r\n"), "{head}");
    // The endpoint is gone: this is what was kept.
    let kept = models(home.path(), &[], &[]);
    let table = String::from_utf8(kept.stdout).expect("text");
    let expected = "MODEL     CONTEXT  OUTPUT  IMAGES  $/M IN  $/M OUT\np/chosen  1k       ?       ?       ?       ?\n\
                    p/listed  9k       ?       ?       ?       ?\n";
    assert_eq!(table, expected);
    let file = std::fs::read_to_string(home.path().join("cache/models-p.json")).expect("kept");
    assert!(!file.contains("hunter2"), "{file}");
}

#[test]
fn an_endpoint_that_does_not_tell_is_named_and_the_rest_is_listed() {
    let home = tempfile::tempdir().expect("a folder");
    let (address, serving) = endpoint(&json!({ "error": { "message": "no lists here" } }));
    configure(home.path(), &format!("base_url = \"http://{address}/v1\""));
    let output = models(home.path(), &["--refresh", "--json"], &[]);
    serving.join().expect("served");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(ids(&output), ["p/chosen"]);
    let told = String::from_utf8(output.stderr).expect("text");
    assert!(told.starts_with("weft: failed to list the models of p: "), "{told}");
}

#[test]
fn the_proxy_of_the_environment_is_used_and_its_exceptions_are() {
    let home = tempfile::tempdir().expect("a folder");
    configure(
        home.path(),
        "base_url = \"http://model.invalid/v1\"\nconnect_timeout = \"5s\"",
    );
    let (address, serving) = endpoint(&json!({ "data": [{ "id": "far" }] }));
    let proxy = format!("http://{address}");
    let excepted = [("http_proxy", proxy.as_str()), ("no_proxy", "model.invalid")];
    let output = models(home.path(), &["--refresh", "--json"], &excepted);
    assert_eq!(
        ids(&output),
        ["p/chosen"],
        "no such host can be reached without the proxy"
    );
    let output = models(home.path(), &["--refresh", "--json"], &[("http_proxy", &proxy)]);
    assert_eq!(ids(&output), ["p/chosen", "p/far"]);
    let head = serving.join().expect("served");
    assert!(
        head.starts_with("GET http://model.invalid/v1/models HTTP/1.1\r\n"),
        "{head}"
    );
}
