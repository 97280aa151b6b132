//! Taking up stored sessions, on the real store: each world beside another is a process of its own to it.

mod damage;
mod end;
mod open_here;
mod refused;

use serde_json::{Value, json};

use crate::support::{Client, TestTool, World, text_of_update};

/// Two turns with thoughts, text around calls, a failing call and one that reports.
const TALK: &str = r#"
[[reply]]
prompt = "question one"
step = 1
reasoning = ["Thinking ", "one."]
text = ["Look ", "first. "]
[[reply.tool_call]]
id = "c1"
name = "report"
arguments = { say = ["a", "b"] }
[[reply.tool_call]]
id = "c2"
name = "fail"
[[reply]]
prompt = "question one"
step = 2
text = "After."
[[reply]]
prompt = "question two"
reasoning = "Thinking two."
text = "Second answer."
"#;

fn world(script: &str) -> World {
    let fail = TestTool::new("fail", |_| async { Err(weft_tools::ToolError::new("on purpose")) });
    World::new(script).tool(TestTool::report()).tool(fail)
}

/// A world with a session of two turns that nobody has open, and what its client was shown of them.
async fn talked() -> (World, String, Vec<Value>) {
    let world = world(TALK).stored();
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let mut updates = Vec::new();
    for (prompt, words) in [("p1", "question one"), ("p2", "question two")] {
        updates
            .push(json!({ "sessionUpdate": "user_message_chunk", "messageId": prompt, "content": { "text": words } }));
        let response = client.prompt(&session, words).await;
        assert_eq!(response["result"]["stopReason"], "end_turn", "{response}");
        updates.extend(client.updates());
    }
    client.end().await;
    (world, session, updates)
}

/// A fresh process on the files of another.
async fn beside(other: &World) -> (World, Client) {
    let world = world(TALK).beside(other);
    let client = Client::start(world.options()).await;
    (world, client)
}

fn params(session: &str, cwd: &str) -> Value {
    json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] })
}

/// Loads a session that works in `/`; gives the response and what was shown before it.
async fn load(client: &mut Client, session: &str) -> (Value, Vec<Value>) {
    let response = client.call("session/load", params(session, "/")).await;
    (response, client.updates())
}

#[track_caller]
fn code(response: &Value) -> i64 {
    let code = response["error"]["code"].as_i64();
    code.unwrap_or_else(|| panic!("no error: {response}"))
}

fn error_text(response: &Value) -> &str {
    response["error"]["message"].as_str().expect("an error")
}

/// What stands on the screen: texts joined by kind, and calls with their last title, status and text.
fn screen(updates: &[Value]) -> Vec<(String, String)> {
    let mut screen: Vec<(String, String)> = Vec::new();
    for update in updates {
        let text = |of: &str| update[of].as_str().unwrap_or_default().to_owned();
        let kind = text("sessionUpdate");
        match kind.as_str() {
            "tool_call" | "tool_call_update" => {
                let id = text("toolCallId");
                let (status, shown) = (text("status"), text_of_update(update));
                let line = format!("{status}: {shown}");
                match screen.iter_mut().find(|(of, _)| *of == id) {
                    Some((_, last)) => *last = line,
                    None => screen.push((id, line)),
                }
            }
            _ => match screen.last_mut() {
                Some((last, joined)) if *last == kind => joined.push_str(&text_of_update(update)),
                _ => screen.push((kind, text_of_update(update))),
            },
        }
    }
    screen
}

#[tokio::test]
async fn lod01_and_g14_a_load_shows_all_that_was_seen_before_it_answers() {
    let (world, session, live) = talked().await;
    let (_world, mut client) = beside(&world).await;
    let (response, replayed) = load(&mut client, &session).await;
    assert_eq!(response["result"], json!({}));
    assert_eq!(screen(&replayed), screen(&live));
    // The check of every transcript has seen that no call was in progress and that all are final.
    let of_calls = |kind: &str| replayed.iter().filter(|update| update["sessionUpdate"] == kind).count();
    assert_eq!((of_calls("tool_call"), of_calls("tool_call_update")), (2, 2));
    let titles: Vec<_> = client
        .titles
        .iter()
        .map(|title| (&title["title"], &title["updatedAt"]))
        .collect();
    assert_eq!(titles, [(&json!("question one"), &json!("2024-11-30T13:30:12.345Z"))]);

    let response = client.prompt(&session, "question two").await;
    assert_eq!(response["result"]["stopReason"], "end_turn");
    assert_eq!(screen(&client.updates())[1].1, "Second answer.");
    client.end().await;
}

