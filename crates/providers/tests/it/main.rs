//! The adapters against an endpoint on loopback.

mod anthropic;
mod faults;
mod keys;
mod openai_chat;
mod openai_responses;
mod server;
mod support;
