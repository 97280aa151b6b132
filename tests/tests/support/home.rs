//! A home with a scripted model, and the processes that share it.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use weft_replay::{RequestId, WireClient, WireCommand, WireError};
use weft_tests::program;

/// Longer than any command takes in a test that passes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A `WEFT_HOME` and a folder to work in; both are gone with it.
pub(crate) struct Home {
    root: TempDir,
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    /// A home whose model plays `model`; `files` stand beside it.
    pub(crate) fn new(model: &str, files: &[(&str, &str)]) -> Self {
        let root = tempfile::Builder::new()
            .prefix("weft-home-")
            .tempdir()
            .expect("a folder");
        let home = Self { root };
        for folder in [home.path(), home.cwd()] {
            std::fs::create_dir(folder).expect("a folder");
        }
        let config = "model = \"scripted/scripted\"\nmode = \"full\"\nacp.progress.min_interval = \"0ms\"\n\
                      [providers.scripted]\nkind = \"scripted\"\nscript = \"model.toml\"\n";
        for (name, text) in [("config.toml", config), ("model.toml", model)].iter().chain(files) {
            std::fs::write(home.path().join(name), text).expect("written");
        }
        home
    }

    /// The `WEFT_HOME`.
    pub(crate) fn path(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The folder of the sessions.
    pub(crate) fn cwd(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Starts an agent and says hello.
    pub(crate) async fn agent(&self) -> Result<WireClient, WireError> {
        let command = WireCommand {
            cwd: Some(self.cwd()),
            ..WireCommand::new(program()).arg("acp").env("WEFT_HOME", self.path())
        };
        let mut client = WireClient::spawn(&command)?;
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
        client.request("initialize", hello).await?;
        Ok(client)
    }

    /// Starts `weft` with some arguments.
    pub(crate) fn weft(&self, args: &[&str]) -> io::Result<Child> {
        let mut command = Command::new(program());
        command
            .args(args)
            .current_dir(self.cwd())
            .env("WEFT_HOME", self.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command.spawn()
    }

    /// Runs `weft` with some arguments to its end.
    pub(crate) async fn say(&self, args: &[&str]) -> io::Result<Said> {
        let output = timeout(PATIENCE, self.weft(args)?.wait_with_output()).await??;
        Ok(Said {
            status: output.status,
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// What `session/new` is asked with.
    pub(crate) fn new_session(&self) -> Value {
        json!({"cwd": self.cwd(), "mcpServers": []})
    }

    /// What `session/load` is asked with.
    pub(crate) fn load(&self, session: &str) -> Value {
        json!({"sessionId": session, "cwd": self.cwd(), "mcpServers": []})
    }
}

/// Opens a session and gives its id.
pub(crate) async fn open(client: &mut WireClient, home: &Home) -> Result<String, WireError> {
    let opened = client.request("session/new", home.new_session()).await?;
    Ok(opened["sessionId"].as_str().expect("a session has an id").to_owned())
}

/// Sends a prompt.
pub(crate) async fn prompt(client: &mut WireClient, session: &str, text: &str) -> Result<RequestId, WireError> {
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    client.send("session/prompt", params).await
}
