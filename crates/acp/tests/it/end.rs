//! The end of a connection.

use std::time::Duration;

use serde_json::json;
use weft_acp::{AcpOptions, CloseGrace, ExitReason};

use crate::support::{Client, Opening, TestTool, World, text_of_update};

fn hold(tool: TestTool, name: &str) -> World {
    let script = format!("[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"{name}\"\n");
    World::new(&script).tool(tool)
}

fn short_grace(world: &World) -> AcpOptions {
    let mut options = world.options();
    options.close_grace = CloseGrace::new(Duration::from_millis(1200)).expect("in range");
    options
}

#[tokio::test]
async fn g79_the_end_of_input_cancels_what_runs_and_answers_it() {
    let world = hold(TestTool::hold(), "hold");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    client.until_status("in_progress").await;
    let (report, lines) = client.end().await;
    assert_eq!(report.reason, ExitReason::EndOfInput);
    assert!(report.written && report.unfinished.is_empty());
    assert_eq!(lines[0]["params"]["update"]["status"], json!("failed"));
    assert_eq!(
        (&lines[1]["id"], &lines[1]["result"]["stopReason"]),
        (&prompt, &json!("cancelled"))
    );
    assert_eq!(lines.len(), 2);
    assert_eq!((world.tools.progress().len(), world.tools.started().len()), (0, 0));
}

#[tokio::test]
async fn a_shutdown_does_the_same_and_takes_up_nothing_more() {
    let world = hold(TestTool::hold(), "hold");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    client.start_prompt(&session, "go");
    client.until_status("in_progress").await;
    client.shutdown.cancel();
    let (report, lines) = client.ended().await;
    assert_eq!(report.reason, ExitReason::Shutdown);
    assert!(report.written && report.unfinished.is_empty());
    let stop = lines.iter().find_map(|line| line["result"]["stopReason"].as_str());
    assert_eq!(stop, Some("cancelled"));
}

#[tokio::test]
async fn a_client_that_is_gone_ends_the_connection() {
    let world = hold(TestTool::hold(), "hold");
    let ((mut client, sender), output) = Client::connect_unread(world.options());
    drop((output, sender));
    client.request("initialize", json!({ "protocolVersion": 1 }));
    let report = (&mut client.serving).await.unwrap();
    assert_eq!(report.reason, ExitReason::OutputClosed);
    assert!(!report.written);
}

#[tokio::test]
async fn work_that_does_not_end_is_given_up_after_the_grace_and_its_card_fails() {
    let world = hold(TestTool::stuck(), "stuck");
    let mut client = Client::start(short_grace(&world)).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    client.until_status("in_progress").await;
    let (report, lines) = client.end().await;
    assert_eq!(report.reason, ExitReason::EndOfInput);
    assert_eq!(report.unfinished, [session.as_str().into()]);
    assert!(report.written);
    let update = &lines[0]["params"]["update"];
    assert_eq!(
        (&update["status"], text_of_update(update).as_str()),
        (&json!("failed"), "stopped: the connection ended")
    );
    assert_eq!(
        (&lines[1]["id"], &lines[1]["result"]["stopReason"]),
        (&prompt, &json!("cancelled"))
    );
    assert_eq!(lines.len(), 2);
}

#[tokio::test]
async fn dropping_the_connection_ends_its_turns() {
    let world = hold(TestTool::hold(), "hold");
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    client.start_prompt(&session, "go");
    client.until_status("in_progress").await;
    client.serving.abort();
    assert!((&mut client.serving).await.unwrap_err().is_cancelled());
    // The prompt's task lets go of the session, and so of its subscriptions; the writer ends as well.
    while !world.tools.progress().is_empty() {
        tokio::task::yield_now().await;
    }
    client.output_closed().await;
}

#[tokio::test]
async fn several_sessions_are_closed_side_by_side() {
    let world = hold(TestTool::stuck(), "stuck");
    let mut client = Client::start(short_grace(&world)).await;
    let mut sessions = Vec::new();
    for _ in 0..20 {
        let session = client.session().await;
        client.start_prompt(&session, "go");
        client.until_status("in_progress").await;
        sessions.push(session);
    }
    let (report, _) = client.end().await;
    assert_eq!(report.unfinished.len(), 20);
    assert!(report.written, "all of it within one grace");
}

#[tokio::test]
async fn a_session_that_hangs_while_it_opens_does_not_take_the_time_of_the_others() {
    let world = hold(TestTool::hold(), "hold");
    let mut client = Client::start(short_grace(&world)).await;
    let session = client.session().await;
    client.start_prompt(&session, "go");
    client.until_status("in_progress").await;
    world.set_opening(Opening::Hangs(std::sync::Arc::default()));
    let opening = client.request("session/new", json!({ "cwd": "/", "mcpServers": [] }));
    let (report, lines) = client.end().await;
    assert!(report.unfinished.is_empty() && report.written);
    let answer = lines.iter().find(|line| line["id"] == opening).expect("it is answered");
    assert_eq!(answer["error"]["code"], json!(-32603));
}
