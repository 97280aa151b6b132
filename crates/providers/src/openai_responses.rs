//! The Responses protocol: one POST, answered by a stream of typed events about numbered items.
//!
//! [`OpenAiResponses`] is the adapter and [`OpenAiResponsesConfig`] its settings. Nothing is stored at the
//! endpoint: every request holds the whole conversation. An answer counts as whole only if its last event
//! says so and no call in it is unfinished. Events and items of unknown types are passed over.
//!
//! Reasoning comes encrypted, where it is asked for, and goes back unchanged with the results of the calls
//! it led to: it is sealed into the conversation ([`sealed`](crate::sealed)). Where a conversation does not hold it,
//! since another model answered, it goes on without, which the protocol allows.

mod answer;
mod items;
mod request;

use std::sync::Arc;

use reqwest::header::AUTHORIZATION;
use weft_model::{Model, ModelRequest, ModelStream};

use crate::dialect::Dialect;
use crate::endpoint::{Endpoint, Protocol};
use crate::{ConfigError, EndpointConfig, Listing, exchange};

static PROTOCOL: Protocol = Protocol {
    name: "responses",
    version: None,
    path: &["responses"],
    key: (AUTHORIZATION, "Bearer "),
    headers: &[],
    models_query: "",
};

/// How to reach an endpoint that speaks Responses, and what to ask of it.
#[derive(Clone, Debug)]
pub struct OpenAiResponsesConfig {
    /// The endpoint. The key is sent as a bearer token.
    pub endpoint: EndpointConfig,
    /// How hard a reasoning model is to think, in the endpoint's words, such as `low` or `high`: one word of
    /// lower-case letters. `None` says nothing about reasoning, neither that a summary is wanted nor that it
    /// is to come encrypted: models that do not reason refuse both.
    pub reasoning_effort: Option<String>,
}

impl OpenAiResponsesConfig {
    /// The defaults for an endpoint.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            endpoint: EndpointConfig::new(base_url),
            reasoning_effort: None,
        }
    }
}

/// An endpoint that speaks Responses.
#[derive(Debug)]
pub struct OpenAiResponses {
    dialect: Arc<Responses>,
}

/// The protocol, spoken to one endpoint.
#[derive(Debug)]
struct Responses {
    endpoint: Arc<Endpoint>,
    reasoning_effort: Option<String>,
}

impl OpenAiResponses {
    /// Makes an adapter; nothing is connected and no file is read yet.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the setting that is wrong, what was found and what is allowed.
    pub fn new(config: OpenAiResponsesConfig) -> Result<Self, ConfigError> {
        let OpenAiResponsesConfig {
            endpoint,
            reasoning_effort,
        } = config;
        let is_word = |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase());
        if let Some(effort) = reasoning_effort.as_ref().filter(|effort| !is_word(effort)) {
            let message = format!("found \"{effort}\", expected one word of lower-case letters, such as high");
            return Err(ConfigError::new("reasoning_effort", message));
        }
        Ok(Self {
            dialect: Arc::new(Responses {
                endpoint: Arc::new(endpoint.into_endpoint(&PROTOCOL)?),
                reasoning_effort,
            }),
        })
    }
}

impl OpenAiResponses {
    /// Asks the same endpoint for its models.
    pub fn listing(&self) -> Listing {
        Listing::new(&self.dialect.endpoint)
    }
}

impl Model for OpenAiResponses {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        exchange::stream(Arc::clone(&self.dialect), request)
    }
}

impl Dialect for Responses {
    type Answer = answer::ResponsesAnswer;

    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    fn body(&self, request: &ModelRequest) -> Vec<u8> {
        request::body(self, request)
    }

    fn answer(&self, request: &ModelRequest) -> Self::Answer {
        answer::ResponsesAnswer::new(self, request)
    }
}
