//! Which texts are identities, and their numbers.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// A UUID, hyphenated or not.
pub(super) static UUID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
        .expect("the pattern is sound")
});

/// The identities found so far, numbered per kind in order of first appearance.
#[derive(Debug, Default)]
pub(super) struct Names {
    tokens: HashMap<String, (&'static str, usize)>,
    counts: HashMap<&'static str, usize>,
}

impl Names {
    /// Learns every identity that a value names, in order.
    pub(super) fn learn(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(members) => {
                for (key, value) in members {
                    match (kind_of(key), value) {
                        (Some(kind), Value::String(id)) => self.name(kind, id),
                        _ => self.learn(value),
                    }
                }
            }
            _ => {}
        }
    }

    /// Learns the identities of a log's header.
    pub(super) fn learn_header(&mut self, header: &Value) {
        for key in ["id", "parent"] {
            if let Some(id) = header[key].as_str() {
                self.name("session", id);
            }
        }
    }

    fn name(&mut self, kind: &'static str, id: &str) {
        if self.tokens.contains_key(id) || (kind == "call" && !is_generated(id)) {
            return;
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        self.tokens.insert(id.to_owned(), (kind, *count));
    }

    /// The number of a session, if it is known.
    pub(super) fn session(&self, id: &str) -> Option<usize> {
        match self.tokens.get(id) {
            Some(("session", number)) => Some(*number),
            _ => None,
        }
    }

    /// Every generated identity with its token. Others are the same in every run.
    pub(super) fn tokens(&self) -> Vec<(String, String)> {
        let generated = self.tokens.iter().filter(|(id, _)| is_generated(id));
        generated
            .map(|(id, (kind, number))| (id.clone(), format!("{{{kind}:{number}}}")))
            .collect()
    }
}

fn is_generated(id: &str) -> bool {
    UUID.is_match(id)
}

fn kind_of(key: &str) -> Option<&'static str> {
    match key {
        "sessionId" | "childId" => Some("session"),
        "runId" => Some("run"),
        "messageId" => Some("message"),
        "toolCallId" | "callId" => Some("call"),
        _ => None,
    }
}
