//! Reasoning that only its endpoint can read, on its way through a conversation.
//!
//! Some endpoints seal the reasoning behind a tool call and refuse the call's result, or think worse, when the seal
//! does not come back with it. The conversation holds such a seal as a JSON value beside the text of the reasoning,
//! in an envelope that says who made it: endpoints and models do not take the reasoning of another for their own.
//! What has no readable seal is left out of requests, which are acceptable without it.

use serde_json::{Value, json};
use weft_types::AssistantBlock;

use crate::endpoint::Endpoint;

/// The longest seal that is kept, in bytes of JSON. A block whose seal is longer goes back without it.
pub(crate) const MAX_SEAL: usize = 1 << 20;

/// Puts a seal into its envelope. `calls` is how many tool calls of the answer stand before the reasoning: in the
/// conversation all calls stand last.
pub(crate) fn seal(endpoint: &Endpoint, model: &str, calls: usize, value: Value) -> Value {
    let is_kept = value.to_string().len() <= MAX_SEAL;
    if !is_kept {
        tracing::warn!(
            endpoint = endpoint.name,
            model,
            "left out the seal of a reasoning: it is too long"
        );
    }
    json!({
        "protocol": endpoint.protocol.name,
        "endpoint": endpoint.name,
        "model": model,
        "calls": calls,
        // An envelope without a value still closes its block, so that the next block does not run into it.
        "value": if is_kept { value } else { Value::Null },
    })
}

/// A piece of an answer that goes back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    /// Reasoning with a seal that this endpoint and model made.
    Sealed {
        text: &'a str,
        value: &'a Value,
    },
    Call {
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
    },
}

/// The pieces of an answer in the order in which they came: its texts, its calls, and the reasoning that this endpoint
/// and model sealed. Reasoning that nothing follows is left out, for endpoints refuse it.
pub(crate) fn pieces<'a>(endpoint: &Endpoint, model: &str, content: &'a [AssistantBlock]) -> Vec<Piece<'a>> {
    let mut placed: Vec<((u64, bool), Piece<'a>)> = Vec::with_capacity(content.len());
    let mut calls = 0;
    for block in content {
        match block {
            AssistantBlock::Text { text } => placed.push(((0, true), Piece::Text(text))),
            AssistantBlock::Reasoning { text, sealed } => {
                let Some((before, value)) = sealed.as_ref().and_then(|sealed| open(endpoint, model, sealed)) else {
                    continue;
                };
                placed.push(((before, true), Piece::Sealed { text, value }));
            }
            AssistantBlock::ToolCall { id, name, arguments } => {
                calls += 1;
                let id = id.as_str();
                placed.push(((calls, false), Piece::Call { id, name, arguments }));
            }
        }
    }
    placed.sort_by_key(|(place, _)| *place);
    let mut pieces: Vec<Piece<'a>> = placed.into_iter().map(|(_, piece)| piece).collect();
    while matches!(pieces.last(), Some(Piece::Sealed { .. })) {
        pieces.pop();
    }
    pieces
}

/// The seals of an answer that this endpoint and model made.
pub(crate) fn seals<'a>(endpoint: &Endpoint, model: &str, content: &'a [AssistantBlock]) -> Vec<&'a Value> {
    let seals = content.iter().filter_map(|block| match block {
        AssistantBlock::Reasoning {
            sealed: Some(sealed), ..
        } => open(endpoint, model, sealed).map(|(_, value)| value),
        _ => None,
    });
    seals.collect()
}

/// What is in an envelope, and before how many calls it stands; `None` if another made it.
fn open<'a>(endpoint: &Endpoint, model: &str, sealed: &'a Value) -> Option<(u64, &'a Value)> {
    let is = |key: &str, expected: &str| sealed.get(key).and_then(Value::as_str) == Some(expected);
    let is_ours = is("protocol", endpoint.protocol.name) && is("endpoint", &endpoint.name) && is("model", model);
    let value = sealed.get("value").filter(|value| is_ours && !value.is_null())?;
    let calls = sealed.get("calls").and_then(Value::as_u64).unwrap_or_default();
    Some((calls, value))
}

#[cfg(test)]
mod tests {
    use reqwest::header::AUTHORIZATION;
    use weft_types::CallId;

    use super::*;
    use crate::EndpointConfig;
    use crate::endpoint::Protocol;

    static PROTOCOL: Protocol = Protocol {
        name: "p",
        version: None,
        path: &["p"],
        key: (AUTHORIZATION, ""),
        headers: &[],
        models_query: "",
    };

    fn endpoint(url: &str) -> Endpoint {
        EndpointConfig::new(url).into_endpoint(&PROTOCOL).expect("a good URL")
    }

    fn reasoning(text: &str, sealed: Value) -> AssistantBlock {
        AssistantBlock::Reasoning {
            text: text.into(),
            sealed: Some(sealed),
        }
    }

    fn call(id: &str) -> AssistantBlock {
        AssistantBlock::ToolCall {
            id: CallId::new(id),
            name: "n".into(),
            arguments: "{}".into(),
        }
    }

    fn shown(pieces: &[Piece<'_>]) -> Vec<String> {
        let show = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => format!("text {text}"),
            Piece::Sealed { text, value } => format!("sealed {text} {value}"),
            Piece::Call { id, .. } => format!("call {id}"),
        };
        pieces.iter().map(show).collect()
    }

    #[test]
    fn reasoning_goes_back_where_it_stood_among_the_calls() {
        let at = endpoint("https://a.example");
        let content = [
            reasoning("one", seal(&at, "m", 0, json!(1))),
            AssistantBlock::Text { text: "t".into() },
            reasoning("two", seal(&at, "m", 1, json!(2))),
            call("x"),
            call("y"),
        ];
        let expected = ["sealed one 1", "text t", "call x", "sealed two 2", "call y"];
        assert_eq!(shown(&pieces(&at, "m", &content)), expected);
    }

    #[test]
    fn only_who_sealed_it_gets_it_back() {
        let at = endpoint("https://a.example/v1?key=1");
        let content = [reasoning("r", seal(&at, "m", 0, json!(1))), call("x")];
        assert_eq!(pieces(&at, "m", &content).len(), 2);
        assert_eq!(shown(&pieces(&at, "other", &content)), ["call x"]);
        let elsewhere = endpoint("https://b.example/v1");
        assert_eq!(shown(&pieces(&elsewhere, "m", &content)), ["call x"]);
        for foreign in [json!(null), json!("sig"), json!({ "signature": "s" })] {
            assert_eq!(
                shown(&pieces(&at, "m", &[reasoning("r", foreign), call("x")])),
                ["call x"]
            );
        }
    }

    #[test]
    fn reasoning_that_nothing_follows_is_left_out() {
        let at = endpoint("https://a.example");
        let content = [
            AssistantBlock::Text { text: "t".into() },
            reasoning("r", seal(&at, "m", 0, json!(1))),
        ];
        assert_eq!(shown(&pieces(&at, "m", &content)), ["text t"]);
    }

    #[test]
    fn a_seal_has_a_bound() {
        let at = endpoint("https://a.example");
        let longest = Value::String("s".repeat(MAX_SEAL - 2));
        let longer = Value::String("s".repeat(MAX_SEAL - 1));
        let left = |value| pieces(&at, "m", &[reasoning("r", seal(&at, "m", 0, value)), call("x")]).len();
        assert_eq!((left(longest), left(longer)), (2, 1));
    }
}
