//! Whether a project's own settings may run something or widen what runs without a question.
//!
//! [`Powers`] are the settings of a project's `.weft/config.toml` that [need trust](needs_trust), in a form that can be
//! compared and shown. [`Trust`] remembers in the user's own folder what the user said yes to, word for word, so that a
//! project which sets anything else asks again. Only the user can say it: with `weft trust`, or in a session with `/trust`; nothing
//! that an agent started is taken for the user.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::de::DeValue;

use crate::terminal::{clip, one_line};

mod asked;
mod command;
mod file;
#[cfg(test)]
mod tests;

pub(crate) use command::TrustCommand;
pub(crate) use file::{TrustError, Trusted};

/// The keys of a project's file that count only once the user trusts them, with all that stands below them: what runs
/// programs and what lets tools run without a question.
const NEEDS_TRUST: &[&str] = &["mcp", "permissions.allow"];

/// Whether a key of a project's file needs trust.
pub(crate) fn needs_trust(key: &str) -> bool {
    NEEDS_TRUST.contains(&key)
}

/// Settings that need trust, a line for each value: `mcp.db.command = "npx"`. Two files that set the same have the same
/// lines, however they write it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Powers {
    lines: BTreeSet<String>,
}

impl Powers {
    /// Adds a setting with all that stands below it.
    pub(crate) fn add(&mut self, key: &str, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) if !table.is_empty() => {
                for (name, value) in table {
                    self.add(&format!("{key}.{}", bare(name.get_ref())), value.get_ref());
                }
            }
            value => {
                self.lines.insert(format!("{key} = {}", as_json(value)));
            }
        }
    }

    /// Adds a workflow that the project brings along, by its path in the project and what stands for its text.
    pub(crate) fn add_workflow(&mut self, path: &str, digest: &str) {
        self.lines.insert(workflow_line(path, digest));
    }

    /// Whether all of these are among `said`, and of the other settings neither has more than the other. Each workflow
    /// stands for itself: that one was changed takes no trust from the rest.
    fn are_covered_by(&self, said: &Self) -> bool {
        let settings = |powers: &Self| -> Vec<String> {
            let lines = powers.lines.iter().filter(|line| !is_workflow(line));
            lines.cloned().collect()
        };
        self.lines.is_subset(&said.lines) && settings(self) == settings(said)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The settings, in order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }
}

impl FromIterator<String> for Powers {
    fn from_iter<I: IntoIterator<Item = String>>(lines: I) -> Self {
        Self {
            lines: lines.into_iter().collect(),
        }
    }
}

/// What the line of a workflow begins with.
const WORKFLOWS: &str = "workflows.";

/// The line of a workflow.
fn workflow_line(path: &str, digest: &str) -> String {
    format!("{WORKFLOWS}{} = {}", bare(path), Value::from(digest))
}

fn is_workflow(line: &str) -> bool {
    line.starts_with(WORKFLOWS)
}

/// A part of a key as TOML writes it.
fn bare(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(is_bare) {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}

/// A value in one writing.
fn as_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(truth) => Value::from(*truth),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_large| Value::from(number.to_string()), Value::from),
        DeValue::Float(number) => Value::from(number.as_str()),
        DeValue::Datetime(time) => Value::from(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| as_json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let mut entries: Vec<_> = table
                .iter()
                .map(|(name, value)| (name.get_ref().to_string(), as_json(value.get_ref())))
                .collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(entries.into_iter().collect())
        }
    }
}

/// What of a project's file counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum TrustState {
    /// All of it: it sets nothing that needs trust.
    #[default]
    NotNeeded,
    /// All of it: the user said yes to exactly this.
    Trusted,
    /// What needs no trust: the user was not asked yet.
    Untrusted(Powers),
    /// What needs no trust: the user said yes to something else.
    Changed(Powers),
    /// What needs no trust: it cannot be told what the user said, for this reason.
    Unknown {
        /// What is left aside.
        powers: Powers,
        /// Why.
        reason: String,
    },
}

/// How many settings a notice names, and how wide it shows each.
const SHOWN: usize = 8;
const SHOWN_COLUMNS: usize = 160;

impl TrustState {
    /// What is left aside.
    pub(crate) fn ignored(&self) -> Option<&Powers> {
        match self {
            Self::NotNeeded | Self::Trusted => None,
            Self::Untrusted(powers) | Self::Changed(powers) | Self::Unknown { powers, .. } => Some(powers),
        }
    }

