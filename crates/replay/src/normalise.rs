//! Turns what differs from run to run into tokens, and nothing else.
//!
//! | What | Becomes |
//! |---|---|
//! | JSON-RPC ids of both sides | numbers, in order of first appearance with each agent |
//! | generated ids of sessions, runs, messages and calls (a script's own call ids stay) | `{session:1}`, `{run:1}`, … |
//! | any other UUID | `{uuid:1}` |
//! | the generated folders, in every spelling | `{cwd}`, `{home}`, … as [`Facts`] says |
//! | times in text, and those of log lines | `{time}`, and 0 so that a log stays readable as one |
//! | the agent's version | `{version}` |
//! | the checksums of log lines | nothing: they are left out |
//! | the platform and the day in a system prompt | `{platform}`, `{day}` |
//! | system prompt and tool descriptions in logs, unless [`Facts::show_header`] | `{system}`, `{description}` |
//!
//! Tokens are numbered in order of first appearance as the value of a key that names an identity, first
//! through the transcript, then through the logs, which share the numbers; they are put wherever the
//! identity stands.
//!
//! Two things race by nature. The response to a request of the harness ([`HARNESS`]) comes amid what the
//! request sets off: it is moved directly behind its request. An agent withdraws a question with
//! `$/cancel_request` unless the client's answer came first: the withdrawal is left out.

mod names;
mod order;
#[cfg(test)]
mod tests;
mod text;

use std::path::Path;

use serde_json::{Value, json};

use crate::{Direction, Row};
use names::Names;
use text::Rewriter;

/// What the methods begin with by which the client steers the scripted model and not the agent.
pub(crate) const HARNESS: &str = "_weft/scripted/";

/// The member of a log's line that holds the checksum of the others.
const CHECKSUM: &str = "crc";

/// What the normaliser is told about the run.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    paths: Vec<(String, &'static str)>,
    /// Whether system prompts and tool descriptions stay in the logs.
    pub show_header: bool,
}

impl Facts {
    /// Names a folder: its spellings, as given and with its links resolved, become `token`.
    pub fn folder(&mut self, path: &Path, token: &'static str) {
        let resolved = path.canonicalize().ok();
        for path in [Some(path), resolved.as_deref()].into_iter().flatten() {
            let spelling = (path.display().to_string(), token);
            if !self.paths.contains(&spelling) {
                self.paths.push(spelling);
            }
        }
    }
}

/// The log of one session: its header line and its events, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionLog {
    /// The session's id.
    pub id: String,
    /// The lines.
    pub lines: Vec<Value>,
}

/// A normalised run, one JSON text per line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Normalised {
    /// The transcript.
    pub transcript: Vec<String>,
    /// All logs, in order of the sessions' numbers; each begins with its header.
    pub log: Vec<String>,
}

/// Normalises a transcript and the logs that belong to it.
pub fn normalise(rows: &[Row], logs: &[SessionLog], facts: &Facts) -> Normalised {
    let rows = order::without_races(rows);
    let mut names = Names::default();
    for row in &rows {
        if let Row::Line { line, .. } = row {
            names.learn(line);
        }
    }
    let logs = order::by_session(logs, &mut names);
    let mut rewriter = Rewriter::new(&names, facts);
    let mut ids = RpcIds::default();
    let transcript = rows
        .into_iter()
        .map(|row| transcript_line(row, &mut ids, &mut rewriter))
        .collect();
    let lines = logs.iter().flat_map(|log| &log.lines);
    let log = lines
        .map(|line| log_line(line, facts.show_header, &mut rewriter))
        .collect();
    Normalised { transcript, log }
}

fn transcript_line(row: Row, ids: &mut RpcIds, rewriter: &mut Rewriter) -> String {
    let row = match row {
        Row::Line { dir, mut line } => {
            ids.number(dir, &mut line);
            if let Some(version) = line.pointer_mut("/result/agentInfo/version") {
                *version = json!("{version}");
            }
            Row::Line {
                dir,
                line: rewriter.value(&line),
            }
        }
        exit @ Row::Exit { .. } => {
            ids.clear();
            exit
        }
    };
    serde_json::to_string(&row).expect("a row is plain JSON")
}

fn log_line(line: &Value, show_header: bool, rewriter: &mut Rewriter) -> String {
    let mut line = line.clone();
    if let Some(line) = line.as_object_mut() {
        line.shift_remove(CHECKSUM);
    }
    for place in ["/time", "/createdAt", "/data/delayMs"] {
        if let Some(time) = line.pointer_mut(place) {
            *time = json!(0);
        }
    }
    if line["type"] == "request/header" && show_header {
        let system = line["data"]["system"].as_str().map(without_environment);
        line["data"]["system"] = json!(system);
    } else if line["type"] == "request/header" {
        line["data"]["system"] = json!("{system}");
        for tool in line["data"]["tools"].as_array_mut().into_iter().flatten() {
            tool["description"] = json!("{description}");
            tool["parameters"] = json!({});
        }
    }
    rewriter.value(&line).to_string()
}

/// A system prompt without what differs from machine to machine and from day to day.
fn without_environment(system: &str) -> String {
    let lines = system.split_inclusive('\n').map(|line| {
        if line.starts_with("- Platform: ") {
            "- Platform: {platform}\n"
        } else if line.starts_with("- The session began on ") {
            "- The session began on {day}.\n"
        } else {
            line
        }
    });
    lines.collect()
}

/// Numbers JSON-RPC ids; those that the client and the agent chose are different ids.
#[derive(Default)]
struct RpcIds {
    seen: Vec<(Direction, String)>,
}

impl RpcIds {
    /// The agent has ended: the ids that are used with the next one are others.
    fn clear(&mut self) {
        self.seen.clear();
    }

    fn number(&mut self, dir: Direction, line: &mut Value) {
        let is_request = line.get("method").is_some();
        if let Some(id) = line.get_mut("id").filter(|id| !id.is_null()) {
            let owner = if is_request { dir } else { dir.other() };
            self.replace(owner, id);
        }
        if line["method"] == "$/cancel_request" {
            self.replace(dir, &mut line["params"]["requestId"]);
        }
    }

    fn replace(&mut self, owner: Direction, id: &mut Value) {
        let key = (owner, id.to_string());
        let at = self.seen.iter().position(|seen| *seen == key).unwrap_or_else(|| {
            self.seen.push(key);
            self.seen.len() - 1
        });
        *id = json!(at + 1);
    }
}
