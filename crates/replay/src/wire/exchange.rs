//! One line at a time: what is done with each line read, and how lines are written.

use std::io;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::time::{Instant, timeout_at};

use super::lines::LineError;
use super::{Message, RequestId, RpcError, WireClient, WireError};
use crate::{Direction, Row};

impl WireClient {
    pub(super) async fn next_awaiting(&mut self, awaited: &str) -> Result<Message, WireError> {
        let deadline = self.deadline;
        match self.next_until(deadline, awaited).await? {
            Some(message) => Ok(message),
            None => Err(self.timeout(awaited)),
        }
    }

    /// The next line, which is given less time when no request is open that could bring it.
    pub(super) async fn next_update_awaiting(&mut self, awaited: &str) -> Result<Message, WireError> {
        if !self.open.is_empty() {
            return self.next_awaiting(awaited).await;
        }
        let limit = self.limits.idle;
        let idle = self.deadline.min(Instant::now() + limit);
        self.next_until(idle, awaited).await?.ok_or_else(|| WireError::Idle {
            limit,
            awaited: awaited.to_owned(),
        })
    }

    /// The next line, or `None` if it has not come by then.
    async fn next_until(&mut self, deadline: Instant, awaited: &str) -> Result<Option<Message>, WireError> {
        match timeout_at(deadline, self.stdout.next()).await {
            Ok(Ok(Some(line))) => self.receive(&line).await.map(Some),
            Ok(Ok(None)) => {
                self.process.last_words().await;
                Err(WireError::Ended {
                    awaited: awaited.to_owned(),
                    stderr: self.stderr(),
                })
            }
            Ok(Err(error)) => Err(self.line_error(error)),
            Err(_) => Ok(None),
        }
    }

    /// Records a line and does what a client must at once: match responses, answer requests.
    pub(super) async fn receive(&mut self, line: &[u8]) -> Result<Message, WireError> {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            return Err(self.bad_line("not JSON", line));
        };
        self.record(Direction::Received, value.clone(), line.len())?;
        let (id, method) = (value.get("id"), value["method"].as_str());
        let params = &value["params"];
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        match (id, method) {
            (None, Some("session/update")) => Ok(Message::Update {
                session,
                update: params["update"].clone(),
            }),
            (Some(id), Some("session/request_permission")) => {
                if let Some(result) = self.permissions.answer(id, params)? {
                    self.answer(id, "result", result).await?;
                }
                Ok(Message::Permission { session })
            }
            (Some(id), Some(method)) => {
                let (member, answer) = self.files.answer(method, params).unwrap_or_else(|| {
                    let message = format!("this client has no {method}");
                    ("error", json!({"code": -32601, "message": message}))
                });
                self.answer(id, member, answer).await?;
                Ok(Message::Other(value))
            }
            (Some(id), None) => Ok(self.keep_response(id, &value)),
            (None, _) => Ok(Message::Other(value)),
        }
    }

    fn keep_response(&mut self, id: &Value, response: &Value) -> Message {
        let known = id.as_u64().map(RequestId).filter(|id| self.methods.contains_key(id));
        let Some(id) = known else {
            return Message::Other(response.clone());
        };
        let answer = match (response.get("result"), response.get("error")) {
            (_, Some(error)) => Err(RpcError::from_wire(error)),
            (result, None) => Ok(result.cloned().unwrap_or_default()),
        };
        self.open.remove(&id);
        // The first response counts; a second one is for the checker to find.
        self.responses.entry(id).or_insert(answer);
        Message::Response(id)
    }

    /// Answers a request of the agent. One that no longer listens goes without its answer.
    pub(super) async fn answer(&mut self, id: &Value, member: &str, value: Value) -> Result<(), WireError> {
        let line = json!({"jsonrpc": "2.0", "id": id, member: value});
        match self.write("a response", line).await {
            Err(WireError::InputClosed { .. } | WireError::Write { .. }) => Ok(()),
            outcome => outcome,
        }
    }

    pub(super) async fn write(&mut self, what: &str, line: Value) -> Result<(), WireError> {
        let Some(stdin) = &mut self.stdin else {
            return Err(WireError::InputClosed { what: what.to_owned() });
        };
        let text = format!("{line}\n");
        match timeout_at(self.deadline, write_all(stdin, &text)).await {
            Ok(Ok(())) => self.record(Direction::Sent, line, text.len()),
            Ok(Err(source)) => Err(WireError::Write {
                what: what.to_owned(),
                source,
            }),
            Err(_) => Err(self.timeout(&format!("the agent to read {what}"))),
        }
    }

    fn record(&mut self, dir: Direction, line: Value, len: usize) -> Result<(), WireError> {
        self.recorded += len;
        self.rows.push(Row::Line { dir, line });
        if self.recorded > self.limits.transcript {
            return Err(WireError::TooLong {
                what: "transcript",
                limit: self.limits.transcript,
            });
        }
        Ok(())
    }

    fn timeout(&self, awaited: &str) -> WireError {
        WireError::Timeout {
            limit: self.limits.total,
            awaited: awaited.to_owned(),
        }
    }

    pub(super) fn line_error(&mut self, error: LineError) -> WireError {
        match error {
            LineError::Read(source) => WireError::Read { source },
            LineError::TooLong => WireError::TooLong {
                what: "line",
                limit: self.limits.line,
            },
            LineError::Unterminated(text) => self.bad_line("without a newline at its end", &text),
        }
    }

    fn bad_line(&mut self, problem: &'static str, line: &[u8]) -> WireError {
        let text = String::from_utf8_lossy(line);
        self.rows.push(Row::Line {
            dir: Direction::Received,
            line: Value::String(text.clone().into_owned()),
        });
        WireError::BadLine {
            problem,
            line: text.chars().take(200).collect(),
        }
    }
}

async fn write_all(stdin: &mut ChildStdin, text: &str) -> io::Result<()> {
    stdin.write_all(text.as_bytes()).await?;
    stdin.flush().await
}
