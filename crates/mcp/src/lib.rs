//! MCP servers as tools.
//!
//! [`Servers::start`] starts the servers of one session side by side, within their deadlines, and gives what came of
//! it: a [`Tool`](weft_tools::Tool) for each thing they offer, what they want a model to know, and one notice for each
//! server that failed. A server that dies later fails the calls under way and is started again by the next one.
//! [`probe()`] tries one server and tells what it offers or what to mend.
//!
//! A server is a process that speaks on its stdin and stdout ([`Transport::Stdio`]) or an endpoint of the streamable
//! HTTP transport ([`Transport::Http`]). A process leads a group of its own, has pipes of its own, and gets the
//! environment that the caller gives and nothing else; its group ends with [`Servers::close`], with a drop of
//! [`Servers`], and with the death of this process.
//!
//! What a server says is data of a stranger: names are made fit for models, texts are bounded, hints of its tools
//! decide nothing about what needs a question, and it is asked for tools only. The crate knows tools and processes; it
//! knows nothing of editors, sessions or workflows.

mod call;
mod config;
mod connection;
mod content;
mod failure;
mod handler;
mod http;
mod listing;
mod names;
mod probe;
mod progress;
mod server;
mod servers;
mod tool;

pub use config::{McpLimits, ServerConfig, ServerContext, ToolFilter, Transport};
pub use failure::Failure;
pub use probe::{Probe, probe};
pub use servers::{Servers, Started};
