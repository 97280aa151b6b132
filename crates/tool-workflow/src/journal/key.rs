//! What makes two calls the same.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use weft_workflow::MemberRequest;

/// How many bytes of the digest are kept.
const KEPT: usize = 16;

/// A digest of everything about a call that its answer depends on: the prompt and the options that change what the agent
/// does. Labels and phases do not. Calls with equal keys are told apart by how many there were before.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Key(String);

/// What is digested. Its form is part of every journal that exists: a changed one finds no call of before.
#[derive(Serialize)]
struct Behaviour<'a> {
    prompt: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    /// Left out when absent, so that keys of calls without it stay what they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a [String]>,
}

impl Key {
    /// The key of a call.
    pub(crate) fn of(request: &MemberRequest) -> Self {
        // Field by field, so that a new option does not compile before somebody has said what it means here.
        let MemberRequest {
            run: _,
            seq: _,
            label: _,
            phase: _,
            prompt,
            schema,
            provider,
            model,
            tools,
            cancel: _,
        } = request;
        let behaviour = Behaviour {
            prompt,
            schema: schema.as_ref(),
            provider: provider.as_deref(),
            model: model.as_deref(),
            tools: tools.as_deref(),
        };
        let text = serde_json::to_vec(&behaviour).expect("texts and values are JSON");
        Self(digest(&text))
    }
}

/// The beginning of a text's SHA-256, in hexadecimal digits.
pub(crate) fn digest(text: &[u8]) -> String {
    let digest = Sha256::digest(text);
    digest.iter().take(KEPT).fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes everything");
        hex
    })
}

#[cfg(test)]
mod tests;
