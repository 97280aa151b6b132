//! Does the steps of a client's script.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{StepError, signal};
use crate::normalise::HARNESS;
use crate::scenario::{Action, Await, ExpectError, Request, Signal, SignalTarget, WaitUpdate, WriteFile};
use crate::{Exit, Finished, RequestId, Response, WireClient};

/// A client in the middle of its script.
pub(super) struct Player<'a> {
    client: &'a mut WireClient,
    /// The folder of the sessions.
    cwd: &'a Path,
    /// Session ids by the script's names.
    sessions: HashMap<String, String>,
    /// Requests by the script's names for their responses.
    requests: HashMap<String, RequestId>,
    expected_exit: Exit,
    finished: Option<Finished>,
}

impl<'a> Player<'a> {
    pub(super) fn new(client: &'a mut WireClient, cwd: &'a Path) -> Self {
        Self {
            client,
            cwd,
            sessions: HashMap::new(),
            requests: HashMap::new(),
            expected_exit: Exit::Code(0),
            finished: None,
        }
    }

    /// The exit that is expected, and the one that a step has already waited for.
    pub(super) fn exit(self) -> (Exit, Option<Finished>) {
        (self.expected_exit, self.finished)
    }

    pub(super) async fn step(&mut self, action: &Action) -> Result<(), StepError> {
        match action {
            Action::Initialize(initialize) => self.initialize(&initialize.capabilities).await,
            Action::NewSession(new) => self.new_session(&new.name).await,
            Action::Prompt(prompt) => {
                let text = json!([{"type": "text", "text": prompt.text}]);
                let params = json!({"sessionId": self.session(&prompt.session), "prompt": text});
                self.send("session/prompt", params, &prompt.name).await
            }
            Action::Request(request) => self.any_request(request).await,
            Action::Await(awaited) => self.await_result(awaited).await,
            Action::ExpectError(expected) => self.expect_error(expected).await,
            Action::WaitUpdate(wait) => self.wait_update(wait).await,
            Action::WaitPermission(of) => {
                let session = self.session(&of.session);
                self.client.wait_permission(&session).await?;
                Ok(())
            }
            Action::AnswerPermission(answer) => {
                self.client.answer_permissions(answer.answers.iter().copied());
                Ok(())
            }
            Action::Cancel(of) => Ok(self.client.cancel(&self.sessions[&of.session]).await?),
            Action::CloseSession(of) => Ok(self.client.close_session(&self.sessions[&of.session]).await?),
            Action::OpenGate(open) => self.harness("gate/open", json!({"gate": open.gate})).await,
            Action::WaitGate(wait) => {
                let mut params = json!({"gate": wait.gate});
                if let Some(count) = wait.count {
                    params["count"] = json!(count);
                }
                self.harness("gate/wait", params).await
            }
            Action::WriteFile(file) => self.write_file(file),
            Action::Signal(signal) => self.signal(signal),
            Action::CloseStdin(_) => {
                self.client.close_stdin();
                Ok(())
            }
            Action::WaitExit(exit) => {
                self.expected_exit = exit.expected();
                self.finished = Some(self.client.finish().await?);
                Ok(())
            }
        }
    }

    /// The id of a session; the script's names were checked when it was read.
    fn session(&self, name: &str) -> String {
        self.sessions[name].clone()
    }

    async fn initialize(&mut self, capabilities: &Map<String, Value>) -> Result<(), StepError> {
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": capabilities,
            "clientInfo": {"name": "weft-replay", "version": "1"},
        });
        self.client.request("initialize", params).await?;
        Ok(())
    }

    async fn new_session(&mut self, name: &str) -> Result<(), StepError> {
        let params = json!({"cwd": self.cwd, "mcpServers": []});
        let result = self.client.request("session/new", params).await?;
        let Some(id) = result["sessionId"].as_str() else {
            return Err(unexpected(&result, "a sessionId"));
        };
        self.sessions.insert(name.to_owned(), id.to_owned());
        Ok(())
    }

    async fn send(&mut self, method: &str, params: Value, name: &str) -> Result<(), StepError> {
        let id = self.client.send(method, params).await?;
        self.requests.insert(name.to_owned(), id);
        Ok(())
    }

    async fn any_request(&mut self, request: &Request) -> Result<(), StepError> {
        let params = self.fill(&Value::Object(request.params.clone()));
        self.send(&request.method, params, &request.name).await
    }

    /// Puts what is only known now in the place of `${…}`.
    fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let mut text = text.replace("${cwd}", &self.cwd.display().to_string());
                for (name, id) in &self.sessions {
                    text = text.replace(&format!("${{session.{name}}}"), id);
                }
                Value::String(text)
            }
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(members) => {
                let filled = members.iter().map(|(key, value)| (key.clone(), self.fill(value)));
                Value::Object(filled.collect())
            }
            other => other.clone(),
        }
    }

    async fn response(&mut self, name: &str) -> Result<Response, StepError> {
        Ok(self.client.response(self.requests[name]).await?)
    }

    async fn await_result(&mut self, awaited: &Await) -> Result<(), StepError> {
        let result = self.response(&awaited.response).await?.map_err(StepError::Refused)?;
        match &awaited.stop {
            Some(stop) if result["stopReason"] != *stop => {
                Err(unexpected(&result, &format!("the stop reason \"{stop}\"")))
            }
            _ => Ok(()),
        }
    }

    async fn expect_error(&mut self, expected: &ExpectError) -> Result<(), StepError> {
        let error = match self.response(&expected.response).await? {
            Ok(result) => return Err(unexpected(&result, &format!("an error {}", expected.code))),
            Err(error) => error,
        };
        let pattern = expected
            .message
            .as_ref()
            .filter(|pattern| !pattern.is_found_in(&error.message));
        let expected = match pattern {
            _ if error.code != expected.code => format!("the code {}", expected.code),
            Some(pattern) => format!("a message with {:?}", pattern.as_str()),
            None => return Ok(()),
        };
        Err(StepError::Unexpected {
            found: format!("the error {error}"),
            expected,
        })
    }

    async fn wait_update(&mut self, wait: &WaitUpdate) -> Result<(), StepError> {
        let session = self.session(&wait.session);
        let fits = |update: &Value| wait.fits(update);
        self.client.wait_update(&session, &wait.describe(), fits).await?;
        Ok(())
    }

    async fn harness(&mut self, what: &str, params: Value) -> Result<(), StepError> {
        self.client.request(&format!("{HARNESS}{what}"), params).await?;
        Ok(())
    }

    /// Writes a file whole at once, so that who waits for it never sees a part of it.
    fn write_file(&self, file: &WriteFile) -> Result<(), StepError> {
        let target = self.cwd.join(&file.name);
        let part = self.cwd.join(format!(".{}.part", file.name));
        let written = std::fs::write(&part, &file.text).and_then(|()| std::fs::rename(&part, &target));
        written.map_err(|source| StepError::Write {
            name: file.name.clone(),
            source,
        })
    }

    fn signal(&mut self, signal: &Signal) -> Result<(), StepError> {
        let agent = self.client.pid();
        match signal.target {
            SignalTarget::Agent => signal::send(agent, signal.name),
            SignalTarget::Worker => signal::send_to_workers(agent, signal.name),
        }
    }
}

fn unexpected(result: &Value, expected: &str) -> StepError {
    StepError::Unexpected {
        found: format!("the result {result}"),
        expected: expected.to_owned(),
    }
}
