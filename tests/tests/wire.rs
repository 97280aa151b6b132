//! The protocol as it is on the wire, with every byte in view: what no client library would send, and
//! what none would show.

#![cfg(unix)]

#[path = "wire/agent.rs"]
mod agent;

use std::collections::BTreeMap;
use std::path::Path;

use agent::{Agent, Answer};
use rustix::process::Signal;
use serde_json::{Value, json};

/// The last word of the slow command, as it stands in a message; the command's own text is in its title.
const READY: &str = r"ready\n";

/// Follows every card of a turn by the protocol's rules, and returns the status each ended with.
#[track_caller]
fn cards(session: &str, answer: &Answer) -> BTreeMap<String, String> {
    let mut cards = BTreeMap::<String, String>::new();
    for message in answer
        .before
        .iter()
        .filter(|message| message["method"] == "session/update")
    {
        assert_eq!(message["params"]["sessionId"], session);
        let update = &message["params"]["update"];
        let id = update["toolCallId"].as_str().unwrap_or_default().to_owned();
        let status = update["status"].as_str();
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => {
                assert!(
                    update["title"].as_str().is_some_and(|title| !title.is_empty()),
                    "{update}"
                );
                let before = cards.insert(id, status.unwrap_or("pending").to_owned());
                assert_eq!(before, None, "a second card: {update}");
            }
            Some("tool_call_update") => {
                let card = cards.get_mut(&id).unwrap_or_else(|| panic!("no card yet: {update}"));
                assert!(!is_final(card), "after the end: {update}");
                if let Some(status) = status {
                    assert_ne!((status, &**card), ("pending", "in_progress"), "{update}");
                    status.clone_into(card);
                }
            }
            _ => {}
        }
    }
    for (id, status) in &cards {
        assert!(is_final(status), "{id} is left {status}");
    }
    cards
}

fn is_final(status: &str) -> bool {
    status == "completed" || status == "failed"
}

fn text(answer: &Answer) -> String {
    let chunks = answer
        .updates()
        .filter(|update| update["sessionUpdate"] == "agent_message_chunk");
    chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
}

/// The process numbers that the slow command tells.
fn told(messages: &[Value]) -> Vec<u32> {
    let shown: String = messages.iter().map(Value::to_string).collect();
    let numbers = ["shell=", "left="].map(|name| {
        let rest = shown
            .rsplit_once(name)
            .unwrap_or_else(|| panic!("{name} is not shown: {shown}"))
            .1;
        rest.chars().take_while(char::is_ascii_digit).collect::<String>()
    });
    numbers
        .map(|number| number.parse().expect("a process has a number"))
        .to_vec()
}

#[track_caller]
fn assert_gone(processes: &[u32]) {
    for process in processes {
        assert!(
            !Path::new("/proc").join(process.to_string()).exists(),
            "process {process} is left"
        );
    }
}

#[tokio::test]
async fn the_version_that_is_spoken_is_the_answer_to_any_other() {
    for (asked, answered) in [(1, 1), (2, 1), (65535, 1)] {
        let mut agent = Agent::start();
        let answer = agent
            .request(
                "initialize",
                json!({ "protocolVersion": asked, "clientCapabilities": {} }),
            )
            .await;
        assert_eq!(
            answer.response["result"]["protocolVersion"], answered,
            "asked for {asked}"
        );
    }
}

#[tokio::test]
async fn the_program_says_who_it_is_and_how_to_authenticate() {
    let mut agent = Agent::start();
    let answer = agent
        .request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }))
        .await;
    let result = &answer.response["result"];
    assert_eq!(result["agentInfo"]["name"], "weft");
    assert!(result["agentInfo"]["version"].is_string());
    let method = result["authMethods"][0]["id"].clone();
    let answer = agent.request("authenticate", json!({ "methodId": method })).await;
    assert!(answer.response.get("result").is_some(), "{}", answer.response);
}

#[tokio::test]
async fn ids_come_back_as_they_were() {
    let mut agent = Agent::ready().await;
    for id in [json!("s-1"), json!(77), json!(0), json!(-5), json!(""), json!("é漢🧵")] {
        agent
            .write_line(&json!({ "jsonrpc": "2.0", "id": id, "method": "nothing/here", "params": {} }))
            .await;
        assert_eq!(agent.answer(&id).await.error_code(), -32601);
    }
}

