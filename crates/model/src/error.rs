//! Why a model did not answer.

use std::time::Duration;

use thiserror::Error;

/// Why a model did not answer, or stopped in the middle of its answer.
///
/// The message is for the user: lower-case, bounded in length, free of credentials, and it says what to
/// do where there is something to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ModelError {
    kind: ModelErrorKind,
    message: String,
    retry_after: Option<Duration>,
    retryable: bool,
}

impl ModelError {
    /// An error of some kind; the message stands for itself and needs no prefix.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
            retryable: kind.is_retryable(),
        }
    }

    /// The same error with the endpoint's own word on whether another attempt may help.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// The same error with the wait that the endpoint asked for.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// What happened, for the user.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How long the endpoint asked to wait before another attempt. Not bounded: an endpoint may ask for
    /// hours, and the caller decides whether that is worth waiting for.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Whether sending the same request again may succeed: what the endpoint said, or else what is
    /// usual for the kind ([`ModelErrorKind::is_retryable`]).
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }
}

/// What kind of failure a [`ModelError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelErrorKind {
    /// No model or no such provider is configured.
    NotConfigured,
    /// The endpoint refused the credentials, or the right to use the model.
    Auth,
    /// The endpoint asked for fewer requests.
    RateLimited,
    /// The endpoint failed or was too busy (5xx and the like).
    Overloaded,
    /// The endpoint could not be reached, or the connection broke before an answer began.
    Network,
    /// The answer began and did not come to its end: cut off, or silent for longer than allowed.
    Incomplete,
    /// The endpoint does not accept this request; the same request fails again.
    InvalidRequest,
    /// The request is longer than the model's context.
    ContextOverflow,
    /// The endpoint answered something that this protocol does not have.
    Protocol,
    /// The scripted model has no reply for this request, or is told to fail like this.
    Scripted,
}

impl ModelErrorKind {
    /// Every kind, in the order of declaration.
    pub const ALL: [Self; 10] = [
        Self::NotConfigured,
        Self::Auth,
        Self::RateLimited,
        Self::Overloaded,
        Self::Network,
        Self::Incomplete,
        Self::InvalidRequest,
        Self::ContextOverflow,
        Self::Protocol,
        Self::Scripted,
    ];

    /// Whether sending the same request again may succeed.
    ///
    /// True of `RateLimited`, `Overloaded`, `Network` and `Incomplete`. Whether it is wise is another
    /// question: a caller that has shown a part of the answer must not begin it again.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Overloaded | Self::Network | Self::Incomplete
        )
    }

    /// The kind's name in configuration and logs, such as `rate_limited`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotConfigured => "not_configured",
            Self::Auth => "auth",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Network => "network",
            Self::Incomplete => "incomplete",
            Self::InvalidRequest => "invalid_request",
            Self::ContextOverflow => "context_overflow",
            Self::Protocol => "protocol",
            Self::Scripted => "scripted",
        }
    }
}
