//! T-check: what must hold for every transcript, whatever it is about.

mod card;
mod rpc;
mod session;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use crate::{Direction, Exit, Row};
use rpc::Rpc;
use session::{Found, Session};

/// One rule that a transcript broke, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The row, from 1.
    pub row: usize,
    /// The rule.
    pub rule: Rule,
    /// What was found.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}: {:?}: {}", self.row, self.rule, self.message)
    }
}

/// The rules of T-check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Every line is one JSON-RPC 2.0 message.
    JsonRpc,
    /// Every request of the client has exactly one response, unless a signal ended the agent first.
    OneResponse,
    /// An update's session was announced: returned by `session/new`, or named by a load or resume.
    KnownSession,
    /// What belongs to a turn comes between a prompt (or load) and its response.
    WithinPrompt,
    /// Nothing comes for a session after the response that closed it: neither an update nor the response
    /// of a prompt that was open then.
    NothingAfterClose,
    /// A card is `tool_call`, `tool_call_update(in_progress)*`, `tool_call_update(completed|failed)`.
    CardOrder,
    /// Every card is final before the response of its prompt or load.
    CardFinal,
    /// A load shows of each card its beginning and its end, and nothing in between.
    ReplayFinal,
    /// A progress update changes title and content only.
    ProgressFields,
    /// Progress and end of a card that shows a terminal or a diff keep showing it.
    CardBlocks,
    /// A card does not end with a title or content that progress had put there.
    CardRestored,
}

/// Checks a transcript, raw or normalised, complete or not, and returns what it broke in order.
///
/// A request without a response counts only once the agent has ended by itself.
pub fn t_check(rows: &[Row]) -> Vec<Violation> {
    let mut checker = Checker::default();
    for (at, row) in rows.iter().enumerate() {
        checker.row = at + 1;
        match row {
            Row::Line { dir, line } => checker.line(*dir, line),
            Row::Exit { exit } => checker.exit(*exit),
        }
    }
    checker.violations
}

#[derive(Default)]
struct Checker {
    row: usize,
    violations: Vec<Violation>,
    /// The client's requests that are not answered yet, by the text of their id.
    requests: HashMap<String, Request>,
    sessions: HashMap<String, Session>,
}

struct Request {
    row: usize,
    method: String,
    session: Option<String>,
}

impl Checker {
    fn violation(&mut self, rule: Rule, message: String) {
        self.violations.push(Violation {
            row: self.row,
            rule,
            message,
        });
    }

    fn line(&mut self, dir: Direction, line: &Value) {
        let message = match Rpc::read(line) {
            Ok(message) => message,
            Err(problem) => return self.violation(Rule::JsonRpc, problem.to_owned()),
        };
        match (dir, message) {
            (Direction::Sent, Rpc::Request { id, method, params }) => self.asked(id, method, params),
            (Direction::Received, Rpc::Response { id, result }) => self.answered(id, result),
            (Direction::Received, Rpc::Request { method, params, .. } | Rpc::Notification { method, params }) => {
                self.told(method, params);
            }
            (Direction::Sent, Rpc::Notification { .. } | Rpc::Response { .. }) => {}
        }
    }

    fn asked(&mut self, id: &Value, method: &str, params: &Value) {
        let session = params["sessionId"].as_str().map(str::to_owned);
        if let Some(session) = &session {
            let state = self.sessions.entry(session.clone()).or_default();
            match method {
                "session/prompt" => state.prompts += 1,
                "session/load" => state.begin_load(),
                "session/resume" => state.begin_resume(),
                _ => {}
            }
        }
        let request = Request {
            row: self.row,
            method: method.to_owned(),
            session,
        };
        self.requests.insert(id.to_string(), request);
    }

    fn answered(&mut self, id: &Value, result: Option<&Value>) {
        if id.is_null() {
            // The answer to a line from which no id could be read.
            return;
        }
        let Some(request) = self.requests.remove(&id.to_string()) else {
            return self.violation(Rule::OneResponse, format!("no request with id {id} is unanswered"));
        };
        if request.method == "session/new" {
            if let Some(session) = result.and_then(|result| result["sessionId"].as_str()) {
                self.sessions.entry(session.to_owned()).or_default().opened = true;
            }
            return;
        }
        let Some(session) = &request.session else { return };
        let state = self.sessions.entry(session.clone()).or_default();
        let mut found = match request.method.as_str() {
            "session/prompt" => state.end_prompt(),
            "session/load" => state.end_load(result.is_some()),
            "session/resume" => {
                state.end_resume(result.is_some());
                Vec::new()
            }
            "session/close" if result.is_some() => state.close(),
            _ => return,
        };
        if request.method == "session/close" {
            found.extend(self.prompts_older_than(&request));
        }
        self.found(session, found);
    }

    /// The prompts of a session that should have been answered before it was closed.
    fn prompts_older_than(&self, close: &Request) -> Vec<Found> {
        let open = self.requests.values().filter(|request| {
            request.method == "session/prompt" && request.session == close.session && request.row < close.row
        });
        let mut rows: Vec<_> = open.map(|prompt| prompt.row).collect();
        rows.sort_unstable();
        let message = |row| format!("the prompt of row {row} was not answered before the session was closed");
        rows.into_iter()
            .map(|row| (Rule::NothingAfterClose, message(row)))
            .collect()
    }

    fn found(&mut self, session: &str, found: Vec<Found>) {
        for (rule, message) in found {
            self.violation(rule, format!("session {session}: {message}"));
        }
    }

    /// A subagent is known once it was announced, and at work until its state says otherwise.
    fn subagent(&mut self, update: &Value) {
        let Some(id) = update["sessionId"].as_str() else { return };
        let state = self.sessions.entry(id.to_owned()).or_default();
        state.opened = true;
        let found = match update["state"]["state"].as_str() {
            Some("running") => {
                state.prompts = 1;
                Vec::new()
            }
            Some("idle") => state.end_prompt(),
            _ => Vec::new(),
        };
        self.found(id, found);
    }

    fn told(&mut self, method: &str, params: &Value) {
        let Some(session) = params["sessionId"].as_str() else {
            return;
        };
        if params["update"]["sessionUpdate"] == "subagent_update" {
            self.subagent(&params["update"]);
        }
        let Some(state) = self.sessions.get_mut(session).filter(|state| state.is_known()) else {
            return self.violation(
                Rule::KnownSession,
                format!("{method} names the unknown session {session}"),
            );
        };
        let found = match method {
            "session/update" => state.update(&params["update"]),
            _ => state.turn_bound(method).into_iter().collect(),
        };
        self.found(session, found);
    }

    /// The agent has ended; what comes now is said with the next one, which has no session open.
    fn exit(&mut self, exit: Exit) {
        self.sessions.clear();
        let mut unanswered: Vec<_> = self.requests.drain().map(|(_, request)| request).collect();
        if matches!(exit, Exit::Signal(_)) {
            return;
        }
        unanswered.sort_by_key(|request| request.row);
        for Request { row, method, .. } in unanswered {
            self.violation(Rule::OneResponse, format!("{method} of row {row} was never answered"));
        }
    }
}
