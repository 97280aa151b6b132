//! A script once it is read.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use regex::Regex;
use weft_types::{StopReason, Usage};

use super::template::{JsonTemplate, Template};
use crate::{AgentRole, ModelError, ModelRequest};

/// One reply of a script.
#[derive(Debug)]
pub(super) struct Reply {
    /// Its number and place, such as `reply 2 (model.toml:14)`.
    pub(super) place: String,
    pub(super) keys: Keys,
    /// How often it may be used; `None` for any number of times.
    pub(super) times: Option<NonZeroU64>,
    pub(super) gate: Option<String>,
    pub(super) gate_after: Option<String>,
    pub(super) delay: Duration,
    pub(super) chunk_delay: Duration,
    pub(super) reasoning: Vec<Template>,
    pub(super) text: Vec<Template>,
    pub(super) calls: Vec<Call>,
    pub(super) usage: Option<Usage>,
    pub(super) end: End,
}

/// A tool call of a reply.
#[derive(Debug)]
pub(super) struct Call {
    /// `None`: one is minted.
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Arguments,
}

/// The arguments of a tool call.
#[derive(Debug)]
pub(super) enum Arguments {
    /// Sent as they stand, JSON or not.
    Raw(Template),
    /// Sent as JSON.
    Json(JsonTemplate),
}

/// How a reply ends.
#[derive(Debug)]
pub(super) enum End {
    Finish(StopReason),
    Fail(ModelError),
    /// Never, until the stream is dropped.
    Hang,
}

/// What a request must be for a reply to answer it. A key that is absent fits everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    pub(super) role: Option<AgentRole>,
    pub(super) label: Option<String>,
    pub(super) prompt: Option<Regex>,
    pub(super) turn: Option<u32>,
    pub(super) step: Option<u32>,
}

impl Keys {
    /// Whether a request fits; `prompt` is its last user message.
    pub(super) fn fit(&self, request: &ModelRequest, prompt: &str) -> bool {
        let origin = &request.origin;
        self.role.is_none_or(|role| role == origin.role)
            && self
                .label
                .as_deref()
                .is_none_or(|label| label == origin.label.as_deref().unwrap_or_default())
            && self.turn.is_none_or(|turn| turn == origin.turn)
            && self.step.is_none_or(|step| step == origin.step)
            && self.prompt.as_ref().is_none_or(|pattern| pattern.is_match(prompt))
    }

    /// How many keys there are: the more, the more specific.
    pub(super) fn weight(&self) -> usize {
        [
            self.role.is_some(),
            self.label.is_some(),
            self.prompt.is_some(),
            self.turn.is_some(),
            self.step.is_some(),
        ]
        .into_iter()
        .filter(|present| *present)
        .count()
    }

    /// Whether the keys are the same, so that neither reply could ever be preferred.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.role == other.role
            && self.label == other.label
            && self.turn == other.turn
            && self.step == other.step
            && self.prompt.as_ref().map(Regex::as_str) == other.prompt.as_ref().map(Regex::as_str)
    }
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.role.map(|role| format!("role {role}")));
        parts.extend(self.label.as_ref().map(|label| format!("label \"{label}\"")));
        parts.extend(self.prompt.as_ref().map(|prompt| format!("prompt /{prompt}/")));
        parts.extend(self.turn.map(|turn| format!("turn {turn}")));
        parts.extend(self.step.map(|step| format!("step {step}")));
        if parts.is_empty() {
            parts.push("any request".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}
