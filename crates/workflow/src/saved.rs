//! Workflows that are kept under names.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// A place where workflows are kept under names, such as a folder of files. It is asked anew each time: what is in it may
/// change while it is used. All methods may block on the disk.
pub trait SavedWorkflows: Send + Sync {
    /// All of them, by name.
    fn list(&self) -> Vec<SavedWorkflow>;

    /// The script under a name, as it is now.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be read.
    fn script(&self, name: &str) -> Result<String, SavedWorkflowError>;
}

/// What a list says of a saved workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedWorkflow {
    /// The name that it is kept under.
    pub name: String,
    /// What it says of itself, in one line.
    pub description: String,
}

/// Why a saved workflow cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedWorkflowError {
    /// Nothing is kept under the name.
    #[error("there is no saved workflow {name:?}; {}", known_names(known))]
    Unknown {
        /// The name, cut to what can be shown.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// It is there, but cannot be read, or must not be.
    #[error("the saved workflow {name:?} cannot be used: {reason}")]
    Unusable {
        /// The name.
        name: String,
        /// Why.
        reason: String,
    },
}

/// How many names an error lists.
const MAX_NAMES: usize = 30;

fn known_names(known: &[String]) -> String {
    match known {
        [] => "there are none".to_owned(),
        _ => {
            let listed: Vec<_> = known.iter().take(MAX_NAMES).map(String::as_str).collect();
            let more = match known.len() - listed.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("there are {}{more}", listed.join(", "))
        }
    }
}

impl SavedWorkflowError {
    /// Nothing is kept under `name`; these are the names that there are.
    pub fn unknown(name: &str, known: impl IntoIterator<Item = String>) -> Self {
        Self::Unknown {
            name: name.chars().take(80).collect(),
            known: known.into_iter().collect(),
        }
    }
}

/// What stands for exactly this script where somebody said yes to it: `sha256:` and 64 hexadecimal digits.
pub fn script_digest(script: &str) -> String {
    let digest = Sha256::digest(script.as_bytes());
    digest.iter().fold("sha256:".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_the_text_alone() {
        // The published digest of the empty text.
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(script_digest(""), empty);
        assert_ne!(script_digest("return 1"), script_digest("return 1 "));
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_that_there_are() {
        let error = |known: usize| SavedWorkflowError::unknown("x", (0..known).map(|n| format!("w{n}"))).to_string();
        assert_eq!(error(0), "there is no saved workflow \"x\"; there are none");
        assert_eq!(error(2), "there is no saved workflow \"x\"; there are w0, w1");
        assert!(error(32).ends_with("w28, w29 and 2 more"));
    }
}
