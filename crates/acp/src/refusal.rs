//! Why a request is answered with an error.

use weft_agent::PromptRefused;
use weft_session::StoreError;

use crate::OpenError;
use crate::sdk::schema;

/// An error answer. Texts name what is wrong and what was expected, and repeat of the input no more than names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestError {
    /// The caller's mistake.
    #[error("invalid params: {0}")]
    InvalidParams(String),
    /// A session that is not open on this connection.
    #[error("no such session is open on this connection")]
    UnknownSession(schema::SessionId),
    /// A session that the store does not have.
    #[error("session {} is not stored here: {reason}", short(id))]
    NotStored {
        /// What was asked for.
        id: schema::SessionId,
        /// What is there instead.
        reason: &'static str,
    },
    /// The model's provider has no key.
    #[error("{0}")]
    AuthRequired(String),
    /// The client took the request back.
    #[error("the request was cancelled")]
    Cancelled,
    /// The world's failure, or ours.
    #[error("{0}")]
    Internal(String),
}

/// An id as far as it can be one: those of the store are short, while a client may send anything.
fn short(id: &schema::SessionId) -> String {
    id.0.chars().take(64).collect()
}

impl RequestError {
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::InvalidParams(what.into())
    }
}

impl From<OpenError> for RequestError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Refused(text) => Self::InvalidParams(text),
            OpenError::Failed(text) => Self::Internal(text),
        }
    }
}

impl From<StoreError> for RequestError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { session, reason } => Self::NotStored {
                id: schema::SessionId::new(session.as_str().to_owned()),
                reason,
            },
            StoreError::Cursor { .. } => Self::invalid(error.to_string()),
            error => Self::Internal(error.to_string()),
        }
    }
}

impl From<PromptRefused> for RequestError {
    fn from(refused: PromptRefused) -> Self {
        Self::invalid(refused.to_string())
    }
}
