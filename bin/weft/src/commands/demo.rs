//! `weft demo`: drives `weft acp` on a scripted model over the real protocol and draws the card it is sent.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};
use weft_replay::{Message, RequestId, WireClient, WireCommand, WireError};

use crate::args::DemoArgs;
use crate::terminal::{self, Size};
use draw::{Live, Plain, Screen};
use fold::Conversation;

mod draw;
mod fold;

const MODEL: &str = include_str!("../../demo/model.toml");
const SCRIPT: &str = include_str!("../../demo/review.js");
const CONFIG: &str = "model = \"scripted/demo\"\npermissions.allow = [\"workflow\"]\n[providers.scripted]\nkind = \"scripted\"\nscript = \"model.toml\"\n";
const PROMPT: &str = "Review lexer.rs, parser.rs, cache.rs and net.rs with a workflow.";

/// How often the live picture is drawn anew, for its clock.
const FRAME: Duration = Duration::from_millis(120);

/// Runs the demo to its end.
pub(crate) async fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let home = tempfile::tempdir().context("failed to make a folder for the demo")?;
    for (name, text) in [("config.toml", CONFIG), ("model.toml", MODEL), ("review.js", SCRIPT)] {
        std::fs::write(home.path().join(name), text).with_context(|| format!("failed to write {name}"))?;
    }
    let weft = std::env::current_exe().context("failed to find the weft program itself")?;
    let command = WireCommand::new(weft).arg("acp").env("WEFT_HOME", home.path());
    let mut client = WireClient::spawn(&command)?;
    let mut screen: Box<dyn Screen> = if terminal::is_live() && !args.plain {
        Box::new(Live::new(io::stdout(), Size::of_stdout))
    } else {
        Box::new(Plain::new(io::stdout()))
    };
    let cwd = home.path().display().to_string();
    let outcome = tokio::select! {
        outcome = converse(&mut client, &cwd, &mut *screen) => outcome.map(|()| ExitCode::SUCCESS),
        // The terminal has sent it to the agent too; what is left to do is to clean up.
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(128 + 2)),
    };
    let finished = client.finish().await;
    let code = outcome?;
    finished.context("the agent did not end")?;
    Ok(code)
}

async fn converse(client: &mut WireClient, cwd: &str, screen: &mut dyn Screen) -> anyhow::Result<()> {
    let info = json!({"name": "weft-demo", "version": env!("CARGO_PKG_VERSION")});
    client
        .request(
            "initialize",
            json!({"protocolVersion": 1, "clientInfo": info, "clientCapabilities": {}}),
        )
        .await?;
    let session = client
        .request("session/new", json!({"cwd": cwd, "mcpServers": []}))
        .await?;
    let session = session["sessionId"]
        .as_str()
        .context("session/new answered without a sessionId")?
        .to_owned();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": PROMPT}]});
    let started = Instant::now();
    let turn = client.send("session/prompt", prompt).await?;
    let mut conversation = Conversation::new(PROMPT);
    screen.draw(&conversation, started.elapsed())?;
    follow(client, turn, |update| {
        if let Some(update) = update {
            conversation.apply(update);
        }
        screen.draw(&conversation, started.elapsed())
    })
    .await?;
    let answer = client
        .response(turn)
        .await?
        .map_err(|error| anyhow::anyhow!("the turn failed: {}", error.message))?;
    screen.end(
        &conversation,
        started.elapsed(),
        answer["stopReason"].as_str().unwrap_or("?"),
    )?;
    io::stdout().flush()?;
    Ok(())
}

/// Hands over each update, and `None` once a frame, until the turn is answered.
async fn follow(
    client: &mut WireClient,
    turn: RequestId,
    mut seen: impl FnMut(Option<&Value>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut frames = tokio::time::interval(FRAME);
    loop {
        let message: Result<Message, WireError> = tokio::select! {
            message = client.next() => message,
            _ = frames.tick() => {
                seen(None)?;
                continue;
            }
        };
        match message? {
            Message::Update { update, .. } => seen(Some(&update))?,
            Message::Response(id) if id == turn => return Ok(()),
            _ => {}
        }
    }
}
