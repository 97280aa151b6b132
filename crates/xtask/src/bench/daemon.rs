//! One `weft acp` on a scripted model, and a client just good enough to measure it.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::command;

/// A running agent; dropping it ends it.
pub(crate) struct Daemon {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
    _home: Option<tempfile::TempDir>,
}

/// One line of the agent.
pub(crate) struct Line {
    /// When it was read.
    pub(crate) at: Instant,
    /// As it came, newline included.
    pub(crate) text: String,
}

impl Line {
    /// The line as JSON.
    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.text).with_context(|| format!("no JSON on stdout: {}", self.text))
    }

    /// Whether it is a progress update of a card.
    pub(crate) fn is_progress(&self) -> bool {
        self.text.contains("\"tool_call_update\"") && self.text.contains("\"in_progress\"")
    }

    /// Whether it is a card's first line.
    pub(crate) fn is_call(&self) -> bool {
        self.text.contains("\"sessionUpdate\":\"tool_call\"")
    }

    /// Whether it is a card's last update.
    pub(crate) fn is_final(&self) -> bool {
        self.text.contains("\"tool_call_update\"")
            && (self.text.contains("\"status\":\"completed\"") || self.text.contains("\"status\":\"failed\""))
    }
}

/// The settings of every measurement: each report is sent, and nothing of the run is held back.
const CONFIG: &str = "model = \"scripted/bench\"\nmode = \"full\"\n[providers.scripted]\nkind = \"scripted\"\n\
    script = \"model.toml\"\n[acp.progress]\nmin_interval = \"0ms\"\n[workflow]\nmax_narration_per_second = 1000000\n\
    max_total_agents = 10000\nmax_items_per_call = 10000\n";

/// A model that calls the workflow tool once, answers every member at once, and then is done.
const MODEL: &str = "[[reply]]\nrole = \"main\"\nstep = 1\n[[reply.tool_call]]\nid = \"call\"\nname = \"workflow\"\n\
    arguments = { script = { file = \"run.js\" } }\n[[reply]]\nrole = \"main\"\nstep = 2\ntext = \"done\"\n\
    [[reply]]\nrole = \"subagent\"\ntimes = \"any\"\ntext = \"ok\"\n";

impl Daemon {
    /// Spawns an agent with a home of its own whose model will run this workflow script, and introduces itself.
    pub(crate) fn spawn(weft: &Path, script: &str) -> anyhow::Result<Self> {
        let home = home()?;
        let mut daemon = Self::spawn_in(weft, home.path(), script)?;
        daemon._home = Some(home);
        Ok(daemon)
    }

    /// The same in a home that is there.
    pub(crate) fn spawn_in(weft: &Path, home: &Path, script: &str) -> anyhow::Result<Self> {
        let script = format!("export const meta = {{ name: 'bench', description: 'bench' }};\n{script}\n");
        std::fs::write(home.join("run.js"), script)?;
        Self::spawn_on(weft, home, MODEL)
    }

    /// Spawns an agent with a home of its own, with this configuration and this scripted model.
    pub(crate) fn spawn_with(weft: &Path, config: &str, model: &str) -> anyhow::Result<Self> {
        let home = home()?;
        let mut daemon = Self::spawn_as(weft, home.path(), config, model)?;
        daemon._home = Some(home);
        Ok(daemon)
    }

    /// Spawns an agent in a home that is there, with this scripted model.
    pub(crate) fn spawn_on(weft: &Path, home: &Path, model: &str) -> anyhow::Result<Self> {
        Self::spawn_as(weft, home, CONFIG, model)
    }

    /// A folder for a home.
    pub(crate) fn home() -> anyhow::Result<tempfile::TempDir> {
        Ok(home()?)
    }

