//! How a tool wants a call and its result to be seen.
//!
//! Views are pure functions of the arguments and the result, so that a live display and the replay of a
//! log agree. A bridge turns them into its client's cards and never looks at a tool's name.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weft_types::ContentBlock;

/// A pending call, as its card shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum CallView {
    /// A card without a form of its own.
    Generic {
        /// The card's title.
        title: String,
        /// What the call does, for the card's icon.
        kind: ToolKind,
        /// The input to show, if any.
        raw_input: Option<Value>,
        /// Content that stands in the card from the start.
        content: Vec<ContentBlock>,
        /// The places it works on.
        locations: Vec<Location>,
    },
    /// A command and, later, its output.
    Terminal {
        /// The command.
        title: String,
        /// What it is for.
        description: Option<String>,
        /// The folder it runs in; relative to the session's, which it is when absent.
        cwd: Option<String>,
    },
    /// Changes of files.
    Diff {
        /// The card's title.
        title: String,
        /// One entry for each file.
        diffs: Vec<FileDiff>,
        /// The places it works on.
        locations: Vec<Location>,
    },
}

impl CallView {
    /// The card's title.
    pub fn title(&self) -> &str {
        match self {
            Self::Generic { title, .. } | Self::Terminal { title, .. } | Self::Diff { title, .. } => title,
        }
    }
}

/// A finished call, as its card shows it. What is absent stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultView {
    /// A card without a form of its own.
    Generic {
        /// A title instead of the call's.
        title: Option<String>,
        /// Content instead of the raw result; absent means the raw result.
        content: Option<Vec<ContentBlock>>,
    },
    /// The end of a command.
    Terminal {
        /// A title instead of the call's.
        title: Option<String>,
        /// What it printed.
        output: Option<String>,
        /// How it ended.
        exit: Option<ExitStatus>,
    },
    /// Changes of files.
    Diff {
        /// A title instead of the call's.
        title: Option<String>,
        /// One entry for each file.
        diffs: Vec<FileDiff>,
    },
}

/// One task of a plan, as a client shows it beside the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// How much it matters.
    #[serde(default)]
    pub priority: PlanPriority,
    /// How far it is.
    pub status: PlanStatus,
}

/// How much a task matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanPriority {
    /// More than the others.
    High,
    /// As much as the others.
    #[default]
    Medium,
    /// Less than the others.
    Low,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

/// What a call does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Deletes files.
    Delete,
    /// Moves files.
    Move,
    /// Searches.
    Search,
    /// Runs commands or programs.
    Execute,
    /// Fetches from elsewhere.
    Fetch,
    /// Thinks or plans.
    Think,
    /// Anything else.
    #[default]
    Other,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, as the tool names it.
    pub path: String,
    /// The line, from 1.
    pub line: Option<u32>,
}

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// The file, as the tool names it.
    pub path: String,
    /// The text before; absent for a file that did not exist.
    pub old_text: Option<String>,
    /// The text after.
    pub new_text: String,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// It returned this exit code.
    Code(i32),
    /// This signal killed it.
    Signal(String),
}

/// What a result's presenter is given besides the arguments: what a log holds of the result.
#[derive(Clone, Copy, Debug)]
pub struct ResultForView<'a> {
    /// What the model gets.
    pub content: &'a [ContentBlock],
    /// Whether the call failed.
    pub is_error: bool,
    /// What [`Tool::presentation_meta`](crate::Tool::presentation_meta) said.
    pub meta: Option<&'a Value>,
}
