//! Rewrites the texts of a JSON value.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::Facts;
use super::names::{Names, UUID};

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)").expect("the pattern is sound")
});

/// Puts tokens in the place of identities, folders and times.
#[derive(Debug)]
pub(super) struct Rewriter {
    /// Identities and their tokens, longest first.
    ids: Vec<(String, String)>,
    /// Folders and their tokens, longest first.
    paths: Vec<(String, String)>,
    /// UUIDs that are no known identity, in order of first appearance.
    uuids: HashMap<String, usize>,
}

impl Rewriter {
    pub(super) fn new(names: &Names, facts: &Facts) -> Self {
        let mut ids = names.tokens();
        ids.sort_by(longest_first);
        let paths = facts
            .paths
            .iter()
            .map(|(path, token)| (path.clone(), (*token).to_owned()));
        let mut paths: Vec<_> = paths.collect();
        paths.sort_by(longest_first);
        Self {
            ids,
            paths,
            uuids: HashMap::new(),
        }
    }

    /// The value with every text in it, keys included, rewritten.
    pub(super) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                let rewrite = |(key, value): (&String, &Value)| (self.text(key), self.value(value));
                Value::Object(members.iter().map(rewrite).collect())
            }
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (id, token) in &self.ids {
            text = replace(&text, id, token, |c| c.is_alphanumeric() || matches!(c, '_' | '-'));
        }
        for (path, token) in &self.paths {
            text = replace(&text, path, token, |c| {
                c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
            });
        }
        let text = TIME.replace_all(&text, "{time}");
        let uuids = &mut self.uuids;
        let number = |uuid: &regex::Captures<'_>| {
            let next = uuids.len() + 1;
            format!("{{uuid:{}}}", uuids.entry(uuid[0].to_owned()).or_insert(next))
        };
        UUID.replace_all(&text, number).into_owned()
    }
}

fn longest_first(a: &(String, String), b: &(String, String)) -> std::cmp::Ordering {
    b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b))
}

/// Replaces the occurrences of `what` that are not part of a longer word, of which `of_word` knows the
/// characters. A full stop that ends a sentence is no part of a word.
fn replace(text: &str, what: &str, with: &str, of_word: impl Fn(char) -> bool) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(found) = text[from..].find(what) {
        let (start, end) = (from + found, from + found + what.len());
        let mut after = text[end..].chars();
        let follows = match after.next() {
            Some('.') => after.next().filter(|next| of_word(*next)),
            next => next.filter(|next| of_word(*next)),
        };
        let precedes = text[..start].chars().next_back().filter(|last| of_word(*last));
        replaced.push_str(&text[from..start]);
        replaced.push_str(if precedes.or(follows).is_none() { with } else { what });
        from = end;
    }
    replaced.push_str(&text[from..]);
    replaced
}
