//! A scenario: a folder with a client's script, a model's script and the files a session starts with.

mod script;
mod step;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

pub(crate) use script::Script;
pub(crate) use step::{
    Action, Await, ExpectError, ListSessions, NewSession, OpenFile, Prompt, Request, Restart, SetOption, Signal,
    SignalName, SignalTarget, WaitUpdate, WriteFile,
};

/// A scenario that cannot be played because of how it is written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// A file of it cannot be read.
    #[error("could not read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of it says something that is not allowed there.
    #[error("{}:{line}: {message}", path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was found and what was expected.
        message: String,
    },
}

impl ScenarioError {
    fn from_toml(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        Self::Place {
            path: path.to_owned(),
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            message: error.message().replace('\n', ", "),
        }
    }
}

/// The line of a byte offset, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or(text).matches('\n').count() + 1
}

/// A scenario as its folder describes it.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// The folder's name.
    pub(crate) name: String,
    /// The folder, absolute.
    pub(crate) dir: PathBuf,
    pub(crate) script: Script,
    /// What `config.toml` sets beyond the generated configuration; empty without one.
    pub(crate) config: toml::Table,
}

impl Scenario {
    /// Reads a scenario's folder. The model's script is only looked for; it is the agent's to read.
    pub(crate) fn load(dir: &Path) -> Result<Self, ScenarioError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ScenarioError::Read { path, source }
        };
        let dir = dir.canonicalize().map_err(failed(dir))?;
        let model = dir.join("model.toml");
        std::fs::metadata(&model).map_err(failed(&model))?;
        let client = dir.join("client.toml");
        let text = std::fs::read_to_string(&client).map_err(failed(&client))?;
        let script = Script::parse(&client, &text)?;
        let config = dir.join("config.toml");
        let config = match std::fs::read_to_string(&config) {
            Ok(text) => text
                .parse()
                .map_err(|error| ScenarioError::from_toml(&config, &text, &error))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => toml::Table::new(),
            Err(error) => return Err(failed(&config)(error)),
        };
        Ok(Self {
            name: dir.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            dir,
            script,
            config,
        })
    }
}
