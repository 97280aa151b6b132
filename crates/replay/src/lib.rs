//! Drives a real agent over its wire, writes down what was said, and judges it.
//!
//! [`WireClient`] starts an agent, speaks JSON-RPC lines with it and records every line of both
//! directions as [`Row`]s. [`t_check`] finds what a transcript must never hold, and [`conversations`]
//! rebuilds what a client shows, so that what it showed live can be compared with what a load shows.
//! [`run_scenario`] plays a folder of `fixtures/` with all of it and compares the outcome, which
//! [`normalise()`] has freed from what differs between runs.
//!
//! The crate knows JSON lines, processes and files. Of agents, models, tools and workflows it knows
//! nothing; of the Agent Client Protocol it knows what a client must.

mod card;
mod check;
mod conversation;
mod normalise;
mod run;
mod scenario;
mod transcript;
mod wire;

pub use card::Card;
pub use check::{Rule, Violation, t_check};
pub use conversation::{Call, Conversation, Difference, Item, Speaker, Text, conversations};
pub use normalise::{Facts, Normalised, SessionLog, normalise};
pub use run::{Compare, Failure, Report, StepError, run_scenario};
pub use scenario::ScenarioError;
pub use transcript::{Direction, Exit, Row, TranscriptError, parse_transcript};
pub use wire::{
    Finished, Message, PermissionAnswer, RequestId, Response, RpcError, WireClient, WireCommand, WireError, WireLimits,
};
