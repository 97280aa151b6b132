//! Arguments as a model writes them: raw text that should be a JSON object.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::schema::{MAX_DEPTH, is_deeper_than};
use crate::{ErrorCode, ToolError};

/// How much of the text an error shows, in bytes.
const EXCERPT_BYTES: usize = 200;

/// Arguments that were read, as far as they could be.
pub(crate) struct Arguments {
    /// The arguments; text that is not JSON, or is nested too deeply, as a string.
    pub(crate) value: Value,
    /// Why no tool can be called with them.
    pub(crate) problem: Option<ToolError>,
}

/// Reads the arguments of a call of `tool`; empty text means no arguments.
pub(crate) fn parse(tool: &str, raw: &str) -> Arguments {
    if raw.trim().is_empty() {
        return Arguments {
            value: Value::Object(Map::new()),
            problem: None,
        };
    }
    match serde_json::from_str::<Value>(raw) {
        Ok(value) if is_deeper_than(&value, MAX_DEPTH) => unreadable(raw, too_deep(tool)),
        Ok(value) => {
            let problem = (!value.is_object()).then(|| {
                let found = kind_of(&value);
                format!("arguments of tool {tool} must be a JSON object, found {found}")
            });
            let problem = problem.map(|message| ToolError::with_code(ErrorCode::InvalidArgs, message));
            Arguments { value, problem }
        }
        // The parser has a limit of its own, which it tells only in words.
        Err(error) if error.to_string().starts_with("recursion limit exceeded") => unreadable(raw, too_deep(tool)),
        Err(error) => {
            let shown = excerpt(raw, EXCERPT_BYTES);
            unreadable(
                raw,
                format!("arguments of tool {tool} are not valid JSON: {error}: {shown}"),
            )
        }
    }
}

fn unreadable(raw: &str, message: String) -> Arguments {
    Arguments {
        value: Value::String(raw.to_owned()),
        problem: Some(ToolError::with_code(ErrorCode::InvalidArgs, message)),
    }
}

fn too_deep(tool: &str) -> String {
    format!("arguments of tool {tool} are nested deeper than {MAX_DEPTH} levels")
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The beginning of a text, cut at a whole character and marked where it was cut.
pub(crate) fn excerpt(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = (0..=bytes).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    format!("{}…", &text[..end])
}