    fn spawn_as(weft: &Path, home: &Path, config: &str, model: &str) -> anyhow::Result<Self> {
        for (name, text) in [("config.toml", config), ("model.toml", model)] {
            std::fs::write(home.join(name), text)?;
        }
        let mut command = command::program(weft);
        command
            .arg("acp")
            .env("WEFT_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command
            .stderr(Stdio::inherit())
            .spawn()
            .context("failed to start weft")?;
        let stdin = child.stdin.take();
        let stdout = BufReader::with_capacity(1 << 16, child.stdout.take().context("no stdout")?);
        let mut daemon = Self {
            child,
            stdin,
            stdout,
            next: 0,
            _home: None,
        };
        daemon.request("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}))?;
        Ok(daemon)
    }

    /// Opens a session.
    pub(crate) fn session(&mut self) -> anyhow::Result<String> {
        let answer = self.request("session/new", &json!({"cwd": std::env::temp_dir(), "mcpServers": []}))?;
        Ok(answer["sessionId"].as_str().context("no sessionId")?.to_owned())
    }

    /// Starts a turn; its id is what [`is_answer`] takes.
    pub(crate) fn prompt(&mut self, session: &str) -> anyhow::Result<u64> {
        let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
        self.send("session/prompt", &prompt)
    }

    /// Loads a session.
    pub(crate) fn load(&mut self, session: &str) -> anyhow::Result<()> {
        let params = json!({"sessionId": session, "cwd": std::env::temp_dir(), "mcpServers": []});
        self.request("session/load", &params).map(drop)
    }

    /// Runs one turn in a session of its own and hands over every line up to its answer.
    pub(crate) fn turn(&mut self, seen: impl FnMut(&Line)) -> anyhow::Result<()> {
        let session = self.session()?;
        self.turn_in(&session, seen)
    }

    /// The same in an open session.
    pub(crate) fn turn_in(&mut self, session: &str, mut seen: impl FnMut(&Line)) -> anyhow::Result<()> {
        let id = self.prompt(session)?;
        loop {
            let line = self.line()?;
            if is_answer(&line, id) {
                return good(&line.json()?).map(drop);
            }
            seen(&line);
        }
    }

    /// The next line.
    pub(crate) fn line(&mut self) -> anyhow::Result<Line> {
        let mut text = String::new();
        if self.stdout.read_line(&mut text)? == 0 {
            bail!("weft closed its stdout");
        }
        Ok(Line {
            at: Instant::now(),
            text,
        })
    }

    /// A size of `/proc/PID/status` in KiB, such as `VmRSS`.
    pub(crate) fn memory(&self, what: &str) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find(|line| line.starts_with(what))
            .context("no such line in /proc")?;
        Ok(line.split_whitespace().nth(1).context("no number in /proc")?.parse()?)
    }

    /// Sends a request; its id.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let stdin = self.stdin.as_mut().context("stdin is closed")?;
        stdin.write_all(format!("{message}\n").as_bytes())?;
        stdin.flush()?;
        Ok(self.next)
    }

    /// Reads up to the answer of a request, with as little work as can be, and tells of each frame before it.
    pub(crate) fn frames_until(&mut self, id: u64, mut frame: impl FnMut()) -> anyhow::Result<Value> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.stdout.read_until(b'\n', &mut line)? == 0 {
                bail!("weft closed its stdout");
            }
            // Updates are long and an answer is short.
            if line.len() < 4096 && !line.starts_with(b"{\"jsonrpc\":\"2.0\",\"method\"") {
                let message: Value = serde_json::from_slice(&line)?;
                if message["id"] == id && message.get("method").is_none() {
                    return good(&message);
                }
            }
            frame();
        }
    }

    /// Sends a request and passes over every line up to its answer.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let id = self.send(method, params)?;
        loop {
            let line = self.line()?;
            if is_answer(&line, id) {
                return good(&line.json()?);
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // What is still in the pipe must not keep it from ending.
        let _unread = std::io::copy(&mut self.stdout.by_ref().take(1 << 30), &mut std::io::sink());
        let _reaped = self.child.wait();
    }
}

/// A folder of its own, in memory where the system has such a place: agents wait for the disk again and again, and its
/// moods are larger than most of what is measured.
fn home() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

/// Whether a line answers a request.
pub(crate) fn is_answer(line: &Line, id: u64) -> bool {
    !line.text.contains("\"method\"") && line.json().is_ok_and(|message| message["id"] == id)
}

fn good(message: &Value) -> anyhow::Result<Value> {
    match message.get("error") {
        Some(error) => bail!("weft answered with an error: {error}"),
        None => Ok(message["result"].clone()),
    }
}
