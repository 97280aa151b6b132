//! Agents with a scripted model and real tools, seen through their sessions.

mod agent_tool;
mod cancel;
mod close;
mod commands;
mod compaction;
mod failures;
mod history;
mod kept_tools;
mod nesting;
mod ongoing;
mod permissions;
mod providers;
mod races;
mod retries;
mod stored;
mod structured;
mod subagents;
mod support;
mod titles;
mod trust;
mod turns;