#[tokio::test]
async fn a_line_may_arrive_in_any_pieces() {
    let mut agent = Agent::ready().await;
    let line = format!(
        "{}\r\n",
        json!({ "jsonrpc": "2.0", "id": "é漢🧵", "method": "nothing/here", "params": { "x": "中🧪é" } })
    );
    for size in [1, 3, 7] {
        for piece in line.as_bytes().chunks(size) {
            agent.write(piece).await;
        }
        assert_eq!(agent.answer(&json!("é漢🧵")).await.error_code(), -32601);
    }
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_the_connection_lives() {
    let mut agent = Agent::ready().await;
    let lines: [(&[u8], i64); 5] = [
        (b"{nope\n", -32700),
        (b"{\"foo\":\"bar\"}\n", -32600),
        (b"[]\n", -32600),
        (b"\"text\"\n", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}\n", -32600),
    ];
    for (line, code) in lines {
        agent.write(line).await;
        let answer = agent.message().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(code)),
            "{}",
            line.escape_ascii()
        );
    }
    agent
        .write(b"{\"jsonrpc\":\"2.0\",\"method\":\"_x\xff\",\"params\":{}}\n")
        .await;
    agent.new_session().await;
}

#[tokio::test]
async fn unknown_methods_are_refused_and_unknown_notifications_are_not_answered() {
    let mut agent = Agent::ready().await;
    assert_eq!(agent.request("nothing/here", json!({})).await.error_code(), -32601);
    assert_eq!(agent.request("_nothing/here", json!({})).await.error_code(), -32601);
    agent.notify("nothing/here", json!({})).await;
    agent.assert_quiet().await;
}

#[tokio::test]
async fn wrong_parameters_are_refused_and_the_connection_lives() {
    let mut agent = Agent::ready().await;
    assert_eq!(
        agent.request("session/new", json!({ "cwd": 5 })).await.error_code(),
        -32602
    );
    for folder in ["relative/folder", "", "/no/such/folder"] {
        let answer = agent
            .request("session/new", json!({ "cwd": folder, "mcpServers": [] }))
            .await;
        assert_eq!(answer.error_code(), -32602, "{folder}");
        assert!(
            answer.response["error"].to_string().contains(folder),
            "{}",
            answer.response
        );
    }
    let answer = agent.prompt("no-such-session", "plain").await;
    assert!(answer.response.get("error").is_some(), "{}", answer.response);
    agent.new_session().await;
}

#[tokio::test]
async fn a_plain_turn_streams_its_text_and_leaves_nothing_behind() {
    let mut agent = Agent::ready().await;
    let session = agent.new_session().await;
    let answer = agent.prompt(&session, "plain").await;
    assert_eq!(answer.stop_reason(), "end_turn");
    assert_eq!(text(&answer), "Hello from the model.");
    assert!(cards(&session, &answer).is_empty());
    agent.assert_quiet().await;
}

#[tokio::test]
async fn a_command_asks_first_and_its_card_ends() {
    let mut agent = Agent::ready().await;
    let session = agent.new_session().await;
    let answer = agent.prompt(&session, "tool").await;
    assert_eq!(answer.stop_reason(), "end_turn");
    let asked = answer
        .before
        .iter()
        .filter(|message| message["method"] == "session/request_permission");
    assert_eq!(asked.count(), 1);
    assert_eq!(
        cards(&session, &answer).into_values().collect::<Vec<_>>(),
        ["completed"]
    );
    let last = answer
        .updates()
        .filter(|update| update["status"] == "completed")
        .last()
        .expect("it ended");
    assert!(last.to_string().contains("from the shell"), "{last}");
    agent.assert_quiet().await;
}

