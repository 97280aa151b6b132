//! Live progress of tools on its way to the client.

use std::time::Duration;

use serde_json::{Value, json};
use weft_acp::{AcpOptions, ProgressConfig};
use weft_tools::{ProgressView, ToolRegistry};
use weft_types::ContentBlock;

use crate::support::{Client, TestTool, World, text_of_update};

/// Every report is sent.
fn every_report(world: &World) -> AcpOptions {
    let mut options = world.options();
    options.progress = ProgressConfig::new(Duration::ZERO).expect("in range");
    options
}

fn one_call(name: &str, arguments: &str) -> String {
    format!(
        "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"{name}\"\narguments = {arguments}\n[[reply]]\nstep = 2\ntext = \"done\"\n"
    )
}

/// Status, title and text of each update of a call.
fn card(updates: &[Value], call: &str) -> Vec<(String, String, String)> {
    let text = |update: &Value, name: &str| update[name].as_str().unwrap_or("-").to_owned();
    updates
        .iter()
        .filter(|update| update["toolCallId"] == call)
        .map(|update| (text(update, "status"), text(update, "title"), text_of_update(update)))
        .collect()
}

fn row(status: &str, title: &str, text: &str) -> (String, String, String) {
    (status.to_owned(), title.to_owned(), text.to_owned())
}

