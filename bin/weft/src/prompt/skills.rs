//! Skills: folders with a `SKILL.md`, which says what it is for in its front matter and how to do it below.
//!
//! A skill is text. It is listed to the model by name and description, which reads the file when a task fits; nothing
//! of it runs by itself, and so a project's skills need no more trust than the rest of its text.

mod front_matter;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use weft_agent::Command;

use self::front_matter::FrontMatter;
use super::instructions::bounded;
use super::places::{FileText, Places, read_text};

/// Where skills lie in a project's folders.
const PROJECT_FOLDERS: [&str; 3] = [".weft/skills", ".agents/skills", ".claude/skills"];

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";

/// How many entries of one folder are looked at.
const MAX_ENTRIES: usize = 500;

/// The longest front matter, in bytes.
const HEAD_BYTES: usize = 16 << 10;

/// The most of a skill's text that a command gives, in bytes.
const TEXT_BYTES: usize = 256 << 10;

/// The longest description, in characters.
const DESCRIPTION_CHARS: usize = 1_024;

/// The commands that an agent answers by itself.
pub(super) const OWN_COMMANDS: [&str; 3] = ["compact", "status", "trust"];

/// What stands before the list.
const HEAD: &str = "# Skills\n\nInstructions for particular tasks. When a task fits one of them, read its file before \
    you begin and follow it; relative paths in it start at its folder.\n\n";

/// The skills of a session, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Skills {
    skills: BTreeMap<String, Skill>,
    /// Those that do not count, since a nearer one has their name.
    hidden: Vec<(String, PathBuf)>,
}

#[derive(Clone, Debug)]
struct Skill {
    description: String,
    /// Its folder, without links.
    folder: PathBuf,
}

impl Skills {
    /// Finds those of the working folder, of the folders above it in the project, and of the user. Of several with one
    /// name the nearest counts.
    pub(super) fn find(places: &Places, notices: &mut Vec<String>) -> Self {
        let mut skills = Self::default();
        for folder in places.chain().iter().rev() {
            for below in PROJECT_FOLDERS {
                skills.add_all(&folder.join(below), Some(places.root()), notices);
            }
        }
        if let Some(home) = &places.home {
            skills.add_all(&home.join("skills"), None, notices);
        }
        skills
    }

    fn add_all(&mut self, folder: &Path, within: Option<&Path>, notices: &mut Vec<String>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        let mut folders: Vec<PathBuf> = entries
            .take(MAX_ENTRIES)
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        folders.sort();
        for folder in folders {
            match Skill::read(&folder, within) {
                Ok(None) => {}
                Ok(Some((name, skill))) => match self.skills.entry(name) {
                    Entry::Vacant(place) => {
                        place.insert(skill);
                    }
                    Entry::Occupied(nearer) => self.hidden.push((nearer.key().clone(), skill.folder)),
                },
                Err(reason) => notices.push(format!("The skill in {} is left out: {reason}.", folder.display())),
            }
        }
    }

    /// The list for the model, at most about so many bytes. Empty if there are none.
    pub(super) fn listed(&self, bytes: usize, notices: &mut Vec<String>) -> String {
        let mut text = String::new();
        for (name, skill) in &self.skills {
            let line = format!(
                "- {name}: {} ({})\n",
                skill.description,
                skill.folder.join(FILE).display()
            );
            if text.len() + line.len() > bytes {
                let rest = self.skills.keys().filter(|known| *known >= name);
                let rest: Vec<&str> = rest.map(String::as_str).collect();
                notices.push(format!(
                    "{} skills do not fit into the list for the model (context.skills_bytes): {}.",
                    rest.len(),
                    rest.join(", ")
                ));
                break;
            }
            text.push_str(&line);
        }
        if text.is_empty() { text } else { format!("{HEAD}{text}") }
    }

    /// A command for each.
    pub(super) fn commands(&self) -> Vec<Command> {
        let skills = self
            .skills
            .iter()
            .filter(|(name, _)| !OWN_COMMANDS.contains(&name.as_str()));
        let commands = skills.map(|(name, skill)| Command {
            name: name.clone(),
            description: skill.description.clone(),
            hint: Some("what to do".to_owned()),
        });
        commands.collect()
    }

    /// Each by its name, with its file.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let skills = self.skills.iter();
        skills.map(|(name, skill)| (name.as_str(), skill.folder.join(FILE)))
    }

    /// Those that do not count, each by its name, with its file.
    pub(super) fn hidden_files(&self) -> impl Iterator<Item = (&str, PathBuf)> {
        let hidden = self.hidden.iter();
        hidden.map(|(name, folder)| (name.as_str(), folder.join(FILE)))
    }

    /// Whether there is one of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.skills.contains_key(name)
    }

    /// Their folders.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        self.skills.values().map(|skill| skill.folder.clone()).collect()
    }

    /// The text of a skill, as its file has it now.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        let skill = self
            .skills
            .get(name)
            .ok_or_else(|| format!("there is no skill {name}"))?;
        let path = skill.folder.join(FILE);
        match read_text(&path, Some(&skill.folder), TEXT_BYTES) {
            FileText::Absent => Err(format!("{} is gone", path.display())),
            FileText::Unreadable(reason) => Err(format!("failed to read {}: {reason}", path.display())),
            FileText::Text(text, missing) => {
                let body = FrontMatter::split(&text).map_or(text.as_str(), |(_, body)| body);
                let mut told = format!("(from {}; relative paths start there)\n\n", skill.folder.display());
                told.push_str(body.trim());
                if missing > 0 {
                    let _infallible = write!(
                        told,
                        "\n[{missing} bytes are left out here; read the file for the rest]"
                    );
                }
                Ok(told)
            }
        }
    }
}

impl Skill {
    /// The skill of a folder and its name; none if the folder is no skill.
    fn read(folder: &Path, within: Option<&Path>) -> Result<Option<(String, Self)>, String> {
        let text = match read_text(&folder.join(FILE), within, HEAD_BYTES) {
            FileText::Absent => return Ok(None),
            FileText::Unreadable(reason) => return Err(reason),
            FileText::Text(text, _) => text,
        };
        let Some((head, _)) = FrontMatter::split(&text) else {
            return Err(format!(
                "{FILE} does not begin with front matter between two lines `---`"
            ));
        };
        let head = FrontMatter::parse(head)?;
        let fallback = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = head.get("name").map_or(fallback, str::to_owned);
        if !is_name(&name) {
            return Err(format!(
                "its name is {:?}, expected 1 to 64 letters, digits, `-` and `_`",
                bounded_chars(&name, 64)
            ));
        }
        let Some(description) = head.get("description").map(one_line).filter(|text| !text.is_empty()) else {
            return Err(format!("the front matter of {FILE} has no description"));
        };
        let folder = folder.canonicalize().map_err(|error| error.to_string())?;
        let description = bounded_chars(&description, DESCRIPTION_CHARS);
        Ok(Some((name, Self { description, folder })))
    }
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

fn bounded_chars(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// A file of instructions found below the working folder, bounded.
pub(super) fn note_text(text: &str, bytes: usize) -> String {
    bounded(text.trim(), bytes)
}
