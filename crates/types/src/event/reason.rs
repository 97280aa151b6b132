//! Why things in a session happened or ended.

use serde::{Deserialize, Serialize};

use crate::optional;

/// Why a request header was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum HeaderReason {
    /// The session's first request.
    Initial,
    /// The model, the system prompt or the tools are others than before.
    Changed,
}

/// What a rule of the user's does with the calls that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// They run without a question.
    Allow,
    /// The user is asked.
    Ask,
    /// They are denied.
    Deny,
}

/// Why a conversation was summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// The context was nearly full.
    Threshold,
    /// The endpoint refused the request as too long.
    Overflow,
    /// The user asked for it.
    Command,
}

/// Why a tool call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "bindings", ts(optional_fields))]
pub struct ToolErrorRecord {
    /// The message, without a prefix.
    pub message: String,
    /// A code such as `INVALID_ARGS`, for failures of the registry's own making.
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model had no more to say.
    Completed,
    /// It was stopped.
    Aborted {
        /// By whom.
        by: AbortCause,
    },
    /// It could not go on.
    Error {
        /// Why, for the user.
        message: String,
    },
    /// The answer reached a token limit.
    MaxTokens,
    /// The turn reached its limit of model requests.
    MaxSteps,
    /// The provider or the model refused.
    Refusal,
    /// The process died during the turn; written only when the log is repaired.
    Interrupted,
}

/// Who stopped a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum AbortCause {
    /// The user.
    User,
    /// The agent that started this one.
    Parent,
    /// The closing of the session.
    Closed,
}
