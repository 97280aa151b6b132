//! Agents with a scripted model and real tools, seen through their sessions.

mod cancel;
mod close;
mod failures;
mod history;
mod permissions;
mod retries;
mod structured;
mod subagents;
mod support;
mod turns;
