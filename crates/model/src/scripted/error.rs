//! What is wrong with a script.

use std::path::PathBuf;

use thiserror::Error;

/// A script that cannot be used, precisely enough to mend it.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// The script itself cannot be read.
    #[error("failed to read the script {path}")]
    Read {
        /// The script.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A place in the script is wrong.
    #[error("{path}:{line}:{column}: {message}")]
    Place {
        /// The script.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The key, what was found and what was expected.
        message: String,
    },
    /// A gate was named that no reply has.
    #[error("no reply has a gate \"{name}\", {known}")]
    UnknownGate {
        /// The name.
        name: String,
        /// Which gates there are.
        known: String,
    },
}
