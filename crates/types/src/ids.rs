//! Identities. Each is its own type, so that one can never stand for another.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "bindings", derive(schemars::JsonSchema, ts_rs::TS))]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps an id as it is; nothing is checked.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self::new(id)
            }
        }
    };
}

text_id! {
    /// The id of a session, durable and shown to clients.
    SessionId
}
text_id! {
    /// The id a model gave to one tool call. Unique within its session only: two sessions may well
    /// hold equal ids.
    CallId
}
text_id! {
    /// The id of one workflow run, minted by the engine, unique for ever.
    RunId
}

/// The identity of one live agent, unique within the process and never stored.
///
/// It is what observations are routed by. A session id would not do: a restored session has the id of
/// the one before, and another bridge's agent may carry an equal one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(u64);

impl AgentId {
    /// Mints an id that no other agent of this process has.
    pub fn mint() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "agent-{}", self.0)
    }
}
