//! Does the steps of a client's script.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::missed::Missed;
use super::{StepError, signal};
use crate::normalise::HARNESS;
use crate::scenario::{
    Action, Await, ExpectError, ListSessions, NewSession, OpenFile, Prompt, Request, Restart, SetOption, Signal,
    SignalName, SignalTarget, WaitUpdate, WriteFile,
};
use crate::{Exit, Finished, RequestId, Response, Row, WireClient, WireCommand, WireError};

/// The number of the signal that no process survives.
const SIGKILL: i32 = 9;

/// A client in the middle of its script.
pub(super) struct Player<'a> {
    command: WireCommand,
    client: WireClient,
    /// The folder of the sessions.
    cwd: &'a Path,
    /// Session ids by the script's names.
    sessions: HashMap<String, String>,
    /// Requests by the script's names for their responses.
    requests: HashMap<String, RequestId>,
    /// What was said with the agents that have been replaced.
    rows: Vec<Row>,
    /// Every end of an agent so far.
    ends: Vec<End>,
    missed: Missed,
}

/// How an agent ended.
pub(super) struct End {
    pub(super) expected: Exit,
    pub(super) finished: Finished,
}

impl<'a> Player<'a> {
    /// Starts the agent.
    pub(super) fn start(command: WireCommand, cwd: &'a Path) -> Result<Self, WireError> {
        Ok(Self {
            client: WireClient::spawn(&command)?,
            command,
            cwd,
            sessions: HashMap::new(),
            requests: HashMap::new(),
            rows: Vec::new(),
            ends: Vec::new(),
            missed: Missed::default(),
        })
    }

    /// Everything that was said so far.
    pub(super) fn rows(&self) -> Vec<Row> {
        self.rows.iter().chain(self.client.rows()).cloned().collect()
    }

    /// Asks what the scripted model missed and sees the agent end, unless a step has done so. Gives every end and what
    /// the model missed.
    pub(super) async fn finish(&mut self) -> Result<(Vec<End>, Missed), WireError> {
        if self.has_ended() {
            return Ok((std::mem::take(&mut self.ends), Missed::default()));
        }
        self.ask_model().await?;
        self.end(Exit::Code(0)).await?;
        Ok((std::mem::take(&mut self.ends), std::mem::take(&mut self.missed)))
    }

    /// Whether a step has seen the end of the agent that was started last.
    fn has_ended(&self) -> bool {
        matches!(self.client.rows().last(), Some(Row::Exit { .. }))
    }

    async fn ask_model(&mut self) -> Result<(), WireError> {
        if self.client.is_writable() {
            self.missed.ask(&mut self.client).await?;
        }
        Ok(())
    }

    async fn end(&mut self, expected: Exit) -> Result<(), WireError> {
        let finished = self.client.finish().await?;
        self.ends.push(End { expected, finished });
        Ok(())
    }

