//! Listing and deleting stored sessions.

use serde_json::{Value, json};
use weft_session::Sessions as _;
use weft_types::EventBody;

use crate::support::{Client, World, header};

const HELLO: &str = "[[reply]]\ntext = \"hello\"\n";

async fn list(client: &mut Client, params: Value) -> Value {
    client.call("session/list", params).await
}

async fn new_session(client: &mut Client, cwd: &std::path::Path) -> String {
    let new = client
        .call("session/new", json!({ "cwd": cwd, "mcpServers": [] }))
        .await;
    new["result"]["sessionId"].as_str().expect("a session").to_owned()
}

fn ids(response: &Value) -> Vec<&str> {
    let sessions = response["result"]["sessions"].as_array();
    let sessions = sessions.unwrap_or_else(|| panic!("no list: {response}"));
    sessions
        .iter()
        .map(|session| session["sessionId"].as_str().expect("an id"))
        .collect()
}

#[tokio::test]
async fn an_empty_list_is_a_list() {
    let world = World::new(HELLO).stored();
    let mut client = Client::start(world.options()).await;
    assert_eq!(list(&mut client, json!({})).await["result"], json!({ "sessions": [] }));
    // A session that nothing was said in is none yet, even if its header is there.
    client.session().await;
    let log = world.log("blank");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    let header = serde_json::to_string(&header("blank", "/")).unwrap();
    std::fs::write(log, header + "\n").unwrap();
    assert_eq!(list(&mut client, json!({})).await["result"], json!({ "sessions": [] }));
    client.end().await;
}

#[tokio::test]
async fn sessions_are_listed_with_folder_title_and_time() {
    let world = World::new(HELLO).stored();
    let (here, there) = (world.work_folder("here"), world.work_folder("there"));
    let mut client = Client::start(world.options()).await;
    let one = new_session(&mut client, &here).await;
    let two = new_session(&mut client, &there).await;
    for session in [&one, &two] {
        client.prompt(session, "Tidy up").await;
    }
    let response = list(&mut client, json!({ "cwd": here })).await;
    let expected = json!({ "sessions": [
        { "sessionId": one, "cwd": here, "title": "Tidy up", "updatedAt": "2024-11-30T13:30:12.345Z" },
    ] });
    assert_eq!(response["result"], expected);
    let mut all = list(&mut client, json!({})).await;
    let mut expected = [one.as_str(), two.as_str()];
    expected.sort_unstable();
    let mut found = ids(&all);
    found.sort_unstable();
    assert_eq!(found, expected);
    all["result"].take();
    assert_eq!(
        ids(&list(&mut client, json!({ "cwd": "/elsewhere" })).await),
        [] as [&str; 0]
    );
    client.end().await;
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let world = World::new(HELLO).stored();
    let mut client = Client::start(world.options()).await;
    let mut sessions = Vec::new();
    for number in 0..103 {
        let id = format!("s{number:03}");
        let session = world.store.create(header(&id, "/")).unwrap();
        session.append(EventBody::TurnStart { turn: 1 }).unwrap();
        sessions.push(id);
    }
    let first = list(&mut client, json!({})).await;
    let cursor = first["result"]["nextCursor"].clone();
    assert!(cursor.is_string(), "{cursor}");
    let second = list(&mut client, json!({ "cursor": cursor })).await;
    assert_eq!(second["result"].get("nextCursor"), None);
    let mut found = [ids(&first), ids(&second)].concat();
    assert!(found.len() == 103 && ids(&first).len() == 100, "{}", found.len());
    found.sort_unstable();
    sessions.sort_unstable();
    assert_eq!(found, sessions);
    client.end().await;
}

#[tokio::test]
async fn a_relative_folder_and_a_made_up_cursor_are_refused() {
    let world = World::new(HELLO).stored();
    let mut client = Client::start(world.options()).await;
    for params in [
        json!({ "cwd": "here" }),
        json!({ "cwd": "" }),
        json!({ "cursor": "made up" }),
    ] {
        let response = list(&mut client, params.clone()).await;
        assert_eq!(response["error"]["code"], -32602, "{params}: {response}");
    }
    client.end().await;
}

#[tokio::test]
async fn a_deleted_session_is_closed_first_and_gone() {
    let world = World::new("[[reply]]\nprompt = \"hang\"\nhang = true\n[[reply]]\ntext = \"hello\"\n").stored();
    let mut client = Client::start(world.options()).await;
    let (gone, kept) = (client.session().await, client.session().await);
    client.prompt(&gone, "hi").await;
    client.prompt(&kept, "hi").await;
    let prompt = client.start_prompt(&gone, "hang");
    let response = client.call("session/delete", json!({ "sessionId": gone })).await;
    assert_eq!(response["result"], json!({}));
    let answer = client.take().into_iter().find(|message| message["id"] == prompt);
    assert_eq!(answer.unwrap()["result"]["stopReason"], "cancelled");
    assert!(!world.log(&gone).exists());
    assert_eq!(client.prompt(&gone, "hi").await["error"]["code"], -32002);
    assert_eq!(ids(&list(&mut client, json!({})).await), [&kept]);
    let load = json!({ "sessionId": gone, "cwd": "/", "mcpServers": [] });
    assert_eq!(client.call("session/load", load).await["error"]["code"], -32002);
    client.end().await;
}

#[tokio::test]
async fn deleting_what_is_not_there_succeeds() {
    let world = World::new(HELLO).stored();
    let mut client = Client::start(world.options()).await;
    for id in ["0f0e0d0c-0000-4000-8000-00000000abcd", "", "../sessions", "a\nb"] {
        let response = client.call("session/delete", json!({ "sessionId": id })).await;
        assert_eq!(response["result"], json!({}), "{id:?}: {response}");
    }
    client.end().await;
}
