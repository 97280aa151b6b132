//! The chat-completions protocol: one POST, answered by a stream of JSON chunks.
//!
//! [`OpenAiChat`] is the adapter and [`OpenAiChatConfig`] its settings. Endpoints differ in what they
//! make of this protocol, and this adapter is generous wherever an answer can only mean one thing:
//! missing or odd indexes of tool calls, absent ids, `null` anywhere, usage sent twice, an answer in one
//! piece where a stream was asked for. Where text could be lost it is strict: an answer counts as whole
//! only if it says so (a finish reason or the end marker), and one line that is not JSON fails it, as
//! [`ModelErrorKind::Incomplete`](weft_model::ModelErrorKind::Incomplete), which may be tried again.

mod answer;
mod calls;
mod config;
mod exchange;
mod failure;
mod request;

use std::sync::Arc;

use reqwest::Url;
use reqwest::header::HeaderMap;
use weft_model::{Model, ModelRequest, ModelStream};

pub use config::{ConfigError, OpenAiChatConfig};

use crate::Secret;
use crate::http::LazyClient;

/// An endpoint that speaks chat completions.
#[derive(Debug)]
pub struct OpenAiChat {
    endpoint: Arc<Endpoint>,
}

/// All that a request needs of the configuration.
#[derive(Debug)]
struct Endpoint {
    /// Where to post.
    url: Url,
    /// The endpoint in errors: `base_url` without a query.
    name: String,
    /// Sent with every request; credentials are marked as sensitive.
    headers: HeaderMap,
    /// What must not be shown, should the endpoint repeat it.
    secrets: Vec<Secret>,
    config: OpenAiChatConfig,
    client: LazyClient,
}

impl OpenAiChat {
    /// Makes an adapter; nothing is connected and no file is read yet.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the setting that is wrong, what was found and what is allowed.
    pub fn new(config: OpenAiChatConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            endpoint: Arc::new(config.into_endpoint()?),
        })
    }
}

impl Model for OpenAiChat {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        exchange::stream(Arc::clone(&self.endpoint), request)
    }
}
