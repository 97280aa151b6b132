//! A model that answers from a script, for tests, scenarios and the demo.
//!
//! [`ScriptedModel`] is loaded from a `model.toml`. A reply is found by what is asked, never by the
//! order of the requests, so agents that run side by side get the same replies in every run. Of the
//! replies that fit a request and are not used up, the one with the most keys answers; two with equally
//! many keys are an error. [`ScriptReport`] tells afterwards what did not go as the script says.

mod error;
mod gates;
mod parse;
mod play;
mod script;
mod select;
mod source;
mod template;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub use error::ScriptError;
use gates::Gates;
use select::Selector;
use source::Source;

use crate::{Model, ModelRequest, ModelStream};

/// A model that answers from a script.
///
/// Clones share everything: gates, uses and the report. Safe to use from any number of agents at once.
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    script: Arc<Script>,
}

#[derive(Debug)]
struct Script {
    selector: Selector,
    gates: Gates,
}

/// What did not go as a script says. Each entry is one line for people, with the place in the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptReport {
    /// Replies that were used less often than their `times` says; those for any number of times, if never.
    pub unused: Vec<String>,
    /// Requests that no reply answers, or several equally well, or whose placeholders found nothing; the
    /// first hundred.
    pub unknown: Vec<String>,
    /// Gates that no request reached, or that nobody opened or waited for.
    pub unmatched_gates: Vec<String>,
}

impl ScriptReport {
    /// Whether everything went as the script says.
    pub fn is_clean(&self) -> bool {
        self.unused.is_empty() && self.unknown.is_empty() && self.unmatched_gates.is_empty()
    }
}

impl ScriptedModel {
    /// Reads a script and the files it refers to, which stand beside it.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with the script, with its file, line, key, what was found and what
    /// was expected.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path).map_err(|source| ScriptError::Read {
            path: path.to_owned(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::from_parts(path, &text, |file| std::fs::read_to_string(folder.join(file)))
    }

    /// Reads a script from a text; the files it refers to are in `base_dir`.
    ///
    /// # Errors
    ///
    /// As [`Self::load`]; the script is called `model.toml` in them.
    pub fn from_toml(text: &str, base_dir: &Path) -> Result<Self, ScriptError> {
        Self::from_parts(&base_dir.join("model.toml"), text, |file| {
            std::fs::read_to_string(base_dir.join(file))
        })
    }

    /// Reads a script from a text; `read` gives the files it refers to by the names it gives them.
    ///
    /// # Errors
    ///
    /// As [`Self::load`]; `path` is only what the script is called in them.
    pub fn from_parts(path: &Path, text: &str, read: impl Fn(&str) -> io::Result<String>) -> Result<Self, ScriptError> {
        let replies = parse::parse(Source {
            path,
            text,
            read: &read,
        })?;
        let names = replies
            .iter()
            .flat_map(|reply| [&reply.gate, &reply.gate_after])
            .flatten()
            .cloned();
        let gates = Gates::new(names);
        Ok(Self {
            script: Arc::new(Script {
                selector: Selector::new(replies),
                gates,
            }),
        })
    }

    /// Opens a gate for good: replies held at it go on, later ones pass.
    ///
    /// # Errors
    ///
    /// [`ScriptError::UnknownGate`] when no reply has such a gate.
    pub fn open_gate(&self, name: &str) -> Result<(), ScriptError> {
        self.script.gates.open(name)
    }

    /// Waits until a reply is held at a gate, or has passed it.
    ///
    /// # Errors
    ///
    /// [`ScriptError::UnknownGate`], at once, when no reply has such a gate.
    pub async fn wait_gate(&self, name: &str) -> Result<(), ScriptError> {
        self.wait_gate_arrivals(name, 1).await
    }

    /// Waits until `count` replies are held at a gate or have passed it; those dropped while they were
    /// held do not count.
    ///
    /// # Errors
    ///
    /// As [`Self::wait_gate`].
    pub async fn wait_gate_arrivals(&self, name: &str, count: usize) -> Result<(), ScriptError> {
        self.script.gates.arrivals(name, count).await
    }

    /// What has not gone as the script says up to now.
    pub fn report(&self) -> ScriptReport {
        ScriptReport {
            unused: self.script.selector.unused(),
            unknown: self.script.selector.unknown(),
            unmatched_gates: self.script.gates.unmatched(),
        }
    }
}

impl Model for ScriptedModel {
    /// Answers as the script says. A reply counts as used from the first poll on, even if the stream is
    /// dropped right after.
    fn stream(&self, request: ModelRequest) -> ModelStream {
        play::stream(Arc::clone(&self.script), request)
    }
}
