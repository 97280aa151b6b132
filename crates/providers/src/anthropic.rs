//! The Messages protocol: one POST, answered by a stream of typed events about numbered blocks.
//!
//! [`Anthropic`] is the adapter and [`AnthropicConfig`] its settings. An answer counts as whole only if it
//! says why it stopped and no call in it is unfinished; the end marker after that may be missing. Events,
//! blocks and deltas of unknown types are passed over, since the protocol says that more may come.
//!
//! Thinking comes with a signature and has to go back unchanged with the results of the calls it led to.
//! The adapter keeps such answers in memory, up to a limit ([`kept`](crate::kept)). A conversation that was
//! loaded by another process goes on without them, which the protocol allows: with a budget for thinking,
//! the rest of such a turn is answered without thinking.
//!
//! The tools, the system prompt and the last two messages of the user's side are marked for the
//! endpoint's cache; without the marks the same conversation gives the same bytes, and a longer one begins
//! with those of the shorter.

mod answer;
mod blocks;
mod request;

use std::ops::RangeInclusive;
use std::sync::Arc;

use reqwest::header::HeaderName;
use weft_model::{Model, ModelRequest, ModelStream};

use crate::dialect::Dialect;
use crate::endpoint::{Endpoint, Protocol, in_range};
use crate::kept::{Kept, MAX_KEPT};
use crate::{ConfigError, EndpointConfig, exchange};

static PROTOCOL: Protocol = Protocol {
    name: "messages",
    version: Some("v1"),
    path: &["messages"],
    key: (HeaderName::from_static("x-api-key"), ""),
    headers: &[("anthropic-version", "2023-06-01")],
};

const MAX_TOKENS: RangeInclusive<u32> = 1..=1_000_000;
/// The smallest budget that the protocol has.
const MIN_BUDGET: u32 = 1_024;

/// How to reach an endpoint that speaks Messages, and what to ask of it.
#[derive(Clone, Debug)]
pub struct AnthropicConfig {
    /// The endpoint; its `base_url` may end with `/v1` or leave that out. The key is sent as `x-api-key`:
    /// endpoints that want another header get it by `headers`.
    pub endpoint: EndpointConfig,
    /// The most tokens of one answer, thinking included: 1 to 1,000,000, default 32,000. The protocol
    /// insists on a number, and endpoints refuse one beyond what the model can do.
    pub max_tokens: u32,
    /// Whether thinking is asked for.
    pub thinking: Thinking,
}

/// Whether a model is asked to think before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    /// Nothing is said about it: what the model does by itself.
    #[default]
    Unsaid,
    /// As much as the model finds right, with a summary to show. Models before Claude 4.6 do not know it.
    Adaptive,
    /// Up to so many tokens: at least 1,024 and fewer than `max_tokens`. Models since Claude Opus 4.7
    /// refuse it.
    Budget(u32),
}

impl AnthropicConfig {
    /// The defaults for an endpoint.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            endpoint: EndpointConfig::new(base_url),
            max_tokens: 32_000,
            thinking: Thinking::Unsaid,
        }
    }
}

/// An endpoint that speaks Messages.
#[derive(Debug)]
pub struct Anthropic {
    dialect: Arc<Messages>,
}

/// The protocol, spoken to one endpoint.
#[derive(Debug)]
struct Messages {
    endpoint: Arc<Endpoint>,
    max_tokens: u32,
    thinking: Thinking,
    kept: Arc<Kept<blocks::Sealed>>,
}

impl Anthropic {
    /// Makes an adapter; nothing is connected and no file is read yet.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the setting that is wrong, what was found and what is allowed.
    pub fn new(config: AnthropicConfig) -> Result<Self, ConfigError> {
        let AnthropicConfig {
            endpoint,
            max_tokens,
            thinking,
        } = config;
        in_range("max_tokens", &max_tokens, &MAX_TOKENS)?;
        if let Thinking::Budget(budget) = thinking
            && !(MIN_BUDGET..max_tokens).contains(&budget)
        {
            let expected = format!("at least {MIN_BUDGET} and less than max_tokens ({max_tokens})");
            return Err(ConfigError::new(
                "thinking",
                format!("found {budget}, expected {expected}"),
            ));
        }
        Ok(Self {
            dialect: Arc::new(Messages {
                endpoint: Arc::new(endpoint.into_endpoint(&PROTOCOL)?),
                max_tokens,
                thinking,
                kept: Arc::new(Kept::new(MAX_KEPT)),
            }),
        })
    }
}

impl Model for Anthropic {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        exchange::stream(Arc::clone(&self.dialect), request)
    }
}

impl Dialect for Messages {
    type Answer = answer::MessagesAnswer;

    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    fn body(&self, request: &ModelRequest) -> Vec<u8> {
        request::body(self, request)
    }

    fn answer(&self, request: &ModelRequest) -> Self::Answer {
        answer::MessagesAnswer::new(self, request)
    }
}
