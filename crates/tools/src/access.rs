//! What a call would do beyond its agent, in its tool's own words.

use std::path::PathBuf;

/// What a call would do to the world. Policies decide what follows from it, and a user who is asked is told so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Nothing that anybody needs to be asked about.
    #[default]
    Harmless,
    /// Looks at these places.
    Read(Vec<AccessPath>),
    /// Changes these places.
    Edit(Vec<AccessPath>),
    /// Runs a command.
    Execute(AccessCommand),
    /// Sends a request to this URL.
    Fetch {
        /// The URL, as the call has it.
        url: String,
    },
    /// Runs this script, which may start work of its own.
    Script(AccessScript),
    /// Something of which nothing is known, such as the tool of another program.
    Other,
}

/// A place that a call looks at or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPath {
    /// The absolute path without links, as far as it can be told.
    pub path: PathBuf,
    /// The path as the call has it.
    pub shown: String,
    /// Whether it lies in the session's folder or its additional directories.
    pub is_inside: bool,
    /// Why it needs a question even where others of its kind do not, such as a file that other programs run.
    pub caution: Option<String>,
}

/// A script that a call runs. A call whose script is another one when it starts is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessScript {
    /// What it is called.
    pub name: String,
    /// What it says of itself, a paragraph each.
    pub about: Vec<String>,
    /// Its text.
    pub text: String,
    /// What stands for exactly this text in a rule; empty if no rule can be about it.
    pub digest: String,
}

/// A command that a call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessCommand {
    /// The command, as the call has it.
    pub text: String,
    /// The simple commands that it is made of, each a program and its arguments, if all of them can be told from the
    /// text alone; absent for a command that computes what it runs.
    pub parts: Option<Vec<Vec<String>>>,
    /// Why it needs a question even where others of its kind do not.
    pub caution: Option<String>,
}

impl Access {
    /// Whether it carries a risk by itself: all but looking at places in the session's folders does.
    pub fn is_risky(&self) -> bool {
        match self {
            Self::Harmless => false,
            Self::Read(places) => places.iter().any(|place| !place.is_inside || place.caution.is_some()),
            Self::Edit(_) | Self::Execute(_) | Self::Fetch { .. } | Self::Script(_) | Self::Other => true,
        }
    }

    /// Why it needs a question even where others of its kind do not: the first reason, if there is any.
    pub fn caution(&self) -> Option<&str> {
        match self {
            Self::Read(places) | Self::Edit(places) => places.iter().find_map(|place| place.caution.as_deref()),
            Self::Execute(command) => command.caution.as_deref(),
            Self::Harmless | Self::Fetch { .. } | Self::Script(_) | Self::Other => None,
        }
    }
}
