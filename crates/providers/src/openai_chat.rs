//! The chat-completions protocol: one POST, answered by a stream of JSON chunks.
//!
//! [`OpenAiChat`] is the adapter. Endpoints differ in what they
//! make of this protocol, and this adapter is generous wherever an answer can only mean one thing:
//! missing or odd indexes of tool calls, absent ids, `null` anywhere, usage sent twice, an answer in one
//! piece where a stream was asked for. Where text could be lost it is strict: an answer counts as whole
//! only if it says so (a finish reason or the end marker), and one line that is not JSON fails it, as
//! [`ModelErrorKind::Incomplete`], which may be tried again.
//!
//! What providers behind a gateway want back, `reasoning_details` and the `extra_content` of calls, is sealed into
//! the conversation and goes back where it came from. Results hold no pictures in this protocol: those of a row of
//! results follow it in a message of the user's side.
//!
//! Usage at the end of a stream has to be asked for with `stream_options`, which some endpoints refuse. One that does is
//! asked without it from then on, for as long as the adapter lives, and may leave its usage untold.

mod answer;
mod calls;
mod details;
mod request;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::header::AUTHORIZATION;
use weft_model::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream};

use crate::dialect::Dialect;
use crate::endpoint::{Endpoint, Protocol};
use crate::{ConfigError, EndpointConfig, Listing, exchange};

static PROTOCOL: Protocol = Protocol {
    name: "chat completions",
    version: None,
    path: &["chat", "completions"],
    key: (AUTHORIZATION, "Bearer "),
    headers: &[],
    models_query: "",
};

/// An endpoint that speaks chat completions.
#[derive(Debug)]
pub struct OpenAiChat {
    dialect: Arc<Chat>,
}

#[derive(Debug)]
struct Chat {
    endpoint: Arc<Endpoint>,
    /// Set once the endpoint has refused `stream_options`.
    refuses_options: AtomicBool,
}

impl OpenAiChat {
    /// Makes an adapter; nothing is connected and no file is read yet.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the setting that is wrong, what was found and what is allowed.
    pub fn new(config: EndpointConfig) -> Result<Self, ConfigError> {
        let endpoint = Arc::new(config.into_endpoint(&PROTOCOL)?);
        Ok(Self {
            dialect: Arc::new(Chat {
                endpoint,
                refuses_options: AtomicBool::new(false),
            }),
        })
    }
}

impl OpenAiChat {
    /// Asks the same endpoint for its models.
    pub fn listing(&self) -> Listing {
        Listing::new(&self.dialect.endpoint)
    }
}

impl Model for OpenAiChat {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        exchange::stream(Arc::clone(&self.dialect), request)
    }
}

impl Dialect for Chat {
    type Answer = answer::ChatAnswer;

    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    fn body(&self, request: &ModelRequest) -> Vec<u8> {
        let asks_for_usage = !self.refuses_options.load(Ordering::Relaxed);
        request::body(&self.endpoint, request, asks_for_usage)
    }

    fn adapts_to(&self, refusal: &ModelError) -> bool {
        let names_it = refusal.kind() == ModelErrorKind::InvalidRequest && refusal.message().contains(request::OPTIONS);
        if names_it && !self.refuses_options.swap(true, Ordering::Relaxed) {
            tracing::info!(
                endpoint = self.endpoint.name,
                "stream_options are left out from here on"
            );
        }
        names_it
    }

    fn answer(&self, request: &ModelRequest) -> Self::Answer {
        answer::ChatAnswer::new(Arc::clone(&self.endpoint), request)
    }
}
