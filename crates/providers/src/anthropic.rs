//! The Messages protocol: one POST, answered by a stream of typed events about numbered blocks.
//!
//! [`Anthropic`] is the adapter and [`AnthropicConfig`] its settings. An answer counts as whole only if it
//! says why it stopped and no call in it is unfinished; the end marker after that may be missing. Events,
//! blocks and deltas of unknown types are passed over, since the protocol says that more may come.
//!
//! Thinking comes with a signature and has to go back unchanged with the results of the calls it led to: it is sealed
//! into the conversation ([`sealed`](crate::sealed)). Where a conversation does not hold it, since another model
//! answered, it goes on without, which the protocol allows: with a budget for thinking, the rest of such a turn is
//! answered without thinking.
//!
//! The tools, the system prompt and the last two messages of the user's side are marked for the
//! endpoint's cache; without the marks the same conversation gives the same bytes, and a longer one begins
//! with those of the shorter.

mod answer;
mod blocks;
mod request;

use std::sync::Arc;

use reqwest::header::HeaderName;
use weft_model::{Model, ModelRequest, ModelStream};

use crate::dialect::Dialect;
use crate::endpoint::{Endpoint, Protocol};
use crate::{ConfigError, EndpointConfig, Listing, exchange};

static PROTOCOL: Protocol = Protocol {
    name: "messages",
    version: Some("v1"),
    path: &["messages"],
    key: (HeaderName::from_static("x-api-key"), ""),
    headers: &[("anthropic-version", "2023-06-01")],
    models_query: "limit=1000",
};

/// The most tokens of an answer where nothing is configured; the protocol insists on a number.
const DEFAULT_MAX_TOKENS: u32 = 32_000;
/// The smallest budget that the protocol has.
const MIN_BUDGET: u32 = 1_024;

/// How to reach an endpoint that speaks Messages, and what to ask of it.
#[derive(Clone, Debug)]
pub struct AnthropicConfig {
    /// The endpoint; its `base_url` may end with `/v1` or leave that out. The key is sent as `x-api-key`:
    /// endpoints that want another header get it by `headers`. Its `max_tokens` counts thinking; by default it is
    /// 32,000, or as many as the model is known to give if those are fewer.
    pub endpoint: EndpointConfig,
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
    /// Up to so many tokens: at least 1,024 and fewer than the most tokens of an answer. Models since Claude Opus 4.7
    /// refuse it.
    Budget(u32),
}

impl AnthropicConfig {
    /// The defaults for an endpoint.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            endpoint: EndpointConfig::new(base_url),
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
    thinking: Thinking,
}

impl Anthropic {
    /// Makes an adapter; nothing is connected and no file is read yet.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the setting that is wrong, what was found and what is allowed.
    pub fn new(config: AnthropicConfig) -> Result<Self, ConfigError> {
        let AnthropicConfig { endpoint, thinking } = config;
        let endpoint = endpoint.into_endpoint(&PROTOCOL)?;
        let max_tokens = endpoint.config.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
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
                endpoint: Arc::new(endpoint),
                thinking,
            }),
        })
    }
}

impl Anthropic {
    /// Asks the same endpoint for its models.
    pub fn listing(&self) -> Listing {
        Listing::new(&self.dialect.endpoint)
    }
}

impl Model for Anthropic {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        exchange::stream(Arc::clone(&self.dialect), request)
    }
}

impl Messages {
    /// The most tokens of one answer of a model.
    fn max_tokens(&self, model: &str) -> u32 {
        let known = || self.endpoint.config.knowledge.of(model).max_output;
        let by_default = || {
            known().map_or(DEFAULT_MAX_TOKENS, |most| {
                u32::try_from(most).unwrap_or(u32::MAX).clamp(1, DEFAULT_MAX_TOKENS)
            })
        };
        self.endpoint.config.max_tokens.unwrap_or_else(by_default)
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
