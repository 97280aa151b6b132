//! What a conversation is made of, as far as a client cares.

use serde_json::Value;

use super::RpcError;
use crate::Exit;

/// A request that this client has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub(super) u64);

/// What a request was answered with.
pub type Response = Result<Value, RpcError>;

/// One line from the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A `session/update`.
    Update {
        /// The session it belongs to.
        session: String,
        /// Its `update` object.
        update: Value,
    },
    /// A permission question; it has been answered from the queue, or is held.
    Permission {
        /// The session it belongs to.
        session: String,
    },
    /// The response to a request of ours; [`WireClient::response`](super::WireClient::response) hands
    /// it over.
    Response(RequestId),
    /// Anything else: another notification, a request (it was answered from the client's files, or with "method not
    /// found"), or a response to nothing.
    Other(Value),
}

/// How a conversation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How the agent ended.
    pub exit: Exit,
    /// Whether processes of its group outlived it; they have been killed.
    pub survivors: bool,
    /// The end of what it wrote to stderr.
    pub stderr: String,
}