    /// What the user is told of it, for the project in `cwd`; nothing if all of the file counts.
    pub(crate) fn notice(&self, cwd: &Path) -> Option<String> {
        let powers = self.ignored()?;
        let why = match self {
            Self::Unknown { reason, .. } => format!("it cannot be told whether you trust it ({reason})"),
            Self::Changed(_) => "it is not what you trusted".to_owned(),
            _ => "you have not said yet that you trust it".to_owned(),
        };
        let mut text = format!("This project's .weft/config.toml sets what may run something, and {why}. Left aside:");
        for line in powers.lines().take(SHOWN) {
            // Writing to a String cannot fail.
            let _infallible = write!(text, "\n  {}", clip(&one_line(line), SHOWN_COLUMNS));
        }
        let more = powers.lines().count().saturating_sub(SHOWN);
        if more > 0 {
            let _infallible = write!(text, "\n  … {more} more");
        }
        let _infallible = write!(
            text,
            "\nhint: weft trust {} (or /trust in a conversation) shows all of it and asks; it counts from the next session on",
            one_line(&shell_word(&cwd.to_string_lossy()))
        );
        Some(text)
    }
}

/// A path as a shell takes it.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@%:,".contains(letter);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// What the user said of projects, in the file `trust.json` of the user's own folder. By default, nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    file: Option<PathBuf>,
}

impl Trust {
    /// What stands in the folder `home`.
    pub(crate) fn below(home: &Path) -> Self {
        Self {
            file: Some(home.join("trust.json")),
        }
    }

    /// What of a project's file counts that sets `powers`. Blocks on the disk if there are any.
    pub(crate) fn of(&self, cwd: &Path, powers: &Powers) -> TrustState {
        if powers.is_empty() {
            return TrustState::NotNeeded;
        }
        let said = match &self.file {
            Some(file) => project_key(cwd).and_then(|key| Ok(file::read(file)?.remove(&key))),
            None => Ok(None),
        };
        match said {
            Ok(Some(said)) if powers.are_covered_by(&said.powers()) => TrustState::Trusted,
            // What was said of workflows says nothing of settings.
            Ok(Some(said)) if said.powers().lines().all(is_workflow) => TrustState::Untrusted(powers.clone()),
            Ok(Some(_)) => TrustState::Changed(powers.clone()),
            Ok(None) => TrustState::Untrusted(powers.clone()),
            Err(error) => TrustState::Unknown {
                powers: powers.clone(),
                reason: error.to_string(),
            },
        }
    }

    /// Whether what this process says can be the user's word.
    ///
    /// # Errors
    /// It works for an agent, which says nothing in the user's name.
    pub(crate) fn check_asked() -> Result<(), TrustError> {
        match asked::works_for_agent() {
            None => Ok(()),
            Some(sign) => Err(TrustError::NotTheUser { sign }),
        }
    }

    /// Whether the user trusts a workflow of the project in `cwd`, by its path there and its digest. Blocks on the disk.
    ///
    /// # Errors
    /// It cannot be told.
    pub(crate) fn has_workflow(&self, cwd: &Path, path: &str, digest: &str) -> Result<bool, TrustError> {
        let Some(file) = &self.file else { return Ok(false) };
        let said = file::read(file)?.remove(&project_key(cwd)?);
        let line = workflow_line(path, digest);
        Ok(said.is_some_and(|said| said.powers().lines().any(|said| said == line)))
    }

    /// Remembers that the user said yes to `powers` of the project in `cwd`, in place of what was said of it before.
    ///
    /// # Errors
    /// It is [not the user](Self::check_asked) who says so, or it cannot be written down.
    pub(crate) fn grant(&self, cwd: &Path, powers: &Powers) -> Result<(), TrustError> {
        Self::check_asked()?;
        let key = project_key(cwd)?;
        file::change(self.path(), |projects| {
            projects.insert(key, Trusted::new(powers));
        })
    }

    /// Forgets what was said of the project in `cwd`, and tells whether there was anything.
    pub(crate) fn revoke(&self, cwd: &Path) -> Result<bool, TrustError> {
        // A folder that is gone is known by the name that it had.
        let key = project_key(cwd).unwrap_or_else(|_| cwd.to_string_lossy().into_owned());
        let mut was_there = false;
        file::change(self.path(), |projects| was_there = projects.remove(&key).is_some())?;
        Ok(was_there)
    }

    /// Every project that the user trusts, by its folder.
    pub(crate) fn list(&self) -> Result<Vec<(String, Powers)>, TrustError> {
        let projects = file::read(self.path())?;
        Ok(projects
            .into_iter()
            .map(|(folder, said)| (folder, said.powers()))
            .collect())
    }

    fn path(&self) -> &Path {
        self.file.as_deref().unwrap_or_else(|| Path::new("trust.json"))
    }
}

/// By what name a project is known: its folder, wherever links lead.
fn project_key(cwd: &Path) -> Result<String, TrustError> {
    let folder = cwd.canonicalize().map_err(|source| TrustError::Io {
        attempt: "find the folder",
        path: cwd.to_owned(),
        source,
    })?;
    folder
        .to_str()
        .map(str::to_owned)
        .ok_or(TrustError::NotText { path: folder })
}