#[tokio::test]
async fn g08_the_call_precedes_its_progress_and_g09_none_follows_the_final_card() {
    let world = World::new(&one_call("report", r#"{ say = ["a", "b"] }"#)).tool(TestTool::report());
    let mut client = Client::start(every_report(&world)).await;
    let session = client.session().await;
    client.prompt(&session, "go").await;
    assert_eq!(
        card(&client.updates(), "c1"),
        [
            row("in_progress", "report", ""),
            row("in_progress", "title a", "a"),
            row("in_progress", "title b", "b"),
            row("completed", "report", "\"reported\""),
        ]
    );
    client.end().await;
}

#[tokio::test]
async fn g10_two_sessions_with_equal_call_ids_do_not_mix() {
    let script = r#"
        [[reply]]
        prompt = "red"
        step = 1
        [[reply.tool_call]]
        id = "same"
        name = "report"
        arguments = { say = ["red 1", "red 2"] }
        [[reply]]
        prompt = "blue"
        step = 1
        [[reply.tool_call]]
        id = "same"
        name = "report"
        arguments = { say = ["blue 1", "blue 2"] }
        [[reply]]
        step = 2
        text = "done"
    "#;
    // Both calls stand at the barrier before either goes on, after each report.
    let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(2));
    let report = TestTool::new("report", move |execution| {
        let barrier = std::sync::Arc::clone(&barrier);
        async move {
            for text in execution.arguments()["say"].as_array().unwrap() {
                barrier.wait().await;
                let text = text.as_str().unwrap();
                let view = ProgressView {
                    title: Some(text.to_owned()),
                    content: vec![ContentBlock::text(text)],
                };
                assert!(execution.report_progress(view).unwrap());
                barrier.wait().await;
            }
            Ok(json!("reported"))
        }
    });
    let world = World::new(script).tool(report);
    let mut client = Client::start(every_report(&world)).await;
    let (red, blue) = (client.session().await, client.session().await);
    let prompts = [client.start_prompt(&red, "red"), client.start_prompt(&blue, "blue")];
    for prompt in prompts {
        assert_eq!(client.response(prompt).await["result"]["stopReason"], json!("end_turn"));
    }
    let messages = client.take();
    for (session, colour) in [(&red, "red"), (&blue, "blue")] {
        let updates: Vec<_> = messages
            .iter()
            .filter(|message| message["params"]["sessionId"] == **session)
            .map(|message| message["params"]["update"].clone())
            .collect();
        let expected = [1, 2].map(|number| format!("{colour} {number}"));
        let shown = card(&updates, "same");
        let titles: Vec<_> = shown.iter().map(|(_, title, _)| title.as_str()).collect();
        assert_eq!(titles, ["report", &expected[0], &expected[1], "report"]);
    }
    client.end().await;
}

#[tokio::test]
async fn g11_two_calls_of_one_step_carry_their_own_ids() {
    let script = r#"
        [[reply]]
        step = 1
        [[reply.tool_call]]
        id = "c1"
        name = "report"
        arguments = { say = ["one"] }
        [[reply.tool_call]]
        id = "c2"
        name = "report"
        arguments = { say = ["two"] }
        [[reply]]
        step = 2
        text = "done"
    "#;
    let world = World::new(script).tool(TestTool::report().safe());
    let mut client = Client::start(every_report(&world)).await;
    let session = client.session().await;
    client.prompt(&session, "go").await;
    let updates = client.updates();
    for (call, text) in [("c1", "one"), ("c2", "two")] {
        let shown = card(&updates, call);
        assert_eq!(shown[1], row("in_progress", &format!("title {text}"), text));
        assert_eq!(shown.len(), 3);
    }
    client.end().await;
}

#[tokio::test]
async fn g12_progress_of_another_agent_is_not_leaked() {
    // What a subagent's call looks like to the registry: another agent, here even with this call's id.
    let child = |tools: ToolRegistry| {
        TestTool::new("delegate", move |execution| {
            let tools = tools.clone();
            async move {
                let mut call = execution.nested("c1".into(), "report", r#"{"say":["leak"]}"#);
                (call.root_call_id, call.parent) = (None, None);
                call.agent = Some(weft_types::AgentId::mint());
                assert!(tools.execute(call).await.outcome.is_ok());
                Ok(json!("delegated"))
            }
        })
    };
    let world = World::new(&one_call("delegate", "{}")).tool(TestTool::report());
    let tools = world.tools.clone();
    let world = world.tool(child(tools));
    let mut client = Client::start(every_report(&world)).await;
    let session = client.session().await;
    client.prompt(&session, "go").await;
    let shown = card(&client.updates(), "c1");
    assert_eq!(
        shown,
        [
            row("in_progress", "delegate", ""),
            row("completed", "-", "\"delegated\"")
        ]
    );
    client.end().await;
}

#[tokio::test]
async fn g13_a_nested_call_has_no_update() {
    let world = World::new(&one_call("outer", "{}")).tool(TestTool::report());
    let tools = world.tools.clone();
    let world = world.tool(TestTool::new("outer", move |execution| {
        let tools = tools.clone();
        async move {
            for id in ["c1:1", "c1"] {
                // The second one even takes the id of the outer call.
                let call = execution.nested(id.into(), "report", r#"{"say":["nested"]}"#);
                assert!(tools.execute(call).await.outcome.is_ok());
            }
            Ok(json!("outer"))
        }
    }));
    let mut client = Client::start(every_report(&world)).await;
    let session = client.session().await;
    client.prompt(&session, "go").await;
    let updates = client.updates();
    assert!(updates.iter().all(|update| update["toolCallId"] != "c1:1"));
    assert_eq!(card(&updates, "c1").len(), 2, "{updates:?}");
    client.end().await;
}

#[tokio::test]
async fn g15_nothing_of_progress_is_in_the_log() {
    let log = |options: fn(&World) -> AcpOptions, say: &'static str| async move {
        let world = World::new(&one_call("report", say)).tool(TestTool::report());
        let mut client = Client::start(options(&world)).await;
        let session = client.session().await;
        client.prompt(&session, "go").await;
        let events = world.agents()[0].session().events().unwrap();
        client.end().await;
        events
            .iter()
            .map(|event| serde_json::to_string(event).unwrap())
            .collect::<Vec<_>>()
    };
    let with = log(every_report, r#"{ say = ["secret"] }"#).await;
    assert_eq!(
        with.iter().filter(|event| event.contains("secret")).count(),
        2,
        "the call alone: {with:#?}"
    );
    assert_eq!(with.len(), log(World::options, "{}").await.len());
}

#[tokio::test]
async fn g31_a_body_that_ignores_its_signal_reports_until_it_returns() {
    let world = World::new(&one_call("stubborn", "{}")).tool(TestTool::new("stubborn", |execution| async move {
        let view = |text: &str| ProgressView::text(text);
        execution.report_progress(view("working")).unwrap();
        execution.signal().cancelled().await;
        assert!(
            execution.report_progress(view("cleaning up")).unwrap(),
            "an aborted call is still open"
        );
        let late = execution.clone();
        tokio::spawn(async move {
            while late.report_progress(ProgressView::text("late")).unwrap() {
                tokio::task::yield_now().await;
            }
        });
        Ok(json!("ignored"))
    }));
    let mut client = Client::start(every_report(&world)).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    client
        .until(|message| text_of_update(&message["params"]["update"]) == "working")
        .await;
    client.cancel(&session);
    assert_eq!(
        client.response(prompt).await["result"]["stopReason"],
        json!("cancelled")
    );
    let shown = card(&client.updates(), "c1");
    assert!(shown.iter().any(|(_, _, text)| text == "cleaning up"), "{shown:?}");
    assert_eq!(shown.last().unwrap().0, "failed");
    client.end().await;
}

#[tokio::test]
async fn g32_a_burst_is_thinned_and_its_last_state_superseded_by_the_final_card() {
    let say: Vec<_> = (0..1000).map(|number| format!("\"{number}\"")).collect();
    let world = World::new(&one_call("report", &format!("{{ say = [{}] }}", say.join(", ")))).tool(TestTool::report());
    let mut options = world.options();
    options.progress = ProgressConfig::new(Duration::from_secs(5)).unwrap();
    let mut client = Client::start(options).await;
    let session = client.session().await;
    client.prompt(&session, "go").await;
    let shown = card(&client.updates(), "c1");
    assert_eq!(
        shown,
        [
            row("in_progress", "report", ""),
            row("in_progress", "title 0", "0"),
            row("completed", "report", "\"reported\""),
        ]
    );
    client.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g88_a_client_that_stops_reading_gets_the_final_card_and_the_answer() {
    let text = "x".repeat(10_000);
    let world = World::new(&one_call("flood", "{}")).tool(TestTool::new("flood", move |execution| {
        let text = text.clone();
        async move {
            for _ in 0..2000 {
                assert!(execution.report_progress(ProgressView::text(text.clone())).unwrap());
            }
            Ok(json!("flooded"))
        }
    }));
    let ((mut client, sender), output) = Client::connect_unread(every_report(&world));
    client.request("initialize", json!({ "protocolVersion": 1 }));
    // Reads what it needs, and then nothing until the flood is over.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
    let mut read = move || -> Option<Value> { Some(serde_json::from_str(&lines.next()?.unwrap()).unwrap()) };
    sender.send(tokio::task::block_in_place(&mut read).unwrap()).unwrap();
    let session = client.request("session/new", json!({ "cwd": "/", "mcpServers": [] }));
    sender.send(tokio::task::block_in_place(&mut read).unwrap()).unwrap();
    let session = client.response(session).await["result"]["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    let prompt = client.start_prompt(&session, "go");
    let agent = world.agents()[0].clone();
    let ended = |event: &std::sync::Arc<weft_types::Event>| matches!(event.body, weft_types::EventBody::TurnEnd { .. });
    while !agent.session().last_turn().iter().any(ended) {
        tokio::task::yield_now().await;
    }
    std::thread::spawn(move || while read().is_some_and(|message| sender.send(message).is_ok()) {});
    assert_eq!(client.response(prompt).await["result"]["stopReason"], json!("end_turn"));
    let shown = card(&client.updates(), "c1");
    assert!(shown.len() < 500, "{} updates of 2000 were kept", shown.len());
    assert_eq!(shown.last().unwrap().0, "completed");
    client.end().await;
}
