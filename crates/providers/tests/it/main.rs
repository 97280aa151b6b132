//! The adapters against an endpoint on loopback.

mod anthropic;
mod openai_chat;
mod openai_responses;
mod server;
mod support;
