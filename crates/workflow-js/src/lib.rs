//! The workflow engine: JavaScript in an isolated worker process.
//!
//! [`JsEngine`] is the host's side: it checks a script, starts one worker process per run, starts the members that
//! the script asks for, and tells what happens as observations. [`run_worker`] is the worker's side, the whole of
//! what the hidden `worker` command does. Between them go length-prefixed JSON frames over the worker's stdin and
//! stdout.
//!
//! A worker is not trusted: it may spin, exhaust its memory, crash or send nonsense, and only its run fails. The
//! host alone decides how a run ends.

mod config;
mod frames;
mod host;
mod literal;
mod protocol;
mod rejection;
mod sandbox;
mod script;
mod text;
mod worker;

pub use config::{ConfigError, EngineConfig, WorkerCommand};
pub use host::{JsEngine, read_meta};
pub use sandbox::{SandboxLevel, SandboxMode, SandboxReport};
pub use worker::run_worker;
#[cfg(feature = "escape")]
pub use worker::run_worker_that_escapes;
