//! The ACP bridge: the only crate that knows the Agent Client Protocol.
//!
//! [`serve()`] is the whole of it: given two streams, an [`AgentFactory`] and a store of sessions, it is the agent that
//! an editor talks to. A session's events and its agent's observations become `session/update`s; the client's
//! requests become prompts, cancels and closes. Sessions of the store are listed, deleted, and loaded: their history
//! goes through the same projection as what happens live.
//!
//! Read [`serve()`] first, then the modules in the order of a prompt: `transport` (bytes to messages), `sdk`
//! (messages to calls), `bridge` and `session` (what the calls do), `view` and `projector` (what the client
//! is shown), `outbox` (in which order, and how much of it). A load takes another way from `bridge::load`: through
//! `replay` to the projector and the outbox.
//!
//! The other way round, [`Peer`] is a client: a provider of subagents that are other programs which speak the protocol.
//!
//! It knows nothing of workflows, of single tools or of model providers: a tool says how it wants to be
//! seen, and the bridge draws that.

mod bridge;
mod client_files;
mod extension;
mod family;
mod options;
mod outbox;
mod peer;
mod permission;
mod projector;
mod prompt;
mod refusal;
mod replay;
mod sdk;
mod selectors;
mod serve;
mod session;
mod settings;
mod ticker;
mod transport;
mod view;
mod wire;

pub use extension::{ExtensionError, ExtensionMethods, ExtensionNameError};
pub use options::{
    AcpOptions, AgentFactory, AgentInfo, LoadSession, Loading, McpServer, McpTransport, NewSession, OpenError,
    SessionSetup,
};
pub use peer::{Failure, Peer, PeerConfig, PeerLimits, PeerProgram, Probe, probe};
pub use serve::{ExitReason, ExitReport, serve};
pub use settings::{
    CloseGrace, FileTimeout, ImageBytes, LineLimit, MaxSessions, OutboxBytes, ProgressConfig, SettingError,
    StallTimeout,
};
