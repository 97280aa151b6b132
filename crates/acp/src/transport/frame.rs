//! One line, read as a JSON-RPC message.

use serde_json::{Map, Value};

use super::head::read_head;
use super::surrogate::repair_surrogates;
use crate::sdk::{
    RawJsonRpcError, RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcNotification, RawJsonRpcParams, RawJsonRpcRequest,
    RawJsonRpcResponse,
};

/// What one line of the client amounts to.
#[derive(Debug, PartialEq)]
pub(crate) enum Inbound {
    /// A message for the protocol.
    Message(RawJsonRpcMessage),
    /// Something to be answered with an error, without the protocol having seen it.
    Refused(Refusal),
}

/// An error answer to a line that is no message.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    /// The id to answer; null if none could be read.
    pub(crate) id: RawJsonRpcId,
    /// The JSON-RPC error code.
    pub(crate) code: i32,
    /// What is wrong, without a word of the input: it may hold secrets.
    pub(crate) message: String,
}

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Reads a line; `None` if it is blank, or a reply that cannot be understood: no reply to a reply.
///
/// Bytes that are not UTF-8 become U+FFFD, and so do lone surrogates. A byte-order mark is ignored.
pub(crate) fn read_frame(line: &[u8]) -> Option<Inbound> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    let parsed = serde_json::from_str::<Value>(&text).or_else(|error| {
        let repaired = repair_surrogates(&text).ok_or(error)?;
        serde_json::from_str(&repaired)
    });
    match parsed {
        Ok(value) => read_value(value),
        Err(error) => {
            let head = read_head(text.as_bytes());
            (!head.is_reply).then(|| {
                Inbound::Refused(Refusal {
                    id: head.id.unwrap_or(RawJsonRpcId::Null),
                    code: PARSE_ERROR,
                    message: format!("parse error: not JSON at column {} of the line", error.column()),
                })
            })
        }
    }
}

fn read_value(value: Value) -> Option<Inbound> {
    let Value::Object(mut members) = value else {
        let what = match value {
            Value::Array(_) => "batches are not supported, send one message a line",
            _ => "a message is a JSON object",
        };
        return Some(invalid(None, what));
    };
    let id = members.remove("id");
    let is_reply = members.contains_key("result") || members.contains_key("error");
    match (members.remove("method"), is_reply) {
        (None, true) => read_reply(id?, members).map(|reply| Inbound::Message(RawJsonRpcMessage::Response(reply))),
        (Some(Value::String(method)), false) => Some(read_call(id, method, members)),
        _ => Some(invalid(id, "it is neither a request nor a notification nor a response")),
    }
}

fn read_call(id: Option<Value>, method: String, mut members: Map<String, Value>) -> Inbound {
    if !is_version_two(&members) {
        return invalid(id, "`jsonrpc` must be \"2.0\"");
    }
    let Ok(params) = RawJsonRpcParams::from_value(members.remove("params").unwrap_or_default()) else {
        return invalid(id, "`params` must be an object or an array");
    };
    let method = method.into();
    Inbound::Message(match id.map(serde_json::from_value) {
        None => RawJsonRpcMessage::Notification(RawJsonRpcNotification { method, params }),
        Some(Ok(id)) => RawJsonRpcMessage::Request(RawJsonRpcRequest { id, method, params }),
        Some(Err(_)) => return invalid(None, "`id` must be a string, an integer of 64 bits or null"),
    })
}

fn read_reply(id: Value, mut members: Map<String, Value>) -> Option<RawJsonRpcResponse> {
    let id: RawJsonRpcId = serde_json::from_value(id).ok()?;
    if !is_version_two(&members) {
        return None;
    }
    let outcome = match (members.remove("result"), members.remove("error")) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(serde_json::from_value(error).ok()?),
        _ => return None,
    };
    Some(RawJsonRpcResponse::new(id, outcome))
}

fn is_version_two(members: &Map<String, Value>) -> bool {
    members.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
}

fn invalid(id: Option<Value>, what: &str) -> Inbound {
    Inbound::Refused(Refusal {
        id: id
            .and_then(|id| serde_json::from_value(id).ok())
            .unwrap_or(RawJsonRpcId::Null),
        code: INVALID_REQUEST,
        message: format!("invalid request: {what}"),
    })
}

/// What an over-long line amounts to, by its first bytes. A reply becomes a failed one: somebody waits for it.
pub(crate) fn read_too_long(head: &[u8], limit: usize) -> Option<Inbound> {
    let message = format!("the line is longer than acp.line_limit_bytes allows, {limit} bytes");
    let head = read_head(head);
    if !head.is_reply {
        return Some(Inbound::Refused(Refusal {
            id: head.id.unwrap_or(RawJsonRpcId::Null),
            code: INVALID_REQUEST,
            message: format!("invalid request: {message}"),
        }));
    }
    let id = head.id?;
    let error = Box::new(RawJsonRpcError::new(INVALID_REQUEST, message));
    Some(Inbound::Message(RawJsonRpcMessage::Response(RawJsonRpcResponse::new(
        id,
        Err(error),
    ))))
}

#[cfg(test)]
mod tests;
