//! A workflow's metadata and how they are read from JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::optional;

/// What a workflow says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "bindings", ts(optional_fields))]
#[serde(rename_all = "camelCase")]
pub struct WorkflowMeta {
    /// Its name; not empty.
    pub name: String,
    /// What it does; not empty.
    pub description: String,
    /// When to use it.
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub when_to_use: Option<String>,
    /// The phases it intends to have: vocabulary for people, compared with nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "bindings", ts(optional, as = "Option<_>"))]
    pub phases: Vec<PhaseMeta>,
}

/// One intended phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "bindings", ts(optional_fields))]
pub struct PhaseMeta {
    /// Its title; not empty.
    pub title: String,
    /// What happens in it.
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The subagent provider it intends to use; routes nothing.
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model it intends to use; routes nothing.
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Why metadata were refused: every violation, in one message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("workflow meta is invalid: {}", violations.join("; "))]
pub struct MetaError {
    violations: Vec<String>,
}

impl MetaError {
    /// The violations, each with the path of the offending field.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }
}

impl WorkflowMeta {
    /// Reads metadata as a script or a caller gives them; fields they do not have are refused. Deserialising is for
    /// reading back what was written.
    ///
    /// # Errors
    ///
    /// Lists every violation, not only the first.
    pub fn from_json(value: &Value) -> Result<Self, MetaError> {
        let mut reader = Reader::default();
        let meta = reader.meta(value);
        if reader.violations.is_empty() {
            Ok(meta)
        } else {
            Err(MetaError {
                violations: reader.violations,
            })
        }
    }
}

/// Reads on after a violation, so that all are found at once.
#[derive(Default)]
struct Reader {
    violations: Vec<String>,
}

impl Reader {
    fn meta(&mut self, value: &Value) -> WorkflowMeta {
        let Some(fields) = self.object(value, "meta", &["name", "description", "whenToUse", "phases"]) else {
            return WorkflowMeta::default();
        };
        WorkflowMeta {
            name: self.required(fields, "meta", "name"),
            description: self.required(fields, "meta", "description"),
            when_to_use: self.optional(fields, "meta", "whenToUse"),
            phases: self.phases(fields.get("phases")),
        }
    }

    fn phases(&mut self, value: Option<&Value>) -> Vec<PhaseMeta> {
        let items = match value {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.refuse("meta.phases", "an array", Some(other));
                return Vec::new();
            }
        };
        let phases = items.iter().enumerate();
        phases
            .map(|(index, item)| self.phase(&format!("meta.phases[{index}]"), item))
            .collect()
    }

    fn phase(&mut self, path: &str, value: &Value) -> PhaseMeta {
        let Some(fields) = self.object(value, path, &["title", "detail", "provider", "model"]) else {
            return PhaseMeta::default();
        };
        PhaseMeta {
            title: self.required(fields, path, "title"),
            detail: self.optional(fields, path, "detail"),
            provider: self.optional(fields, path, "provider"),
            model: self.optional(fields, path, "model"),
        }
    }

    fn object<'a>(&mut self, value: &'a Value, path: &str, known: &[&str]) -> Option<&'a Map<String, Value>> {
        let Value::Object(fields) = value else {
            self.refuse(path, "an object", Some(value));
            return None;
        };
        for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
            self.violations
                .push(format!("{path}.{key} is unknown (expected only {})", known.join(", ")));
        }
        Some(fields)
    }

    fn required(&mut self, fields: &Map<String, Value>, path: &str, key: &str) -> String {
        match fields.get(key) {
            Some(Value::String(text)) if !text.is_empty() => text.clone(),
            found => {
                self.refuse(&format!("{path}.{key}"), "a non-empty string", found);
                String::new()
            }
        }
    }

    fn optional(&mut self, fields: &Map<String, Value>, path: &str, key: &str) -> Option<String> {
        match fields.get(key) {
            None => None,
            Some(Value::String(text)) => Some(text.clone()),
            found => {
                self.refuse(&format!("{path}.{key}"), "a string", found);
                None
            }
        }
    }

    fn refuse(&mut self, path: &str, expected: &str, found: Option<&Value>) {
        let found = match found {
            None => "nothing",
            Some(Value::Null) => "null",
            Some(Value::Bool(_)) => "a boolean",
            Some(Value::Number(_)) => "a number",
            Some(Value::String(text)) if text.is_empty() => "an empty string",
            Some(Value::String(_)) => "a string",
            Some(Value::Array(_)) => "an array",
            Some(Value::Object(_)) => "an object",
        };
        self.violations
            .push(format!("{path} must be {expected}, found {found}"));
    }
}

#[cfg(test)]
mod tests;
