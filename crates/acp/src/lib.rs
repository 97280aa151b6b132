//! The ACP bridge: the only crate that knows the Agent Client Protocol.

mod extension;
mod outbox;
mod projector;
mod sdk;
mod settings;
mod transport;
mod wire;

pub use extension::{ExtensionError, ExtensionMethods, ExtensionNameError};
pub use settings::{CloseGrace, LineLimit, MaxSessions, OutboxBytes, ProgressConfig, SettingError};
