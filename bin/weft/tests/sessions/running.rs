//! Sessions that another weft has open.

use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use weft_replay::{WireClient, WireCommand};

use crate::support::{Home, member};

const MODEL: &str =
    "[[reply]]\nturn = 1\ntext = \"the first answer\"\n[[reply]]\nturn = 2\ntext = \"the second answer\"\n";
const CONFIG: &str = "model = \"scripted/x\"\n[providers.scripted]\nkind = \"scripted\"\nscript = \"model.toml\"\n";

/// A `weft acp` with one session, which had one turn.
async fn agent(home: &Path) -> (WireClient, String) {
    std::fs::write(home.join("config.toml"), CONFIG).expect("written");
    std::fs::write(home.join("model.toml"), MODEL).expect("written");
    let command = WireCommand::new(env!("CARGO_BIN_EXE_weft"))
        .arg("acp")
        .env("WEFT_HOME", home);
    let mut client = WireClient::spawn(&command).expect("weft starts");
    let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
    client.request("initialize", hello).await.expect("an answer");
    let new = json!({"cwd": home, "mcpServers": []});
    let session = client.request("session/new", new).await.expect("a session");
    let id = session["sessionId"].as_str().expect("an id").to_owned();
    prompt(&mut client, &id, "the first question").await;
    (client, id)
}

async fn prompt(client: &mut WireClient, id: &str, text: &str) {
    let prompt = json!({"sessionId": id, "prompt": [{"type": "text", "text": text}]});
    let answer = client.request("session/prompt", prompt).await.expect("an answer");
    assert_eq!(answer["stopReason"], "end_turn");
}

#[tokio::test]
async fn a_running_session_is_listed_shown_and_checked_but_not_deleted() {
    let home = Home::new();
    let (mut client, id) = agent(home.path()).await;
    let list = home.sessions(&["list", "--json"]).json();
    assert_eq!(
        (&list["sessions"][0]["id"], &list["sessions"][0]["running"]),
        (&json!(id), &json!(true))
    );
    let shown = home.sessions(&["show", &id]);
    assert!(shown.out.contains("you  the first question\n"), "{}", shown.out);
    assert!(shown.out.contains("weft  the first answer\n"), "{}", shown.out);
    let holder = format!("weft acp (process {})", client.pid());
    let verified = home.sessions(&["verify", &id]).out;
    assert!(verified.ends_with(&format!("; it is open in {holder}\n")), "{verified}");
    home.holds(&member("aa-1", &id));
    let refused = home.sessions(&["delete", "--yes", "aa-1"]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert!(
        refused.err.contains(&id) && refused.err.contains(&holder),
        "{}",
        refused.err
    );
    let refused = home.sessions(&["delete", "--yes", &id]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert!(refused.err.contains(&holder), "{}", refused.err);
    client.finish().await.expect("the agent ends");
    let deleted = home.sessions(&["delete", "--yes", &id]);
    assert_eq!(
        (deleted.code, deleted.out),
        (0, format!("aa-1\n{id}\n")),
        "{}",
        deleted.err
    );
}

#[tokio::test]
async fn following_shows_what_comes_and_ends_with_the_weft_that_has_it_open() {
    use std::io::{BufRead as _, BufReader, Read as _};
    let home = Home::new();
    let (mut client, id) = agent(home.path()).await;
    let mut command = home.command(&["show", "--follow", &id]);
    let mut follower = command.stdout(Stdio::piped()).spawn().expect("weft starts");
    let mut out = BufReader::new(follower.stdout.take().expect("a pipe"));
    let mut seen = String::new();
    while !seen.contains("the first answer") {
        assert_ne!(out.read_line(&mut seen).expect("text"), 0, "{seen}");
    }
    prompt(&mut client, &id, "the second question").await;
    while !seen.contains("the second answer") {
        assert_ne!(out.read_line(&mut seen).expect("text"), 0, "{seen}");
    }
    client.finish().await.expect("the agent ends");
    out.read_to_string(&mut seen).expect("text");
    assert_eq!(follower.wait().expect("weft ends").code(), Some(0));
    assert_eq!(seen, home.sessions(&["show", &id]).out);
}

#[cfg(unix)]
#[tokio::test]
async fn what_an_agent_that_was_killed_left_behind_is_shown_and_free() {
    let home = Home::new();
    let (client, id) = agent(home.path()).await;
    let pid = rustix::process::Pid::from_raw(client.pid().cast_signed()).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    drop(client);
    let shown = home.sessions(&["show", "--follow", &id]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(shown.out.contains("weft  the first answer\n"), "{}", shown.out);
    assert_eq!(home.sessions(&["verify", &id]).code, 0);
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_fails_the_prompt_and_not_the_start() {
    let home = Home::new();
    std::fs::write(home.path().join("sessions"), "a file").expect("written");
    std::fs::write(home.path().join("config.toml"), CONFIG).expect("written");
    std::fs::write(home.path().join("model.toml"), MODEL).expect("written");
    let command = WireCommand::new(env!("CARGO_BIN_EXE_weft"))
        .arg("acp")
        .env("WEFT_HOME", home.path());
    let mut client = WireClient::spawn(&command).expect("weft starts");
    let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
    client.request("initialize", hello).await.expect("an answer");
    let new = json!({"cwd": home.path(), "mcpServers": []});
    let session = client.request("session/new", new).await.expect("a session");
    let prompt = json!({"sessionId": session["sessionId"], "prompt": [{"type": "text", "text": "hi"}]});
    let sent = client.send("session/prompt", prompt).await.expect("sent");
    let error = client.response(sent).await.expect("an answer").expect_err("must fail");
    let folder = home.path().join("sessions").display().to_string();
    assert!(
        error.message.contains(&folder) && error.message.contains("hint: "),
        "{}",
        error.message
    );
    let finished = client.finish().await.expect("the agent ends");
    assert_eq!((finished.stderr.as_str(), client.stderr().as_str()), ("", ""));
}
