//! `AGENTS.md`: what the user and the project want every agent to keep to.

use std::path::Path;

use super::places::{FileText, Places, read_text};

/// The file's name, everywhere.
pub(super) const FILE: &str = "AGENTS.md";

/// The longest file that is looked at, in bytes: beyond every limit that can be set.
const MAX_FILE: usize = 1 << 20;

/// What stands before all of them.
const HEAD: &str = "# Instructions\n\nWhat the user and the project want you to keep to. Where two of them disagree, the \
    later one holds.";

/// The instructions that hold for a session, those of the user first, those of the working folder last.
#[derive(Debug, Default)]
pub(super) struct Instructions {
    files: Vec<(String, String)>,
}

impl Instructions {
    /// Reads the user's file and those of the project's folders. What cannot be read is noted.
    pub(super) fn read(places: &Places, notices: &mut Vec<String>) -> Self {
        let mut instructions = Self::default();
        if let Some(home) = &places.home {
            instructions.add(&home.join(FILE), None, notices);
        }
        for folder in places.chain() {
            instructions.add(&folder.join(FILE), Some(places.root()), notices);
        }
        instructions
    }

    fn add(&mut self, path: &Path, within: Option<&Path>, notices: &mut Vec<String>) {
        match read_text(path, within, MAX_FILE) {
            FileText::Absent => {}
            FileText::Text(text, _) => self.files.push((path.display().to_string(), text)),
            FileText::Unreadable(reason) => {
                notices.push(format!(
                    "The instructions in {} are left out: {reason}.",
                    path.display()
                ));
            }
        }
    }

    /// All of it, at most about so many bytes: the nearest files are whole first. Empty if there is nothing.
    pub(super) fn text(&self, bytes: usize) -> String {
        let shares = self.shares(bytes).into_iter();
        let mut parts: Vec<String> = shares
            .map(|(path, text, share)| format!("## {path}\n\n{}", bounded(text, share)))
            .collect();
        if parts.is_empty() {
            return String::new();
        }
        parts.reverse();
        format!("{HEAD}\n\n{}\n", parts.join("\n\n"))
    }

    /// The files that say something, the nearest first, and how many bytes of each are told.
    fn shares(&self, bytes: usize) -> Vec<(&str, &str, usize)> {
        let mut left = bytes;
        let said = self.files.iter().rev().filter(|(_, text)| !text.trim().is_empty());
        said.map(|(path, text)| {
            let share = left;
            left = left.saturating_sub(text.len());
            (path.as_str(), text.trim(), share)
        })
        .collect()
    }

    /// The files, those of the user first: the path of each, its size in bytes, and how many bytes of it are told.
    pub(super) fn told(&self, bytes: usize) -> Vec<(String, usize, usize)> {
        let shares = self.shares(bytes).into_iter().rev();
        shares
            .map(|(path, text, share)| (path.to_owned(), text.len(), text.len().min(share)))
            .collect()
    }
}

/// The beginning of a text, and a word about the rest.
pub(super) fn bounded(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(bytes)];
    let missing = text.len() - head.len();
    format!("{head}\n[{missing} bytes are left out here: context.instructions_bytes; read the file for the rest]")
}