    pub(super) async fn step(&mut self, action: &Action) -> Result<(), StepError> {
        match action {
            Action::Initialize(initialize) => self.initialize(&initialize.capabilities).await,
            Action::NewSession(new) => self.new_session(new).await,
            Action::SetMode(set) => {
                let params = json!({"sessionId": self.session(&set.session), "modeId": set.mode});
                Ok(self.client.request("session/set_mode", params).await.map(drop)?)
            }
            Action::SetOption(set) => self.set_option(set).await,
            Action::Prompt(prompt) => self.prompt(prompt).await,
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
            Action::LoadSession(of) => self.reopen("session/load", &of.session).await,
            Action::ResumeSession(of) => self.reopen("session/resume", &of.session).await,
            Action::ListSessions(list) => self.list_sessions(list).await,
            Action::DeleteSession(of) => {
                let params = json!({"sessionId": self.session(&of.session)});
                Ok(self.client.request("session/delete", params).await.map(drop)?)
            }
            Action::OpenGate(open) => self.harness("gate/open", json!({"gate": open.gate})).await,
            Action::WaitGate(wait) => {
                let mut params = json!({"gate": wait.gate});
                if let Some(count) = wait.count {
                    params["count"] = json!(count);
                }
                self.harness("gate/wait", params).await
            }
            Action::WriteFile(file) => self.write_file(file),
            Action::OpenFile(OpenFile { name, text }) => {
                self.client.open_file(self.cwd.join(name), text.clone());
                Ok(())
            }
            Action::Signal(signal) => self.signal(signal),
            Action::CloseStdin(_) => {
                self.client.close_stdin();
                Ok(())
            }
            Action::WaitExit(exit) => Ok(self.end(exit.expected()).await?),
            Action::Restart(restart) => self.restart(restart).await,
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
        self.client.offer_files(&params["clientCapabilities"]);
        self.client.request("initialize", params).await?;
        Ok(())
    }

    async fn new_session(&mut self, new: &NewSession) -> Result<(), StepError> {
        let mut params = json!({"cwd": self.cwd, "mcpServers": []});
        if !new.folders.is_empty() {
            let folders: Vec<_> = new.folders.iter().map(|folder| self.cwd.join(folder)).collect();
            params["additionalDirectories"] = json!(folders);
        }
        let result = self.client.request("session/new", params).await?;
        let Some(id) = result["sessionId"].as_str() else {
            return Err(unexpected(&result, "a sessionId"));
        };
        self.sessions.insert(new.name.clone(), id.to_owned());
        Ok(())
    }

    async fn set_option(&mut self, set: &SetOption) -> Result<(), StepError> {
        let params = json!({"sessionId": self.session(&set.session), "configId": set.option, "value": set.value});
        let result = self.client.request("session/set_config_option", params).await?;
        let options = result["configOptions"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let found = options.iter().find(|option| option["id"] == *set.option);
        match found.is_some_and(|option| option["currentValue"] == *set.value) {
            true => Ok(()),
            false => Err(unexpected(
                &result,
                &format!("the option {} with {:?}", set.option, set.value),
            )),
        }
    }

    async fn prompt(&mut self, prompt: &Prompt) -> Result<(), StepError> {
        let text = (!prompt.text.is_empty()).then(|| json!({"type": "text", "text": prompt.text}));
        let blocks: Vec<_> = text.into_iter().chain(prompt.blocks.iter().cloned()).collect();
        let params = json!({"sessionId": self.session(&prompt.session), "prompt": blocks});
        self.send("session/prompt", params, &prompt.name).await
    }

    async fn reopen(&mut self, method: &str, name: &str) -> Result<(), StepError> {
        let params = json!({"sessionId": self.session(name), "cwd": self.cwd, "mcpServers": []});
        Ok(self.client.request(method, params).await.map(drop)?)
    }

    async fn list_sessions(&mut self, list: &ListSessions) -> Result<(), StepError> {
        let result = self.client.request("session/list", json!({"cwd": self.cwd})).await?;
        let rows = result["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found: Vec<_> = rows.iter().map(|row| row["sessionId"].as_str()).collect();
        let ids: Vec<_> = list.sessions.iter().map(|name| self.session(name)).collect();
        let expected: Vec<_> = ids.iter().map(|id| Some(id.as_str())).collect();
        match found == expected {
            true => Ok(()),
            false => Err(unexpected(&result, &format!("the sessions {:?}", list.sessions))),
        }
    }

    /// Sees the agent end, if it has not, and starts the next one.
    async fn restart(&mut self, restart: &Restart) -> Result<(), StepError> {
        if !self.has_ended() {
            self.ask_model().await?;
            let expected = match restart.kill {
                true => {
                    signal::send(self.client.pid(), SignalName::Kill)?;
                    Exit::Signal(SIGKILL)
                }
                false => Exit::Code(0),
            };
            self.end(expected).await?;
        }
        let next = WireClient::spawn(&self.command)?;
        let ended = std::mem::replace(&mut self.client, next);
        self.rows.extend_from_slice(ended.rows());
        self.requests.clear();
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
