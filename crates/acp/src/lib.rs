//! The ACP bridge: the only crate that knows the Agent Client Protocol.

mod extension;
mod sdk;
mod settings;
mod transport;

pub use extension::{ExtensionError, ExtensionMethods, ExtensionNameError};
pub use settings::{CloseGrace, LineLimit, MaxSessions, OutboxBytes, ProgressConfig, SettingError};
