//! What an agent can look up: the texts behind its commands, and what is to be known of places.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;

/// Where an agent looks up texts. Whoever makes the agent knows where they are kept.
pub trait Library: Send + Sync {
    /// What the model is told when a user starts a prompt with the command `name`, one of
    /// [`AgentOptions::commands`](crate::AgentOptions::commands), and `text` behind it, which it is told as well.
    ///
    /// # Errors
    /// Why there is nothing to tell it; the turn ends with that, and no model is asked.
    fn expand(&self, name: &str, text: &str) -> BoxFuture<'static, Result<String, String>>;

    /// What is to be known where these absolute paths lie, the outermost folder first. It is asked after every step that
    /// looked at places or changed them, and gives everything each time: what the model knows already is not repeated.
    fn notes(&self, places: Vec<PathBuf>) -> BoxFuture<'static, Vec<Note>>;

    /// What is to be told of the session's state beside what the agent knows, a line each. Never waits.
    fn status(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A text that belongs to a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is and where it comes from, one line, the same whenever it is given.
    pub title: String,
    /// The text.
    pub text: String,
}

/// The [extension](weft_tools::Extensions) by which an agent and its subagents are lent a library.
#[derive(Clone)]
pub struct LibraryHandle(pub Arc<dyn Library>);

impl fmt::Debug for LibraryHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryHandle").finish_non_exhaustive()
    }
}
