//! The ACP bridge.
