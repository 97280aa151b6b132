//! Built-in coding tools.
