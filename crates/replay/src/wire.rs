//! A client that speaks JSON-RPC lines with an agent process and records every line.
//!
//! [`WireClient`] has no task that reads ahead: it reads while it waits. That makes the order of the
//! record depend on what was waited for and never on how fast either side is, and it means that an
//! agent whose client waits for nothing meets a full pipe, as with any slow editor.

mod command;
mod error;
mod exchange;
mod files;
mod lines;
mod message;
mod permission;
mod process;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::{Instant, timeout_at};

pub use command::{WireCommand, WireLimits};
pub use error::{RpcError, WireError};
use files::Files;
use lines::Lines;
pub use message::{Finished, Message, RequestId, Response};
pub use permission::PermissionAnswer;
use permission::Permissions;
use process::Process;

use crate::{Direction, Row};

/// A running agent and the conversation with it.
///
/// Every method that waits obeys [`WireLimits::total`]. Dropping the client kills the agent with its
/// process group.
#[derive(Debug)]
pub struct WireClient {
    process: Process,
    stdin: Option<ChildStdin>,
    stdout: Lines<ChildStdout>,
    limits: WireLimits,
    deadline: Instant,
    rows: Vec<Row>,
    recorded: usize,
    next_id: u64,
    methods: HashMap<RequestId, String>,
    /// The requests that have no response yet.
    open: HashSet<RequestId>,
    responses: HashMap<RequestId, Response>,
    permissions: Permissions,
    files: Files,
    /// Per session, the row behind the last one that a wait has looked at.
    seen: HashMap<String, usize>,
}

impl WireClient {
    /// Starts an agent in a process group of its own.
    ///
    /// Must be called within a tokio runtime with time and I/O.
    ///
    /// # Errors
    ///
    /// [`WireError::Spawn`] if the program cannot be started.
    pub fn spawn(command: &WireCommand) -> Result<Self, WireError> {
        let (process, stdin, stdout) = Process::spawn(command)?;
        Ok(Self {
            process,
            stdin: Some(stdin),
            stdout: Lines::new(stdout, command.limits.line),
            limits: command.limits,
            deadline: Instant::now() + command.limits.total,
            rows: Vec::new(),
            recorded: 0,
            next_id: 0,
            methods: HashMap::new(),
            open: HashSet::new(),
            responses: HashMap::new(),
            permissions: Permissions::default(),
            files: Files::default(),
            seen: HashMap::new(),
        })
    }

