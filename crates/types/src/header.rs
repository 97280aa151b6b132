//! What a session log begins with.

use serde::{Deserialize, Serialize};

use crate::{RunId, SessionId, UnixMillis, optional};

/// What stands before a session's events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(feature = "bindings", ts(optional_fields))]
#[serde(rename_all = "camelCase")]
pub struct SessionHeader {
    /// The version of the vocabulary that the log was written in.
    pub version: u32,
    /// The session's id.
    pub id: SessionId,
    /// When it was created.
    pub created_at: UnixMillis,
    /// The absolute folder it works in.
    pub cwd: String,
    /// What made it.
    pub origin: Origin,
    /// The session that started it, for a subagent.
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// How many parents stand above it; 0 for a user's session.
    pub depth: u32,
    /// The name its starter gave it.
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The workflow run it is a member of.
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Its member number in that run.
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub run_seq: Option<u64>,
}

impl SessionHeader {
    /// The vocabulary version written today.
    pub const VERSION: u32 = 3;
}

/// What made a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A client.
    User,
    /// Another agent.
    Subagent,
}