#[tokio::test]
async fn a_workflow_is_shown_live_with_standard_fields_only() {
    let mut agent = Agent::ready().await;
    let session = agent.new_session().await;
    let answer = agent.prompt(&session, "workflow").await;
    assert_eq!(answer.stop_reason(), "end_turn");
    assert_eq!(
        cards(&session, &answer).into_values().collect::<Vec<_>>(),
        ["completed"]
    );
    let live = answer
        .updates()
        .filter(|update| update["sessionUpdate"] == "tool_call_update" && update["status"] == "in_progress");
    let live: Vec<&Value> = live.collect();
    for phase in ["Look", "Sum up"] {
        assert!(
            live.iter().any(|update| update["content"].to_string().contains(phase)),
            "{phase} is not shown: {live:?}"
        );
    }
    for update in live {
        let fields: Vec<&String> = update.as_object().expect("an update is an object").keys().collect();
        let known = ["sessionUpdate", "toolCallId", "status", "title", "content"];
        assert!(fields.iter().all(|field| known.contains(&field.as_str())), "{update}");
    }
    let asked: Vec<_> = answer
        .before
        .iter()
        .filter_map(|message| message["method"].as_str())
        .collect();
    assert!(
        asked
            .iter()
            .all(|method| *method == "session/update" || *method == "session/request_permission"),
        "{asked:?}"
    );
    agent.assert_quiet().await;
}

#[tokio::test]
async fn a_cancelled_turn_ends_its_cards_and_its_processes_and_then_itself() {
    let mut agent = Agent::ready().await;
    let session = agent.new_session().await;
    let id = agent.send_prompt(&session, "slow").await;
    let shown = agent.until_shown(READY).await;
    agent.notify("session/cancel", json!({ "sessionId": session })).await;
    agent.notify("session/cancel", json!({ "sessionId": session })).await;
    let mut answer = agent.answer(&id).await;
    assert_eq!(answer.stop_reason(), "cancelled");
    answer.before.splice(0..0, shown.clone());
    assert_eq!(cards(&session, &answer).into_values().collect::<Vec<_>>(), ["failed"]);
    let processes = told(&shown);
    assert_gone(&processes[..1]);
    agent.assert_quiet().await;
    assert_eq!(agent.prompt(&session, "plain").await.stop_reason(), "end_turn");
    // What left the group ends with the program.
    agent.close_input();
    agent.end().await;
    assert_gone(&processes);
}

#[tokio::test]
async fn a_cancel_of_nothing_is_nothing() {
    let mut agent = Agent::ready().await;
    let session = agent.new_session().await;
    agent.notify("session/cancel", json!({ "sessionId": session })).await;
    agent
        .notify("session/cancel", json!({ "sessionId": "no-such-session" }))
        .await;
    agent.assert_quiet().await;
    assert_eq!(agent.prompt(&session, "plain").await.stop_reason(), "end_turn");
}

#[tokio::test]
async fn a_second_prompt_is_refused_and_the_first_goes_on() {
    let mut agent = Agent::ready().await;
    let session = agent.new_session().await;
    let first = agent.send_prompt(&session, "silent").await;
    let second = agent.prompt(&session, "plain").await;
    assert!(second.response.get("error").is_some(), "{}", second.response);
    agent.notify("session/cancel", json!({ "sessionId": session })).await;
    assert_eq!(agent.answer(&first).await.stop_reason(), "cancelled");
}

#[tokio::test]
async fn the_end_of_the_input_ends_everything_even_in_the_middle_of_a_turn() {
    let mut agent = Agent::ready().await;
    let session = agent.new_session().await;
    agent.send_prompt(&session, "slow").await;
    let processes = told(&agent.until_shown(READY).await);
    agent.close_input();
    let (status, errors) = agent.end().await;
    assert!(status.success(), "{status}");
    assert_eq!(errors, "");
    assert_gone(&processes);
}

#[tokio::test]
async fn signals_end_everything_and_the_status_tells_which() {
    for (signal, number) in [(Signal::TERM, 15), (Signal::INT, 2), (Signal::HUP, 1)] {
        let mut agent = Agent::ready().await;
        let session = agent.new_session().await;
        agent.send_prompt(&session, "slow").await;
        let processes = told(&agent.until_shown(READY).await);
        agent.signal(signal);
        let (status, _) = agent.end().await;
        let told = std::os::unix::process::ExitStatusExt::signal(&status)
            .map(|signal| 128 + signal)
            .or(status.code());
        assert_eq!(told, Some(128 + number), "{status}");
        assert_gone(&processes);
    }
}

#[tokio::test]
async fn an_idle_program_ends_with_its_input_and_says_nothing_to_people() {
    let mut agent = Agent::ready().await;
    let session = agent.new_session().await;
    agent.prompt(&session, "plain").await;
    agent.close_input();
    let (status, errors) = agent.end().await;
    assert!(status.success(), "{status}");
    assert_eq!(errors, "");
}
