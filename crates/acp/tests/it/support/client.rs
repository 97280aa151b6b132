//! A client on the other end of two pipes.

use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Write as _};
use std::thread;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use weft_acp::{AcpOptions, ExitReport, serve};

use super::check::Check;

/// A connection, seen from the client.
pub(crate) struct Client {
    to: Option<PipeWriter>,
    from: mpsc::UnboundedReceiver<Value>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) serving: JoinHandle<ExitReport>,
    check: Check,
    next_id: u64,
    /// Every message that came and was not given to the test yet.
    seen: Vec<Value>,
    /// The titles that came: they are beside what most tests are about, so that they are kept apart.
    pub(crate) titles: Vec<Value>,
    /// The modes and options that came with sessions, kept apart for the same reason.
    pub(crate) setups: Vec<Value>,
    /// The commands that were announced with their sessions, kept apart as well.
    pub(crate) commands: Vec<Value>,
}

impl Client {
    /// A connection on which nothing has been said yet.
    pub(crate) fn connect(options: AcpOptions) -> Self {
        let (client, mut output) = Self::connect_unread(options);
        let sender = client.1;
        thread::spawn(move || read(&mut output, &sender));
        client.0
    }

    /// The same, whose output is read by the test alone.
    pub(crate) fn connect_unread(options: AcpOptions) -> ((Self, mpsc::UnboundedSender<Value>), PipeReader) {
        let (input, to) = std::io::pipe().expect("a pipe");
        let (output, into) = std::io::pipe().expect("a pipe");
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn(serve(options, input, into, shutdown.clone()));
        let (sender, from) = mpsc::unbounded_channel();
        let client = Self {
            to: Some(to),
            from,
            shutdown,
            serving,
            check: Check::default(),
            next_id: 0,
            seen: Vec::new(),
            titles: Vec::new(),
            setups: Vec::new(),
            commands: Vec::new(),
        };
        ((client, sender), output)
    }

    /// A connection that is initialised.
    pub(crate) async fn start(options: AcpOptions) -> Self {
        let mut client = Self::connect(options);
        client.initialize(json!({})).await;
        client
    }

    pub(crate) async fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        self.call("initialize", params).await["result"].take()
    }

    /// Sends bytes as they are; the check is not told.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let to = self.to.as_mut().expect("the input is open");
        to.write_all(bytes).expect("the agent reads");
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: Value) {
        let mut message = message;
        message["jsonrpc"] = json!("2.0");
        self.check.sent(&message);
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request; gives its id.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = json!(self.next_id);
        let mut message = json!({ "id": id, "method": method });
        message["params"] = params;
        self.send(message);
        id
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        let mut message = json!({ "method": method });
        message["params"] = params;
        self.send(message);
    }

    /// Sends a request and gives its response.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> impl Future<Output = Value> {
        let id = self.request(method, params);
        self.response(id)
    }

    /// Waits for a response, unless it has come already; what comes before it is [seen](Self::take).
    pub(crate) async fn response(&mut self, id: Value) -> Value {
        let answers = |message: &Value| message.get("method").is_none() && message.get("id") == Some(&id);
        if let Some(at) = self.seen.iter().position(answers) {
            return self.seen.remove(at);
        }
        self.until(answers).await
    }

    /// Waits for a message; what comes before it is [seen](Self::take).
    pub(crate) async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await.expect("the connection is open");
            if fits(&message) {
                return message;
            }
            self.seen.push(message);
        }
    }

    /// Waits for an update whose status is this; what comes before it is [seen](Self::take).
    pub(crate) async fn until_status(&mut self, status: &str) -> Value {
        let status = json!(status);
        self.until(move |message| message["params"]["update"].get("status") == Some(&status))
            .await
    }

    /// Waits for a question.
    pub(crate) async fn question(&mut self) -> Value {
        self.until(|message| message["method"] == "session/request_permission")
            .await
    }

    async fn next(&mut self) -> Option<Value> {
        loop {
            let mut message = self.from.recv().await?;
            self.check.got(&message);
            match message["params"]["update"]["sessionUpdate"].as_str() {
                Some("session_info_update") => {
                    self.titles.push(message["params"]["update"].take());
                    continue;
                }
                Some("available_commands_update") => {
                    self.commands.push(message["params"].take());
                    continue;
                }
                _ => {}
            }
            if let Some(setup) = setup_of(&mut message) {
                self.setups.push(setup);
            }
            return Some(message);
        }
    }

    /// The messages that came before what was waited for.
    pub(crate) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.seen)
    }

    /// The updates that came before what was waited for.
    pub(crate) fn updates(&mut self) -> Vec<Value> {
        let update = |mut message: Value| message["params"]["update"].take();
        self.take()
            .into_iter()
            .map(update)
            .filter(|update| !update.is_null())
            .collect()
    }

    /// The updates of one kind that came before what was waited for; the others stay.
    pub(crate) fn take_kind(&mut self, kind: &str) -> Vec<Value> {
        let (taken, seen) = self
            .take()
            .into_iter()
            .partition(|message| message["params"]["update"]["sessionUpdate"] == kind);
        self.seen = seen;
        let update = |mut message: Value| message["params"]["update"].take();
        let taken: Vec<Value> = taken;
        taken.into_iter().map(update).collect()
    }

    /// Opens a session in `/`.
    pub(crate) async fn session(&mut self) -> String {
        let response = self.call("session/new", json!({ "cwd": "/", "mcpServers": [] })).await;
        response["result"]["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("{response}"))
            .to_owned()
    }

    /// Sends a prompt; gives its id.
    pub(crate) fn start_prompt(&mut self, session: &str, text: &str) -> Value {
        self.request("session/prompt", prompt(session, text))
    }

    /// Prompts; gives the response.
    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> Value {
        self.call("session/prompt", prompt(session, text)).await
    }

    pub(crate) fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", json!({ "sessionId": session }));
    }

    /// Closes the input.
    pub(crate) fn close_input(&mut self) {
        self.to = None;
    }

    /// Waits until the agent has closed its output.
    pub(crate) async fn output_closed(&mut self) {
        while self.next().await.is_some() {}
    }

    /// Closes the input and waits for the end; gives what came meanwhile.
    pub(crate) async fn end(mut self) -> (ExitReport, Vec<Value>) {
        self.close_input();
        self.ended().await
    }

    /// Waits for the end; gives what came meanwhile.
    pub(crate) async fn ended(mut self) -> (ExitReport, Vec<Value>) {
        while let Some(message) = self.next().await {
            self.seen.push(message);
        }
        let report = (&mut self.serving).await.expect("serving does not panic");
        self.check.ended();
        (report, self.take())
    }
}

/// What the answer to a session's setup says of its modes and options; the rest of it stays.
fn setup_of(message: &mut Value) -> Option<Value> {
    let result = message.get_mut("result")?.as_object_mut()?;
    let modes = result.remove("modes")?;
    let options = result.remove("configOptions")?;
    Some(json!({ "modes": modes, "configOptions": options }))
}

fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

fn read(output: &mut PipeReader, sender: &mpsc::UnboundedSender<Value>) {
    for line in BufReader::new(output).lines() {
        let line = line.expect("stdout is text");
        let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        if sender.send(message).is_err() {
            break;
        }
    }
}

/// All text of an update's content.
pub(crate) fn text_of_update(update: &Value) -> String {
    let content = &update["content"];
    match content.as_array() {
        Some(blocks) => blocks
            .iter()
            .filter_map(|block| block["content"]["text"].as_str())
            .collect(),
        None => content["text"].as_str().unwrap_or_default().to_owned(),
    }
}
