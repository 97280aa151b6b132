//! A client on the pipes of `weft acp`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::World;

/// One connection with one session.
pub(crate) struct Editor {
    agent: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    session: Value,
    /// What every question is answered with.
    answer: &'static str,
    /// The updates, in order.
    pub(crate) updates: Vec<Value>,
    /// The questions, in order.
    pub(crate) questions: Vec<Value>,
}

impl Editor {
    /// Starts the agent and opens a session in the project.
    pub(crate) fn open(world: &World, answer: &'static str) -> Self {
        let mut agent = world.spawn(&["acp"], Stdio::piped());
        let stdin = agent.stdin.take().expect("a pipe");
        let stdout = BufReader::new(agent.stdout.take().expect("a pipe"));
        let mut editor = Self {
            agent,
            stdin,
            stdout,
            session: Value::Null,
            answer,
            updates: Vec::new(),
            questions: Vec::new(),
        };
        editor.call("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}));
        let opened = editor.call("session/new", &json!({"cwd": world.project(), "mcpServers": []}));
        editor.session = opened["sessionId"].clone();
        editor
    }

    /// Prompts, and gives the answer to the prompt.
    pub(crate) fn prompt(&mut self, text: &str) -> Value {
        let prompt = json!([{"type": "text", "text": text}]);
        self.call("session/prompt", &json!({"sessionId": self.session, "prompt": prompt}))
    }

    /// What the agent has said so far.
    pub(crate) fn said(&self) -> String {
        let texts = self
            .updates
            .iter()
            .filter_map(|update| update["content"]["text"].as_str());
        texts.collect()
    }

    /// Ends the connection; the agent ends well.
    pub(crate) fn close(mut self) {
        drop(self.stdin);
        assert!(self.agent.wait().expect("ends").success());
    }

    /// Answers come in order, each behind the updates that belong before it.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).expect("read") > 0, "the agent ended");
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if line["method"] == "session/request_permission" {
                self.questions.push(line["params"].clone());
                let outcome = json!({"outcome": "selected", "optionId": self.answer});
                self.send(&json!({"jsonrpc": "2.0", "id": line["id"], "result": {"outcome": outcome}}));
            } else if line["method"] == "session/update" {
                self.updates.push(line["params"]["update"].clone());
            } else if line["id"] == method {
                return line["result"].clone();
            }
        }
    }

    fn send(&mut self, line: &Value) {
        writeln!(self.stdin, "{line}").expect("written");
    }
}
