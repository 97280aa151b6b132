//! From the rows of a transcript to the conversations in it.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Call, Conversation, Item, Speaker, Text};
use crate::{Card, Direction, Exit, Row};

/// Codes of the errors with which an agent refuses a prompt before it becomes part of the session: the request is not
/// right, or there is no such session.
const NOT_TAKEN: [i64; 3] = [-32600, -32602, -32002];

/// Every session that a transcript's updates or prompts name, with what a client shows of it at the end, in order of first
/// appearance. Those of subagents are left out: what a client is shown of them lives as long as they do.
///
/// A load begins its session anew, unless it is refused. What belongs to no card that was opened is left out;
/// [`t_check`](crate::t_check) reports it.
pub fn conversations(rows: &[Row]) -> Vec<(String, Conversation)> {
    let mut builder = Builder {
        refused: refused(rows),
        ..Builder::default()
    };
    for (at, row) in rows.iter().enumerate() {
        match row {
            Row::Line { dir, line } if line["method"].is_string() => match dir {
                Direction::Sent => builder.asked(at, line),
                Direction::Received => builder.told(line),
            },
            Row::Line { line, .. } => drop(builder.open.remove(&line["id"].to_string())),
            Row::Exit { exit } => builder.exit(*exit),
        }
    }
    let Builder {
        sessions, subagents, ..
    } = builder;
    sessions.into_iter().filter(|(id, _)| !subagents.contains(id)).collect()
}

/// The requests of the client that were answered with an error, by their rows, with its code.
fn refused(rows: &[Row]) -> HashMap<usize, i64> {
    let mut open = HashMap::new();
    let mut refused = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        match row {
            Row::Line {
                dir: Direction::Sent,
                line,
            } if line["method"].is_string() => drop(open.insert(line["id"].to_string(), at)),
            Row::Line {
                dir: Direction::Received,
                line,
            } if line["method"].is_null() => {
                let asked = open.remove(&line["id"].to_string());
                refused.extend(asked.zip(line["error"]["code"].as_i64()));
            }
            Row::Line { .. } => {}
            Row::Exit { .. } => open.clear(),
        }
    }
    refused
}

#[derive(Default)]
struct Builder {
    sessions: Vec<(String, Conversation)>,
    refused: HashMap<usize, i64>,
    /// The sessions that are subagents of others.
    subagents: HashSet<String>,
    /// The sessions of the prompts that are not answered yet, by the prompts' ids.
    open: HashMap<String, String>,
}

impl Builder {
    fn session(&mut self, id: &str) -> &mut Conversation {
        let at = self.sessions.iter().position(|(known, _)| known == id);
        let at = at.unwrap_or_else(|| {
            self.sessions.push((id.to_owned(), Conversation::default()));
            self.sessions.len() - 1
        });
        &mut self.sessions[at].1
    }

    fn asked(&mut self, row: usize, line: &Value) {
        let params = &line["params"];
        let Some(session) = params["sessionId"].as_str() else {
            return;
        };
        let error = self.refused.get(&row).copied();
        match line["method"].as_str() {
            Some("session/prompt") if error.is_none_or(|code| !NOT_TAKEN.contains(&code)) => {
                let blocks = params["prompt"].as_array().into_iter().flatten();
                self.session(session).items.push(Item::Text(Text {
                    from: Speaker::User,
                    id: None,
                    text: blocks.filter_map(|block| block["text"].as_str()).collect(),
                    certain: true,
                }));
                self.open.insert(line["id"].to_string(), session.to_owned());
            }
            Some("session/load") if error.is_none() => *self.session(session) = Conversation::default(),
            _ => {}
        }
    }

    fn told(&mut self, line: &Value) {
        let params = &line["params"];
        if let (Some("session/update"), Some(session)) = (line["method"].as_str(), params["sessionId"].as_str()) {
            let update = &params["update"];
            if let (Some("subagent_update"), Some(id)) =
                (update["sessionUpdate"].as_str(), update["sessionId"].as_str())
            {
                self.subagents.insert(id.to_owned());
            }
            self.session(session).apply(update);
        }
    }

    fn exit(&mut self, exit: Exit) {
        let open: HashSet<_> = self.open.drain().map(|(_, session)| session).collect();
        if matches!(exit, Exit::Signal(_)) {
            open.iter().for_each(|session| self.session(session).cut());
        }
    }
}

impl Conversation {
    fn apply(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str() {
            Some("user_message_chunk") => self.chunk(Speaker::User, update),
            Some("agent_message_chunk") => self.chunk(Speaker::Agent, update),
            Some("agent_thought_chunk") => self.chunk(Speaker::Thought, update),
            Some("session_info_update") => {
                if let Some(title) = update["title"].as_str() {
                    self.title = Some(title.to_owned());
                }
            }
            // The card of another agent's call, which a question about it was given, is no part of the session's log.
            Some("tool_call") if !update["_meta"]["weft/asker"].is_null() => {}
            Some("tool_call") => self.items.push(Item::Call(Box::new(Call {
                id: update["toolCallId"].as_str().unwrap_or_default().to_owned(),
                card: Card::open(update),
            }))),
            Some("tool_call_update") => {
                let id = update["toolCallId"].as_str().unwrap_or_default();
                if let Some(call) = self.call_mut(id) {
                    call.card.apply(update);
                }
            }
            _ => {}
        }
    }

    /// Adds to the last message if it is the same one, and is a message of its own otherwise.
    fn chunk(&mut self, from: Speaker, update: &Value) {
        let text = update["content"]["text"].as_str().unwrap_or_default();
        let id = update["messageId"].as_str().map(str::to_owned);
        match self.items.last_mut() {
            Some(Item::Text(last)) if (last.from, &last.id) == (from, &id) => last.text.push_str(text),
            _ => self.items.push(Item::Text(Text {
                from,
                id,
                text: text.to_owned(),
                certain: true,
            })),
        }
    }

    /// The agent was killed in the middle of a turn: what was said since its last call may not have been written down.
    fn cut(&mut self) {
        for item in self.items.iter_mut().rev() {
            let Item::Text(message) = item else { break };
            message.certain = false;
            if message.from == Speaker::User {
                break;
            }
        }
        self.items.push(Item::Cut);
    }
}
