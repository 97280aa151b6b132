//! The append-only session log.
//!
//! [`Session`] is the log: it numbers events, refuses those that break an [`Invariant`], hands them to
//! its [`EventSink`] and publishes them, in order, to its observers. [`SessionUpdate`] is what they
//! see: durable events, and between them transient [`Delta`]s of an answer that is still streaming.
//!
//! It knows nothing of agents, tools or protocols.
