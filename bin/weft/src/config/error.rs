//! What is wrong with a configuration, precisely enough to mend it.

use std::path::{Path, PathBuf};

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// A file exists but cannot be read.
    #[error("failed to read {path}: {error}")]
    Read { path: PathBuf, error: std::io::Error },
    /// A place in a file is wrong.
    #[error("{path}:{line}:{column}: {message}")]
    Place {
        path: PathBuf,
        line: usize,
        column: usize,
        message: String,
    },
    /// A flag or an environment variable is wrong.
    #[error("{origin}: found \"{found}\", expected {expected}")]
    Override {
        origin: String,
        found: String,
        expected: String,
    },
    /// No folder could be found for the configuration.
    #[error("found no folder for the configuration: {0}; set WEFT_HOME to one")]
    NoHome(String),
}

/// One file while it is read: turns byte offsets into places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    /// An error at a byte offset of the file.
    pub(crate) fn error(&self, offset: usize, message: impl Into<String>) -> ConfigError {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ConfigError::Place {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }

    /// An error where the text is not even TOML.
    pub(crate) fn syntax(&self, error: &toml::de::Error) -> ConfigError {
        self.error(error.span().map_or(0, |span| span.start), error.message())
    }
}
