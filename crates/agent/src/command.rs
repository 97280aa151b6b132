//! Slash commands.

/// What a user can start a prompt with: `/name`, and perhaps more behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its name, without the slash.
    pub name: String,
    /// What it does, one sentence.
    pub description: String,
    /// What stands behind the name, such as `what to keep`; absent if nothing does.
    pub hint: Option<String>,
}
