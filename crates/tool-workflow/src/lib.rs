//! The workflow tool: capture, progress producer, recorder.
