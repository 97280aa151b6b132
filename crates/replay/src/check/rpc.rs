//! The shape of one JSON-RPC 2.0 message.

use serde_json::Value;

/// A message, its shape verified.
pub(super) enum Rpc<'a> {
    Request {
        id: &'a Value,
        method: &'a str,
        params: &'a Value,
    },
    Notification {
        method: &'a str,
        params: &'a Value,
    },
    /// `result` is `None` for an error.
    Response {
        id: &'a Value,
        result: Option<&'a Value>,
    },
}

impl<'a> Rpc<'a> {
    pub(super) fn read(line: &'a Value) -> Result<Self, &'static str> {
        let object = line.as_object().ok_or("the line is no JSON object")?;
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err("the line does not say that it is JSON-RPC 2.0");
        }
        let allowed: &[&str] = match object.contains_key("method") {
            true => &["jsonrpc", "id", "method", "params"],
            false => &["jsonrpc", "id", "result", "error"],
        };
        if object.keys().any(|key| !allowed.contains(&key.as_str())) {
            return Err("the message has a member that JSON-RPC does not know");
        }
        let id = object.get("id");
        if id.is_some_and(|id| !(id.is_string() || id.is_number() || id.is_null())) {
            return Err("the id is neither a string nor a number");
        }
        if let Some(method) = object.get("method") {
            let method = method.as_str().ok_or("the method is no string")?;
            let params = object.get("params").unwrap_or(&Value::Null);
            if !(params.is_object() || params.is_array() || params.is_null()) {
                return Err("the parameters are neither an object nor an array");
            }
            return Ok(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            });
        }
        let id = id.ok_or("the message has neither a method nor an id")?;
        match (object.get("result"), object.get("error")) {
            (Some(result), None) => Ok(Self::Response {
                id,
                result: Some(result),
            }),
            (None, Some(error)) if error["code"].is_i64() && error["message"].is_string() => {
                Ok(Self::Response { id, result: None })
            }
            (None, Some(_)) => Err("the error has no code or no message"),
            _ => Err("the response has not exactly one of result and error"),
        }
    }
}