    /// The process id of the agent.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Every line so far, and the exit once [`WireClient::finish`] has seen it.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The end of what the agent has written to stderr so far.
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// Sends a request without waiting for its response.
    ///
    /// # Errors
    ///
    /// If the line cannot be written.
    pub async fn send(&mut self, method: &str, params: Value) -> Result<RequestId, WireError> {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        self.methods.insert(id, method.to_owned());
        self.open.insert(id);
        let line = json!({"jsonrpc": "2.0", "id": id.0, "method": method, "params": params});
        self.write(method, line).await?;
        Ok(id)
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// If the line cannot be written.
    pub async fn notify(&mut self, method: &str, params: Value) -> Result<(), WireError> {
        self.write(method, json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await
    }

    /// Sends a request and waits for its result.
    ///
    /// # Errors
    ///
    /// [`WireError::Refused`] if the agent answers with an error; else as [`WireClient::response`].
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, WireError> {
        let id = self.send(method, params).await?;
        self.result(method, id).await
    }

    /// Waits for the response to a request and takes it.
    ///
    /// # Errors
    ///
    /// If the agent ends, misbehaves or takes too long before it answers. A response that was taken
    /// once is never found again.
    pub async fn response(&mut self, id: RequestId) -> Result<Response, WireError> {
        let method = self.methods.get(&id).map_or("an unknown request", String::as_str);
        let awaited = format!("the response to {method}");
        loop {
            if let Some(response) = self.responses.remove(&id) {
                return Ok(response);
            }
            self.next_awaiting(&awaited).await?;
        }
    }

    /// Waits for the first update of a session that fits and that no earlier wait for this session
    /// has matched or passed over; `awaited` says in errors what was wanted.
    ///
    /// # Errors
    ///
    /// If the agent ends, misbehaves or takes too long before such an update comes: after
    /// [`WireLimits::idle`] already while no request is open.
    pub async fn wait_update(
        &mut self,
        session: &str,
        awaited: &str,
        mut fits: impl FnMut(&Value) -> bool,
    ) -> Result<Value, WireError> {
        self.wait_row(session, awaited, |method, params| {
            (method == "session/update" && fits(&params["update"])).then(|| params["update"].clone())
        })
        .await
    }

    /// Waits for the next permission question of a session, by the same rule as
    /// [`WireClient::wait_update`]. The question has been answered already unless it is held.
    ///
    /// # Errors
    ///
    /// As [`WireClient::wait_update`].
    pub async fn wait_permission(&mut self, session: &str) -> Result<Value, WireError> {
        self.wait_row(session, "a permission question", |method, params| {
            (method == "session/request_permission").then(|| params.clone())
        })
        .await
    }

    /// Waits for the next line, whatever it is. Cancellation-safe, except that a permission question may then
    /// stay without its answer.
    ///
    /// # Errors
    ///
    /// If the agent ends, misbehaves or takes too long.
    pub async fn next(&mut self) -> Result<Message, WireError> {
        self.next_awaiting("the next line").await
    }

    /// Appends answers for the permission questions to come. With none left, a question is cancelled.
    pub fn answer_permissions(&mut self, answers: impl IntoIterator<Item = PermissionAnswer>) {
        self.permissions.queue(answers);
    }

    /// Answers the requests for files that these client capabilities promise, as an editor does: what it has open counts
    /// before what is on the disk, and what is written is saved at once. Nothing is promised before this.
    pub fn offer_files(&mut self, capabilities: &Value) {
        self.files.offer(capabilities);
    }

    /// Has the file open, with a text that is not saved.
    pub fn open_file(&mut self, path: PathBuf, text: String) {
        self.files.open(path, text);
    }

    /// Cancels the turn of a session and answers its held permission questions, as a client must.
    ///
    /// # Errors
    ///
    /// If a line cannot be written.
    pub async fn cancel(&mut self, session: &str) -> Result<(), WireError> {
        self.notify("session/cancel", json!({"sessionId": session})).await?;
        for id in self.permissions.release(session) {
            self.answer(&id, "result", permission::cancelled()).await?;
        }
        Ok(())
    }

    /// Closes a session, answers its held permission questions, and waits for the result.
    ///
    /// # Errors
    ///
    /// As [`WireClient::request`].
    pub async fn close_session(&mut self, session: &str) -> Result<(), WireError> {
        let method = "session/close";
        let id = self.send(method, json!({"sessionId": session})).await?;
        for question in self.permissions.release(session) {
            self.answer(&question, "result", permission::cancelled()).await?;
        }
        self.result(method, id).await.map(drop)
    }

    /// Whether the agent's input is open.
    pub fn is_writable(&self) -> bool {
        self.stdin.is_some()
    }

    /// Closes the agent's input; it is expected to end by itself.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes the agent's input, reads what it still says, and waits for its end.
    ///
    /// # Errors
    ///
    /// [`WireError::DidNotExit`] if it had to be killed; else if its last lines are no good.
    pub async fn finish(&mut self) -> Result<Finished, WireError> {
        self.close_stdin();
        let end = Instant::now() + self.limits.exit;
        self.deadline = self.deadline.max(end);
        loop {
            match timeout_at(end, self.stdout.next()).await {
                Ok(Ok(Some(line))) => drop(self.receive(&line).await?),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(self.line_error(error)),
                Err(_) => break,
            }
        }
        let (exit, survivors) = self.process.wait(end, self.limits.exit).await?;
        self.rows.push(Row::Exit { exit });
        Ok(Finished {
            exit,
            survivors,
            stderr: self.stderr(),
        })
    }

    async fn result(&mut self, method: &str, id: RequestId) -> Result<Value, WireError> {
        self.response(id).await?.map_err(|error| WireError::Refused {
            method: method.to_owned(),
            error: Box::new(error),
        })
    }

    async fn wait_row<T>(
        &mut self,
        session: &str,
        awaited: &str,
        mut pick: impl FnMut(&str, &Value) -> Option<T>,
    ) -> Result<T, WireError> {
        let mut at = self.seen.get(session).copied().unwrap_or_default();
        loop {
            while let Some(row) = self.rows.get(at) {
                at += 1;
                let Some((method, params)) = received_call(row) else {
                    continue;
                };
                if params["sessionId"] != session {
                    continue;
                }
                self.seen.insert(session.to_owned(), at);
                if let Some(picked) = pick(method, params) {
                    return Ok(picked);
                }
            }
            self.next_update_awaiting(awaited).await?;
        }
    }
}

/// Method and parameters of a request or notification from the agent.
fn received_call(row: &Row) -> Option<(&str, &Value)> {
    match row {
        Row::Line {
            dir: Direction::Received,
            line,
        } => Some((line["method"].as_str()?, &line["params"])),
        _ => None,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
