//! HTTP adapters behind the model seam.
//!
//! [`OpenAiChat`] speaks the chat-completions protocol that most endpoints have, [`OpenAiResponses`] OpenAI's
//! Responses and [`Anthropic`] Anthropic's Messages. Sending, reading the stream, limits, failures and credentials
//! are common to all (`exchange`, `draft`, `failure`, `endpoint`); `dialect` is what sets them apart. Nothing
//! is connected and no certificate is read before the first request, so building one costs next to nothing.
//!
//! [`Catalogue`] is what is known of models, which the adapters heed ([`Knowledge`]); [`Listing`] asks an endpoint for
//! what it has.
//!
//! Retrying is left to the caller: an adapter says what kind of failure it was and how long the endpoint
//! asked to wait. This crate knows neither agents nor tools.

mod anthropic;
mod arguments;
mod catalogue;
mod crypto;
mod dialect;
mod draft;
mod endpoint;
mod exchange;
mod failure;
mod http;
mod images;
mod json;
mod key;
mod knowledge;
mod listing;
mod openai_chat;
mod openai_responses;
mod redact;
mod retry_after;
mod sealed;
mod secret;
mod sse;

pub use anthropic::{Anthropic, AnthropicConfig, Thinking};
pub use catalogue::{Catalogue, Facts};
pub use crypto::install_crypto;
pub use endpoint::{ConfigError, EndpointConfig};
pub use knowledge::Knowledge;
pub use listing::Listing;
pub use openai_chat::OpenAiChat;
pub use openai_responses::{OpenAiResponses, OpenAiResponsesConfig};
pub use secret::Secret;
