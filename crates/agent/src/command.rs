//! Slash commands: what a user can start a prompt with.

use weft_types::{ContentBlock, text_of};

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

const COMPACT: &str = "compact";
const STATUS: &str = "status";
const TRUST: &str = "trust";

/// What a prompt starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    /// The conversation is summed up; the text says what to keep.
    Compact(String),
    /// The state of the session is told.
    Status,
    /// The user is asked whether the project's settings are trusted.
    Trust,
    /// A command of the agent's library.
    Library {
        /// Its name.
        name: String,
        /// What stands behind it.
        text: String,
    },
    /// The model is asked.
    Turn,
}

/// The commands that every user's agent answers by itself.
pub(crate) fn own_commands() -> Vec<Command> {
    vec![
        Command {
            name: COMPACT.to_owned(),
            description: "Sum up the conversation so far to make room for more.".to_owned(),
            hint: Some("what to keep".to_owned()),
        },
        Command {
            name: STATUS.to_owned(),
            description: "Show the model, the mode, how full the context is and what was spent.".to_owned(),
            hint: None,
        },
    ]
}

/// The command of an agent that works in a [project](crate::ProjectTrust) whose settings may need trust.
pub(crate) fn trust_command() -> Command {
    Command {
        name: TRUST.to_owned(),
        description: "Show what this project's own settings want to run or allow, and ask whether they may.".to_owned(),
        hint: None,
    }
}

/// What a prompt starts, where the agent knows `commands` beside its own. A name that it does not know is
/// ordinary text.
pub(crate) fn started(content: &[ContentBlock], commands: &[Command]) -> Started {
    let text = text_of(content);
    let Some((name, rest)) = parts(&text) else {
        return Started::Turn;
    };
    match name {
        COMPACT => Started::Compact(rest.to_owned()),
        STATUS if rest.is_empty() => Started::Status,
        TRUST if rest.is_empty() => Started::Trust,
        _ if commands.iter().any(|command| command.name == name) => Started::Library {
            name: name.to_owned(),
            text: rest.to_owned(),
        },
        _ => Started::Turn,
    }
}

/// Whether a prompt looks like one that a user's agent answers by itself.
pub(crate) fn is_own_command(content: &[ContentBlock]) -> bool {
    matches!(
        started(content, &[]),
        Started::Compact(_) | Started::Status | Started::Trust
    )
}

/// The name behind the slash, and what stands behind that.
fn parts(text: &str) -> Option<(&str, &str)> {
    let text = text.trim().strip_prefix('/')?;
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Some((name, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prompt: &str, expected: &str) {
        let known = [Command {
            name: "review".to_owned(),
            description: String::new(),
            hint: None,
        }];
        let found = match started(&[ContentBlock::text(prompt)], &known) {
            Started::Compact(focus) => format!("compact {focus:?}"),
            Started::Status => "status".to_owned(),
            Started::Trust => "trust".to_owned(),
            Started::Library { name, text } => format!("{name} {text:?}"),
            Started::Turn => "turn".to_owned(),
        };
        assert_eq!(found, expected, "{prompt:?}");
    }

    #[test]
    fn a_known_name_behind_a_slash_starts_its_command_and_all_else_is_text() {
        check("/compact", "compact \"\"");
        check("  /compact\nthe plan\nand more ", "compact \"the plan\\nand more\"");
        check("/status ", "status");
        check("/status of the build?", "turn");
        check("/trust", "trust");
        check("/trust me", "turn");
        check("/review src/a.rs", "review \"src/a.rs\"");
        check("/reviewer", "turn");
        check("/", "turn");
        check("/etc/hosts is wrong", "turn");
        check("see /compact", "turn");
    }

    #[test]
    fn a_prompt_in_several_blocks_is_one_text() {
        let blocks = ["/comp", "act all"].map(ContentBlock::text);
        assert_eq!(started(&blocks, &[]), Started::Compact("all".to_owned()));
    }
}
