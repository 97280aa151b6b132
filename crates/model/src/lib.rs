//! The model seam and the scripted model.
//!
//! [`Model`] answers a [`ModelRequest`] with a stream of [`ModelEvent`]s; [`Models`] finds the model a
//! session asked for, and [`ModelTable`] is the usual one. [`ScriptedModel`] answers from a file.
//! [`ModelError`] says what went wrong and whether another attempt may help; to make
//! that attempt is the caller's business.
//!
//! This crate knows no HTTP and no agents.

mod error;
mod messages;
mod models;
mod request;
mod scripted;

pub use error::{ModelError, ModelErrorKind};
pub use messages::Messages;
pub use models::{ModelInfo, ModelTable, Models, Prices, ResolvedModel};
pub use request::{AgentRole, Model, ModelEvent, ModelRequest, ModelStream, RequestOrigin};
pub use scripted::{ScriptError, ScriptReport, ScriptedModel};