#[tokio::test]
async fn lod02_loading_changes_neither_the_log_nor_the_next_replay() {
    let (world, session, _) = talked().await;
    let log = std::fs::read(world.log(&session)).unwrap();
    let mut replays = Vec::new();
    for _ in 0..3 {
        let (world, mut client) = beside(&world).await;
        replays.push(load(&mut client, &session).await.1);
        client.end().await;
        assert_eq!(std::fs::read(world.log(&session)).unwrap(), log);
    }
    assert!(!replays[0].is_empty());
    assert!(replays.iter().all(|replay| *replay == replays[0]));
}

#[tokio::test]
async fn lod05_a_resume_shows_nothing_and_the_model_knows_it_all() {
    let (world, session, _) = talked().await;
    let (world, mut client) = beside(&world).await;
    let response = client.call("session/resume", params(&session, "/")).await;
    assert_eq!(response["result"], json!({}));
    assert_eq!((client.take(), client.titles.len()), (Vec::new(), 0));
    client.prompt(&session, "question two").await;
    let context = world.last_request();
    for said in ["question one", "Look first. ", "on purpose", "After.", "Second answer."] {
        assert!(context.contains(said), "{said} is missing in {context}");
    }
    client.end().await;
}

#[tokio::test]
async fn a_loaded_session_can_be_closed_and_loaded_again() {
    let (world, session, live) = talked().await;
    let (next, mut client) = beside(&world).await;
    for _ in 0..3 {
        let (response, replayed) = load(&mut client, &session).await;
        assert_eq!(response["result"], json!({}));
        assert_eq!(screen(&replayed), screen(&live));
        let response = client.call("session/close", json!({ "sessionId": session })).await;
        assert_eq!(response["result"], json!({}));
        assert_eq!((next.leftovers(), next.tools.progress().len()), (0, 0));
    }
    client.end().await;
}

#[tokio::test]
async fn g80_a_call_that_a_death_cut_off_has_failed_and_the_session_goes_on() {
    let (world, session, _) = talked().await;
    // As if the process had died with the call under way.
    let log = std::fs::read_to_string(world.log(&session)).unwrap();
    let call = log.find(r#""type":"tool/call""#).expect("a call");
    let end = call + log[call..].find('\n').unwrap() + 1;
    std::fs::write(world.log(&session), &log[..end]).unwrap();

    let (world, mut client) = beside(&world).await;
    let (response, replayed) = load(&mut client, &session).await;
    assert_eq!(response["result"], json!({}));
    let cards: Vec<_> = screen(&replayed)
        .into_iter()
        .filter(|(id, _)| id.starts_with('c'))
        .collect();
    assert_eq!(
        cards.len(),
        2,
        "the one that ran and the one that had not started: {cards:?}"
    );
    assert!(
        cards.iter().all(|(_, shown)| shown.starts_with("failed: ")),
        "{cards:?}"
    );
    let response = client.prompt(&session, "question two").await;
    assert_eq!(response["result"]["stopReason"], "end_turn");
    assert!(world.last_request().contains("Second") || world.last_request().contains("question two"));
    client.end().await;
}

#[tokio::test]
async fn g81_a_call_whose_arguments_fit_no_more_has_a_plain_card() {
    let (world, session, _) = talked().await;
    let log = std::fs::read_to_string(world.log(&session)).unwrap();
    let log: String = log.lines().map(|line| without_sum(line) + "\n").collect();
    let old = log.replace(r#""arguments":"{\"say\":[\"a\",\"b\"]}""#, r#""arguments":"[1, 2""#);
    assert_ne!(old, log);
    std::fs::write(world.log(&session), old).unwrap();

    let (_world, mut client) = beside(&world).await;
    let (response, replayed) = load(&mut client, &session).await;
    assert_eq!(response["result"], json!({}));
    let card = replayed
        .iter()
        .find(|update| update["sessionUpdate"] == "tool_call")
        .unwrap();
    assert_eq!((&card["title"], &card["rawInput"]), (&json!("report"), &json!("[1, 2")));
    client.end().await;
}

/// A line of a log as it would be written by hand.
fn without_sum(line: &str) -> String {
    match line.rfind(r#","crc":"#) {
        Some(at) => format!("{}}}", &line[..at]),
        None => line.to_owned(),
    }
}
