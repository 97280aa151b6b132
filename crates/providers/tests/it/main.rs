//! The adapters against an endpoint on loopback.

mod anthropic;
mod openai_chat;
mod server;
mod support;
