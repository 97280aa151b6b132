//! From what went wrong at an endpoint to an error that a user can act on.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION};
use serde_json::Value;
use weft_model::{ModelError, ModelErrorKind};

use crate::endpoint::Endpoint;
use crate::http::root_cause;
use crate::retry_after::{retry_after, should_retry};

/// Words by which endpoints say that a request is longer than the model's context.
const OVERFLOW: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "exceed_context",
    "prompt is too long",
    "input is too long",
    "too many input tokens",
    "exceed context limit",
    "request_too_large",
    "maximum prompt length",
    "maximum number of tokens",
    "token count exceeds",
    "tokens exceed the configured limit",
    "model token limit",
    "token limit exceeded",
    "reduce the length of the messages",
    "prompt exceeds max length",
    "prompt too long",
    "prompt token count",
    "context overflow",
];
/// Words by which endpoints say that there is nothing left to pay with.
const NO_CREDIT: &[&str] = &[
    "insufficient_quota",
    "insufficient balance",
    "insufficient credit",
    "credit balance",
    "billing",
];

impl Endpoint {
    /// The error for an answer whose status is not a success.
    pub(crate) fn refused(&self, status: StatusCode, headers: &HeaderMap, body: &str) -> ModelError {
        let told = Told::read(body);
        let (kind, hint) = judge_status(status.as_u16(), &told);
        let mut message = format!("{} answered {status}", self.name);
        let said = self.excerpt(&told.message);
        if !said.is_empty() {
            message.push_str(&format!(": {said}"));
        }
        if let Some(hint) = hint {
            message.push_str(&format!("; {hint}"));
        }
        if status.is_redirection()
            && let Some(location) = headers.get(LOCATION).and_then(|value| value.to_str().ok())
        {
            message.push_str(&format!(" ({})", self.excerpt(location)));
        }
        let error = ModelError::new(kind, message).with_retry_after(retry_after(headers));
        match should_retry(headers) {
            Some(retry) => error.with_retryable(retry),
            None => error,
        }
    }

    /// The error for an error object in place of an answer, or in the middle of one.
    pub(crate) fn failed(&self, value: &Value) -> ModelError {
        let told = Told::from_value(value).unwrap_or_else(|| Told::plain(&value.to_string()));
        let (kind, hint) = judge_words(&told);
        let said = self.excerpt(&told.message);
        let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
        ModelError::new(kind, format!("{} reported an error: {said}{hint}", self.name))
    }

    /// The error for a request that got no answer at all.
    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> ModelError {
        let limit = self.config.connect_timeout;
        let cause = if error.is_connect() && error.is_timeout() {
            format!("no connection within {limit:?} (connect_timeout)")
        } else {
            root_cause(error)
        };
        let lasting = cause.contains("certificate");
        let message = format!("could not reach {}: {cause}", self.name);
        let error = ModelError::new(ModelErrorKind::Network, message);
        if lasting { error.with_retryable(false) } else { error }
    }

    /// The error for an answer that does not begin.
    pub(crate) fn silent(&self, waited: Duration) -> ModelError {
        let message = format!("{} did not answer within {waited:?} (idle_timeout)", self.name);
        ModelError::new(ModelErrorKind::Network, message)
    }

    /// The error for an answer that does not come to its end.
    pub(crate) fn incomplete(&self, why: impl std::fmt::Display) -> ModelError {
        let message = format!("the answer of {} is incomplete: {why}", self.name);
        ModelError::new(ModelErrorKind::Incomplete, message)
    }

    /// The error for an answer that is not of this protocol; `found` is what came instead.
    pub(crate) fn foreign(&self, what: &str, found: &str) -> ModelError {
        let message = format!(
            "{} answered with {what} instead of {}: {}; check base_url, and whether this network asks for a login",
            self.name,
            self.protocol.name,
            self.excerpt(found)
        );
        ModelError::new(ModelErrorKind::Protocol, message)
    }

    /// The error for an answer beyond one of our own limits.
    pub(crate) fn too_long(&self, limit: impl std::fmt::Display) -> ModelError {
        ModelError::new(
            ModelErrorKind::Protocol,
            format!("the answer of {} is too long: {limit}", self.name),
        )
    }
}

