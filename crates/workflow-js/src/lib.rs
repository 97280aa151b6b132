//! The workflow engine: JavaScript in a worker process.
