//! What stands between the bytes of stdin and the protocol: lines, frames, and the thread that reads them.
//!
//! One thread owns the input. It cuts lines ([`mod@line`]), turns each into an [`Inbound`] ([`frame`]) and hands
//! them over through a bounded channel, so that a burst of the client waits in the pipe and not in memory.
//! Parsing happens on that thread: a line of many megabytes delays nobody but its sender.

mod frame;
mod head;
mod line;
mod reader;
mod surrogate;

pub(crate) use frame::{Inbound, Refusal, read_frame, read_too_long};
pub(crate) use line::HEAD_BYTES;
pub(crate) use reader::{Input, spawn_reader};
