//! Saved workflows: scripts in folders of the project and of the user, under their files' names.
//!
//! A project's script works with the user's rights, so that each counts only once the user trusts exactly its text: `weft
//! trust` asks. [`Workflows`] looks at the folders whenever it is asked, and nothing here ever writes there.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weft_agent::Command;
use weft_workflow::{SavedWorkflow, SavedWorkflowError, SavedWorkflows, WorkflowMeta, script_digest};
use weft_workflow_js::read_meta;

use crate::config::Config;
use crate::prompt::{FileText, Places, read_text};
use crate::trust::{Powers, Trust, shell_word};

#[cfg(test)]
mod tests;

/// Where workflows lie in a project's folders: weft's own, and those of the other agent whose scripts run here.
const PROJECT_FOLDERS: [&str; 2] = [".weft/workflows", ".claude/workflows"];
/// The same in the user's home, beside the folder in weft's own.
const USER_FOLDER: &str = ".claude/workflows";
/// What a workflow's file ends with.
const EXTENSION: &str = "js";
/// How many entries of one folder are looked at.
const MAX_ENTRIES: usize = 500;
/// The longest script that is read, in bytes: the most that `workflow.max_script_bytes` allows.
pub(crate) const MAX_BYTES: usize = 4 << 20;

/// Whose folder a workflow lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Project,
    User,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Project => "project",
            Self::User => "user",
        })
    }
}

/// A file in one of the folders.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) owner: Owner,
    pub(crate) standing: Standing,
}

/// What it counts for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    /// It can be run.
    Usable(WorkflowMeta),
    /// The user has not said yes to this text; it counts for nothing.
    Untrusted(WorkflowMeta),
    /// It is no workflow, for this reason.
    Broken(String),
    /// This file of the same name goes before it.
    Hidden(PathBuf),
}

/// The workflows that can be run in one folder.
#[derive(Clone, Debug)]
pub(crate) struct Workflows {
    cwd: PathBuf,
    root: PathBuf,
    /// The nearest first.
    folders: Vec<(PathBuf, Owner)>,
    trust: Trust,
}

impl Workflows {
    /// Those of a session that works in `cwd`, under its configuration.
    pub(crate) fn of(config: &Config, cwd: &Path) -> Self {
        Self::new(config.home(), std::env::home_dir().as_deref(), cwd, config.trust())
    }

    /// Those of the project in `cwd`, of the folders above it in the project, and of the user, whose own folder of settings
    /// is `home` and whose home is `user`.
    pub(crate) fn new(home: &Path, user: Option<&Path>, cwd: &Path, trust: &Trust) -> Self {
        let places = Places::find(home, cwd);
        let mut folders = project_folders(&places);
        let own = places.home.iter().map(|home| home.join("workflows"));
        let other = user.map(|user| user.join(USER_FOLDER));
        folders.extend(own.chain(other).map(|folder| (folder, Owner::User)));
        Self {
            root: places.root().to_owned(),
            cwd: cwd.to_owned(),
            folders,
            trust: trust.clone(),
        }
    }

