//! The tool in a real registry and with a real session, on an engine that a test drives.

mod call;
mod cold;
mod failures;
mod limits;
mod many;
mod members;
mod order;
mod progress;
mod record;
mod release;
mod resume;
mod support;
