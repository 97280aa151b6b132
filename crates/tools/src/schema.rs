//! Compiled JSON Schemas, and the texts of their violations.

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::arguments::excerpt;

/// How deep arguments, values and metadata may be nested. JSON readers commonly stop at 128 levels, and
/// each of these is embedded in messages and records.
pub(crate) const MAX_DEPTH: usize = 120;

/// How many violations one error lists.
const MAX_VIOLATIONS: usize = 20;
/// How much of one violation it shows, in bytes.
const VIOLATION_BYTES: usize = 300;
/// How often a pattern may backtrack before it counts as no match.
const BACKTRACK_LIMIT: usize = 100_000;

/// A schema (draft 2020-12) that values can be checked against. It never reaches for anything outside itself.
#[derive(Debug)]
pub(crate) struct Schema {
    source: Value,
    /// Compiled when it is first needed, or why it cannot be.
    validator: OnceLock<Result<Validator, String>>,
}

impl Schema {
    /// A schema that is known to be sound: compiling all of a session's takes a megabyte of code and memory that most
    /// sessions never need.
    pub(crate) fn known(source: Value) -> Self {
        let validator = OnceLock::new();
        Self { source, validator }
    }

    /// Compiles it now, if it is not yet.
    pub(crate) fn compiled(&self) -> Result<(), String> {
        self.validator().map(drop)
    }

    fn validator(&self) -> Result<&Validator, String> {
        let compiled = self.validator.get_or_init(|| {
            if is_deeper_than(&self.source, MAX_DEPTH) {
                return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
            }
            jsonschema::draft202012::options()
                .offline()
                .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT))
                .build(&self.source)
                .map_err(|error| excerpt(&error.to_string(), VIOLATION_BYTES))
        });
        compiled.as_ref().map_err(Clone::clone)
    }

    /// Checks a value; the error lists its violations with their paths, separated by "; ".
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let validator = (self.validator()).map_err(|reason| format!("its schema cannot be used: {reason}"))?;
        let mut errors = validator.iter_errors(value);
        let mut texts: Vec<String> = errors
            .by_ref()
            .take(MAX_VIOLATIONS)
            .map(|error| {
                let path = error.instance_path().as_str();
                let text = match path {
                    "" => error.to_string(),
                    path => format!("{path}: {error}"),
                };
                excerpt(&text, VIOLATION_BYTES)
            })
            .collect();
        if texts.is_empty() {
            return Ok(());
        }
        let more = errors.count();
        if more > 0 {
            texts.push(format!("and {more} more"));
        }
        Err(texts.join("; "))
    }

    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        self.validator().is_ok_and(|validator| validator.is_valid(value))
    }
}

/// Whether arrays and objects are nested in more than `limit` levels. Does not recurse.
pub(crate) fn is_deeper_than(value: &Value, limit: usize) -> bool {
    let mut rest = vec![(value, 0)];
    while let Some((value, depth)) = rest.pop() {
        let children: Box<dyn Iterator<Item = &Value>> = match value {
            Value::Array(items) => Box::new(items.iter()),
            Value::Object(fields) => Box::new(fields.values()),
            _ => continue,
        };
        if depth == limit {
            return true;
        }
        rest.extend(children.map(|child| (child, depth + 1)));
    }
    false
}
