//! The tool in a real registry and with a real session, on an engine that a test drives.

mod call;
mod many;
mod members;
mod progress;
mod record;
mod release;
mod support;
