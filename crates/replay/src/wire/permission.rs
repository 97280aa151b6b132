//! How a client answers `session/request_permission`.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::{Value, json};

use super::WireError;

/// One answer to one permission question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    /// Select the option of kind `allow_once`.
    AllowOnce,
    /// Select the option of kind `allow_always`.
    AllowAlways,
    /// Select the option of kind `reject_once`.
    RejectOnce,
    /// Select the option of kind `reject_always`.
    RejectAlways,
    /// Answer that the question was cancelled.
    Cancelled,
    /// Leave the question open until its session is cancelled or closed, and then answer `cancelled`.
    Hold,
}

impl PermissionAnswer {
    fn kind(self) -> Option<&'static str> {
        match self {
            Self::AllowOnce => Some("allow_once"),
            Self::AllowAlways => Some("allow_always"),
            Self::RejectOnce => Some("reject_once"),
            Self::RejectAlways => Some("reject_always"),
            Self::Cancelled | Self::Hold => None,
        }
    }
}

/// The answers still to be given, and the questions left open.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    queue: VecDeque<PermissionAnswer>,
    held: Vec<(String, Value)>,
}

impl Permissions {
    pub(super) fn queue(&mut self, answers: impl IntoIterator<Item = PermissionAnswer>) {
        self.queue.extend(answers);
    }

    /// The result to answer a question with, or `None` to leave it open. An empty queue cancels.
    pub(super) fn answer(&mut self, id: &Value, params: &Value) -> Result<Option<Value>, WireError> {
        let answer = self.queue.pop_front().unwrap_or(PermissionAnswer::Cancelled);
        if answer == PermissionAnswer::Hold {
            let session = params["sessionId"].as_str().unwrap_or_default();
            self.held.push((session.to_owned(), id.clone()));
            return Ok(None);
        }
        let Some(kind) = answer.kind() else {
            return Ok(Some(cancelled()));
        };
        let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        match options.iter().find(|option| option["kind"] == kind) {
            Some(option) => Ok(Some(
                json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}}),
            )),
            None => Err(WireError::NotOffered {
                answer,
                offered: options
                    .iter()
                    .map(|option| option["kind"].as_str().unwrap_or_default().to_owned())
                    .collect(),
            }),
        }
    }

    /// The ids of the questions of a session that were left open; they are no longer held.
    pub(super) fn release(&mut self, session: &str) -> Vec<Value> {
        let (released, held) = std::mem::take(&mut self.held)
            .into_iter()
            .partition::<Vec<_>, _>(|(of, _)| of == session);
        self.held = held;
        released.into_iter().map(|(_, id)| id).collect()
    }
}

/// The result that says that a question was cancelled.
pub(super) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}