    /// All files, in the order in which they go before one another, by name.
    pub(crate) fn all(&self) -> Vec<Found> {
        let mut all: Vec<Found> = Vec::new();
        let mut taken = BTreeMap::<String, PathBuf>::new();
        for (folder, owner) in &self.folders {
            for (name, path) in files_in(folder) {
                let standing = match taken.get(&name) {
                    Some(by) => Standing::Hidden(by.clone()),
                    None => self.judge(&path, *owner).0,
                };
                if matches!(standing, Standing::Usable(_) | Standing::Broken(_)) {
                    taken.insert(name.clone(), path.clone());
                }
                all.push(Found {
                    name,
                    path,
                    owner: *owner,
                    standing,
                });
            }
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// The file that counts for a name, with its text; an untrusted one if there is no other.
    pub(crate) fn find(&self, name: &str) -> Option<(Found, String)> {
        if !is_name(name) {
            return None;
        }
        let mut untrusted = None;
        for (folder, owner) in &self.folders {
            let path = folder.join(name).with_added_extension(EXTENSION);
            let (standing, Some(text)) = self.judge(&path, *owner) else {
                continue;
            };
            let found = Found {
                name: name.to_owned(),
                path,
                owner: *owner,
                standing,
            };
            if !matches!(found.standing, Standing::Untrusted(_)) {
                return Some((found, text));
            }
            untrusted.get_or_insert((found, text));
        }
        untrusted
    }

    /// A command for each that can be run.
    pub(crate) fn commands(&self) -> Vec<Command> {
        let usable = self.usable().map(|(name, meta)| Command {
            name,
            description: one_line(&meta.description),
            hint: Some("args: JSON or a text".to_owned()),
        });
        usable.collect()
    }

    /// What the model is told when the user starts one as a command, with `text` behind it.
    pub(crate) fn order(&self, name: &str, text: &str) -> Result<String, String> {
        self.script(name).map_err(|error| error.to_string())?;
        let mut arguments = json!({ "name": name });
        if let Some(args) = args_of(text) {
            arguments["args"] = args;
        }
        Ok(format!(
            "Run the saved workflow `{name}`: call the tool `workflow` once, with exactly these arguments, then tell the user \
             what came of it.\n\n{arguments}"
        ))
    }

    /// What the user is to be told of them when a session opens.
    pub(crate) fn notices(&self) -> Vec<String> {
        let all = self.all();
        let mut notices: Vec<String> = (all.iter())
            .filter_map(|found| match &found.standing {
                Standing::Broken(reason) => Some(format!(
                    "The workflow in {} is left out: {reason}.",
                    found.path.display()
                )),
                _ => None,
            })
            .collect();
        let untrusted = all
            .iter()
            .filter(|found| matches!(found.standing, Standing::Untrusted(_)));
        let names: Vec<&str> = untrusted.map(|found| found.name.as_str()).collect();
        if !names.is_empty() {
            notices.push(format!(
                "This project brings workflows along, and you have not said yet that you trust them as they are. Left \
                 aside: {}.\nhint: weft workflow show NAME shows one; weft trust {} asks",
                names.join(", "),
                shell_word(&self.cwd.to_string_lossy())
            ));
        }
        notices
    }

    /// What a file counts for by itself, and its text if it could be read.
    fn judge(&self, path: &Path, owner: Owner) -> (Standing, Option<String>) {
        let within = (owner == Owner::Project).then_some(&*self.root);
        let text = match read_text(path, within, MAX_BYTES) {
            FileText::Absent => return (Standing::Broken("it is gone".to_owned()), None),
            FileText::Unreadable(reason) => return (Standing::Broken(reason), Some(String::new())),
            FileText::Text(_, missing) if missing > 0 => {
                let reason = format!("it has more than {MAX_BYTES} bytes");
                return (Standing::Broken(reason), Some(String::new()));
            }
            FileText::Text(text, _) => text,
        };
        let standing = match read_meta(&text) {
            Err(error) => Standing::Broken(error.message().to_owned()),
            Ok(meta) if owner == Owner::User || self.is_trusted(path, &text) => Standing::Usable(meta),
            Ok(meta) => Standing::Untrusted(meta),
        };
        (standing, Some(text))
    }

    fn is_trusted(&self, path: &Path, text: &str) -> bool {
        let (path, digest) = (shown(path, &self.root), script_digest(text));
        self.trust
            .has_workflow(&self.cwd, &path, &digest)
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "it cannot be told whether a project's workflows are trusted");
                false
            })
    }

    fn usable(&self) -> impl Iterator<Item = (String, WorkflowMeta)> {
        self.all().into_iter().filter_map(|found| match found.standing {
            Standing::Usable(meta) => Some((found.name, meta)),
            _ => None,
        })
    }
}

impl SavedWorkflows for Workflows {
    fn list(&self) -> Vec<SavedWorkflow> {
        let usable = self.usable().map(|(name, meta)| SavedWorkflow {
            name,
            description: one_line(&meta.description),
        });
        usable.collect()
    }

    fn script(&self, name: &str) -> Result<String, SavedWorkflowError> {
        let unusable = |reason: String| SavedWorkflowError::Unusable {
            name: name.to_owned(),
            reason,
        };
        match self.find(name) {
            None => Err(SavedWorkflowError::unknown(name, self.usable().map(|(name, _)| name))),
            Some((found, text)) => match found.standing {
                Standing::Usable(_) => Ok(text),
                Standing::Untrusted(_) => Err(unusable(format!(
                    "it comes with the project, and you have not said that you trust it as it is now (weft trust {})",
                    shell_word(&self.cwd.to_string_lossy())
                ))),
                Standing::Broken(reason) => Err(unusable(reason)),
                Standing::Hidden(by) => Err(unusable(format!("{} goes before it", by.display()))),
            },
        }
    }
}

/// What a text behind a workflow's name stands for as `args`: the JSON value if it is an object or a list, else the text;
/// nothing if it is blank.
pub(crate) fn args_of(text: &str) -> Option<Value> {
    match text.trim() {
        "" => None,
        text => match serde_json::from_str(text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => Some(value),
            _ => Some(Value::from(text)),
        },
    }
}

/// Adds the workflows that the project in `cwd` brings along to what it wants of the user.
pub(crate) fn add_powers(cwd: &Path, powers: &mut Powers) {
    let places = Places::find(Path::new(""), cwd);
    for (folder, _) in project_folders(&places) {
        for (_, path) in files_in(&folder) {
            if let FileText::Text(text, 0) = read_text(&path, Some(places.root()), MAX_BYTES) {
                powers.add_workflow(&shown(&path, places.root()), &script_digest(&text));
            }
        }
    }
}

fn project_folders(places: &Places) -> Vec<(PathBuf, Owner)> {
    let chain = places.chain().into_iter().rev();
    let folders = chain.flat_map(|folder| PROJECT_FOLDERS.map(|below| (folder.join(below), Owner::Project)));
    folders.collect()
}

/// The files of a folder that have a workflow's name, by name.
fn files_in(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<(String, PathBuf)> = entries
        .take(MAX_ENTRIES)
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_stem()?.to_str().filter(|name| is_name(name))?.to_owned();
            (path.extension()? == EXTENSION).then_some((name, path))
        })
        .collect();
    files.sort();
    files
}

/// A path as trust knows it: where it is in the project.
fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}

/// A text without line breaks and control characters: it stands in a list.
fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
