//! The built program under test, spoken to byte by byte, with nothing of ours in between.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use weft_tests::program;

/// Longer than any wait of a test that passes.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long the program may take to end when it is told to.
const LAST_BREATH: Duration = Duration::from_secs(5);

pub(crate) struct Agent {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
    folder: TempDir,
    _home: TempDir,
}

/// What arrived up to the response to one request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Value,
    pub(crate) before: Vec<Value>,
}

impl Answer {
    pub(crate) fn error_code(&self) -> i64 {
        self.response["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no error: {}", self.response))
    }

    pub(crate) fn stop_reason(&self) -> &str {
        self.response["result"]["stopReason"]
            .as_str()
            .unwrap_or_else(|| panic!("no stop: {}", self.response))
    }

    pub(crate) fn updates(&self) -> impl Iterator<Item = &Value> {
        let updates = self
            .before
            .iter()
            .filter(|message| message["method"] == "session/update");
        updates.map(|message| &message["params"]["update"])
    }
}

impl Agent {
    /// Starts the program with a home of its own, the scripted model and a folder to work in.
    pub(crate) fn start() -> Self {
        let home = tempfile::tempdir().expect("a folder can be made");
        let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        for file in [
            "clients/tour/config.toml",
            "clients/tour/tour.js",
            "tests/wire/model.toml",
        ] {
            let from = own.join(file);
            let name = from.file_name().expect("a file has a name");
            std::fs::copy(&from, home.path().join(name)).expect("the files of the tests are there");
        }
        let mut process = Command::new(program())
            .arg("acp")
            .env("WEFT_HOME", home.path())
            .env("HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        Self {
            input: process.stdin.take(),
            output: BufReader::new(process.stdout.take().expect("its output is a pipe")),
            process,
            requests: 0,
            folder: tempfile::tempdir().expect("a folder can be made"),
            _home: home,
        }
    }

    /// Starts the program and says hello.
    pub(crate) async fn ready() -> Self {
        let mut agent = Self::start();
        let answer = agent
            .request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }))
            .await;
        assert_eq!(answer.response["result"]["protocolVersion"], 1);
        agent
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).await.expect("the program reads");
        input.flush().await.expect("the program reads");
    }

    pub(crate) async fn write_line(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.write_line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    /// Sends a request and returns its id.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = json!(self.requests);
        self.write_line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Answer {
        let id = self.send(method, params).await;
        self.answer(&id).await
    }

    /// Reads to the response with that id; permission is given when it is asked for.
    pub(crate) async fn answer(&mut self, id: &Value) -> Answer {
        let mut before = Vec::new();
        loop {
            let message = self.message().await;
            if message.get("method").is_none() && message["id"] == *id {
                return Answer {
                    response: message,
                    before,
                };
            }
            before.push(message);
        }
    }

    /// Reads to the first update whose text the test looks for.
    pub(crate) async fn until_shown(&mut self, text: &str) -> Vec<Value> {
        let mut before = Vec::new();
        loop {
            let message = self.message().await;
            let found = message["method"] == "session/update" && message.to_string().contains(text);
            before.push(message);
            if found {
                return before;
            }
        }
    }

    /// The next line, which must be one message; permission is given when it is asked for.
    pub(crate) async fn message(&mut self) -> Value {
        let line = self.line().await.expect("the program lives");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        let kinds = ["method", "result", "error"]
            .into_iter()
            .filter(|kind| message.get(kind).is_some());
        assert_eq!(kinds.count(), 1, "{line}");
        if message["method"] == "session/request_permission" {
            let options = message["params"]["options"].as_array().expect("a question has options");
            let allow = options
                .iter()
                .find(|option| option["kind"] == "allow_once")
                .expect("one of them allows");
            let outcome = json!({ "outcome": "selected", "optionId": allow["optionId"] });
            self.write_line(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "outcome": outcome } }))
                .await;
        }
        message
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let read = timeout(PATIENCE, self.output.read_until(b'\n', &mut line)).await;
        let length = read.expect("the program answers in time").expect("a pipe can be read");
        if length == 0 {
            return None;
        }
        assert_eq!(line.pop(), Some(b'\n'), "a line ends with a newline");
        Some(String::from_utf8(line).expect("a line is UTF-8"))
    }

    pub(crate) async fn new_session(&mut self) -> String {
        let folder = self.folder.path().to_owned();
        let answer = self
            .request("session/new", json!({ "cwd": folder, "mcpServers": [] }))
            .await;
        answer.response["result"]["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("{}", answer.response))
            .to_owned()
    }

    /// Sends a prompt and returns the id of the request.
    pub(crate) async fn send_prompt(&mut self, session: &str, text: &str) -> Value {
        let content = json!([{ "type": "text", "text": text }]);
        self.send("session/prompt", json!({ "sessionId": session, "prompt": content }))
            .await
    }

    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> Answer {
        let id = self.send_prompt(session, text).await;
        self.answer(&id).await
    }

    /// Checks that nothing is on its way: a request is answered at once, with nothing before it but the commands of a
    /// session that was opened just now.
    pub(crate) async fn assert_quiet(&mut self) {
        let mut answer = self.request("nothing/here", json!({})).await;
        let commands = "available_commands_update";
        answer
            .before
            .retain(|line| line["params"]["update"]["sessionUpdate"] != commands);
        assert_eq!(answer.before, Vec::<Value>::new());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = self
            .process
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        kill_process(id.expect("the program lives"), signal).expect("it can be signalled");
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the end of the program; returns its status and what it said to people.
    pub(crate) async fn end(mut self) -> (ExitStatus, String) {
        let ended = timeout(LAST_BREATH, self.process.wait()).await;
        let status = ended.expect("the program ends in time").expect("it can be waited for");
        while let Some(line) = self.line().await {
            serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        }
        let mut errors = String::new();
        let mut stderr = self.process.stderr.take().expect("its errors are a pipe");
        stderr.read_to_string(&mut errors).await.expect("they are text");
        (status, errors)
    }
}