/// What an endpoint says about an error.
struct Told {
    message: String,
    /// Its codes, types and message in lower case, to look for words in.
    words: String,
    /// A code that is an HTTP status.
    status: Option<u16>,
}

impl Told {
    fn read(body: &str) -> Self {
        serde_json::from_str(body)
            .ok()
            .as_ref()
            .and_then(Self::from_value)
            .unwrap_or_else(|| Self::plain(body))
    }

    fn plain(text: &str) -> Self {
        Self {
            message: text.to_owned(),
            words: text.to_lowercase(),
            status: None,
        }
    }

    /// Reads `{"error": {…}}`, `{"error": "…"}` or the inner object; `None` if there is no message in it.
    fn from_value(value: &Value) -> Option<Self> {
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let message = ["message", "detail"]
            .iter()
            .find_map(|key| error.get(key)?.as_str())
            .or(error.as_str())?;
        let codes = ["code", "type", "status"].map(|key| error.get(key));
        let words = codes.iter().flatten().filter_map(|code| code.as_str()).chain([message]);
        let number = |code: &Value| code.as_u64().or_else(|| code.as_str()?.parse().ok());
        let status = codes
            .iter()
            .flatten()
            .find_map(|code| u16::try_from(number(code)?).ok());
        Some(Self {
            message: message.to_owned(),
            words: words.collect::<Vec<_>>().join(" ").to_lowercase(),
            status: status.filter(|status| (400..600).contains(status)),
        })
    }

    fn has(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.words.contains(word))
    }
}

type Judgement = (ModelErrorKind, Option<&'static str>);

const CHECK_KEY: &str = "check the provider's key (api_key_env, api_key_command) and what it is allowed to use";
const TOP_UP: &str = "the account behind the key has nothing left to pay with";

fn judge_status(status: u16, told: &Told) -> Judgement {
    match status {
        400 | 413 | 422 | 500 if told.has(OVERFLOW) => (ModelErrorKind::ContextOverflow, None),
        413 => (ModelErrorKind::ContextOverflow, None),
        402 => (ModelErrorKind::Auth, Some(TOP_UP)),
        400 | 403 | 429 if told.has(NO_CREDIT) => (ModelErrorKind::Auth, Some(TOP_UP)),
        401 | 403 => (ModelErrorKind::Auth, Some(CHECK_KEY)),
        429 => (ModelErrorKind::RateLimited, None),
        408 | 409 | 425 | 500.. => (ModelErrorKind::Overloaded, None),
        300..400 => (
            ModelErrorKind::InvalidRequest,
            Some("redirects are not followed: set base_url to its target"),
        ),
        404 | 405 => (
            ModelErrorKind::InvalidRequest,
            Some("check base_url and the model's name"),
        ),
        _ => (
            ModelErrorKind::InvalidRequest,
            Some("check the model's name, and what the endpoint says of itself"),
        ),
    }
}

/// Judges an error that came with a success status; without any sign it may pass.
fn judge_words(told: &Told) -> Judgement {
    if let Some(status) = told.status {
        return judge_status(status, told);
    }
    let signs: [(&[&str], Judgement); 6] = [
        (OVERFLOW, (ModelErrorKind::ContextOverflow, None)),
        (NO_CREDIT, (ModelErrorKind::Auth, Some(TOP_UP))),
        (
            &["rate_limit", "rate limit", "too_many_requests"],
            (ModelErrorKind::RateLimited, None),
        ),
        (
            &["api_key", "api key", "authentication", "permission"],
            (ModelErrorKind::Auth, Some(CHECK_KEY)),
        ),
        (
            &["overloaded", "server_error", "api_error", "unavailable", "timeout"],
            (ModelErrorKind::Overloaded, None),
        ),
        (&["invalid_request"], (ModelErrorKind::InvalidRequest, None)),
    ];
    let sign = signs.into_iter().find(|(words, _)| told.has(words));
    sign.map_or((ModelErrorKind::Incomplete, None), |(_, judgement)| judgement)
}
