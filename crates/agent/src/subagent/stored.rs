//! The answer of a subagent that has ended, from its log.

use std::collections::HashMap;

use serde_json::{Map, Value};
use weft_types::{AssistantBlock, CallId, ContentBlock, EventBody, TurnEnd};

use super::in_process::text_of;
use super::{STRUCTURED_OUTPUT, SubagentResult, SubagentStop};

/// Folds the events of a subagent's session, from its first on, to the answer that its starter got.
///
/// An answer in text is that of the first turn: later ones are conversations that somebody had with it afterwards. One in
/// a schema is the first that was taken, in whichever turn, since who forgets it is reminded in another.
#[derive(Clone, Debug, Default)]
pub struct StoredAnswer {
    /// The last non-empty text of the assistant in its first turn.
    output: Vec<ContentBlock>,
    /// How its first turn ended.
    end: Option<TurnEnd>,
    /// The answers in the schema that were offered and have no result yet.
    offered: HashMap<CallId, String>,
    structured: Option<Value>,
}

impl StoredAnswer {
    /// Takes the next event in.
    pub fn push(&mut self, body: &EventBody) {
        match body {
            EventBody::AssistantMessage { content, .. } if self.end.is_none() => self.said(content),
            EventBody::ToolCall {
                call_id,
                name,
                arguments,
                ..
            } if name == STRUCTURED_OUTPUT && self.structured.is_none() => {
                self.offered.insert(call_id.clone(), arguments.clone());
            }
            EventBody::ToolResult { call_id, error, .. } => self.settled(call_id, error.is_none()),
            EventBody::TurnEnd { reason, .. } if self.end.is_none() => self.end = Some(reason.clone()),
            _ => {}
        }
    }

    /// What the starter got, if it answered: in its schema if `structured`, else in text. None if it did not, or has not
    /// yet.
    pub fn finish(self, structured: bool) -> Option<SubagentResult> {
        let answered = match structured {
            true => self.structured.is_some(),
            false => self.end == Some(TurnEnd::Completed),
        };
        answered.then_some(SubagentResult {
            output: self.output,
            structured: self.structured.filter(|_| structured),
            stop: SubagentStop::Completed,
        })
    }

    fn said(&mut self, content: &[AssistantBlock]) {
        let texts: Vec<_> = content.iter().filter_map(text_of).collect();
        if !texts.is_empty() {
            self.output = texts;
        }
    }

    fn settled(&mut self, call: &CallId, well: bool) {
        let Some(arguments) = self.offered.remove(call).filter(|_| well) else {
            return;
        };
        if self.structured.is_none() {
            self.structured = match arguments.trim() {
                "" => Some(Value::Object(Map::new())),
                arguments => serde_json::from_str(arguments).ok(),
            };
        }
    }
}

#[cfg(test)]
mod tests;
