//! An MCP server that others wrote, named by the client, over both transports.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::Scene;
use super::shown::Shown;

const TRANSPORTS: [&str; 2] = ["stdio", "http"];

/// Drives the client through calls of the server's tools and looks at what the server was sent.
pub(super) fn take(scene: &Scene) -> anyhow::Result<String> {
    let mut task = scene.task(["Add.", "Take long.", "Add again."]);
    task.prompts[1]["cancelAt"] = json!(TRANSPORTS.len());
    let script = scene.installed("everything.mjs");
    let record = |transport: &str| scene.home.join(format!("{transport}.jsonl"));
    task.mcp_servers = vec![
        json!({
            "name": "over-stdio",
            "command": "node",
            "args": [script, "stdio", record("stdio")],
            "env": [],
        }),
        json!({
            "type": "http",
            "name": "over-http",
            "serve": ["node", script, "http", record("http")],
            "headers": [],
        }),
    ];
    let shown = scene.drive(&task)?;
    ensure!(
        shown.stops == ["end_turn", "cancelled", "end_turn"],
        "the turns ended with {:?}",
        shown.stops
    );
    for transport in TRANSPORTS {
        check_cards(&shown, transport)
            .and_then(|()| check_sent(&record(transport)))
            .with_context(|| format!("over {transport}"))?;
    }
    Ok("answers, progress and a cancel over stdio and over HTTP".to_owned())
}

fn check_cards(shown: &Shown, transport: &str) -> anyhow::Result<()> {
    let card = |what: &str| shown.card(&format!("{what}-{transport}"));
    for (what, sum) in [
        ("sum", "The sum of 2 and 40 is 42."),
        ("again", "The sum of 20 and 22 is 42."),
    ] {
        let text = card(what)?.completed()?;
        ensure!(text.contains(sum), "the sum is {text}");
    }
    let long = card("long")?;
    for progress in ["25% (1 of 4)", "50% (2 of 4)", "75% (3 of 4)"] {
        ensure!(
            long.running.iter().any(|text| text.contains(progress)),
            "{progress} was not shown: {:?}",
            long.running
        );
    }
    let end = long.completed()?;
    ensure!(end.contains("Long running operation completed"), "it ended with {end}");
    let cut = card("cut")?.failed()?;
    ensure!(cut.contains("was cancelled"), "it ended with {cut}");
    Ok(())
}

/// The server was told of the cancel of the last long call, and of no other.
fn check_sent(record: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(record).with_context(|| format!("failed to read {}", record.display()))?;
    let sent: Vec<Value> = text
        .lines()
        .filter(|line| !line.is_empty())
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .context("what the server was sent is not JSON")?;
    let last = sent
        .iter()
        .rfind(|message| message["params"]["name"] == "trigger-long-running-operation")
        .context("the server was sent no long call")?;
    let cancelled: Vec<_> = sent
        .iter()
        .filter(|message| message["method"] == "notifications/cancelled")
        .map(|message| &message["params"]["requestId"])
        .collect();
    ensure!(
        cancelled == [&last["id"]],
        "the calls {cancelled:?} were cancelled, expected {}",
        last["id"]
    );
    Ok(())
}
