//! What agents look up while they work: the text of a skill, and instructions of the folders they come to.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use weft_agent::{Library, Note};

use super::instructions::FILE;
use super::places::{FileText, Places, folders_between, read_text};
use super::shown;
use super::skills::{Skills, note_text};
use crate::workflows::Workflows;

/// The longest file that is looked at, in bytes.
const MAX_FILE: usize = 1 << 20;

/// Reads files when they are asked for.
#[derive(Debug)]
pub(super) struct Shelf {
    texts: Arc<Texts>,
}

#[derive(Debug)]
struct Texts {
    places: Places,
    additional: Vec<PathBuf>,
    skills: Skills,
    workflows: Workflows,
    instructions_bytes: usize,
}

impl Shelf {
    pub(super) fn new(
        places: Places,
        additional: &[PathBuf],
        (skills, workflows): (Skills, Workflows),
        instructions_bytes: usize,
    ) -> Self {
        // Places are told without links.
        let additional = additional
            .iter()
            .filter_map(|folder| folder.canonicalize().ok())
            .collect();
        Self {
            texts: Arc::new(Texts {
                places,
                additional,
                skills,
                workflows,
                instructions_bytes,
            }),
        }
    }
}

impl Library for Shelf {
    fn expand(&self, name: &str, text: &str) -> BoxFuture<'static, Result<String, String>> {
        let texts = Arc::clone(&self.texts);
        let (name, text) = (name.to_owned(), text.to_owned());
        let reading = tokio::task::spawn_blocking(move || texts.expand(&name, &text));
        reading
            .map(|read| read.unwrap_or_else(|error| Err(error.to_string())))
            .boxed()
    }

    fn notes(&self, places: Vec<PathBuf>) -> BoxFuture<'static, Vec<Note>> {
        let texts = Arc::clone(&self.texts);
        let reading = tokio::task::spawn_blocking(move || texts.notes(&places));
        reading.map(Result::unwrap_or_default).boxed()
    }
}

impl Texts {
    /// A skill goes before a workflow of the same name.
    fn expand(&self, name: &str, text: &str) -> Result<String, String> {
        if self.skills.has(name) {
            self.skills.text(name)
        } else {
            self.workflows.order(name, text)
        }
    }

    fn notes(&self, places: &[PathBuf]) -> Vec<Note> {
        let mut folders: Vec<(PathBuf, &Path)> = Vec::new();
        for place in places {
            for (folder, root) in self.folders_of(place) {
                if !folders.iter().any(|(known, _)| *known == folder) {
                    folders.push((folder, root));
                }
            }
        }
        folders
            .iter()
            .filter_map(|(folder, root)| self.note(folder, root))
            .collect()
    }

    /// The folders that a place lies in whose instructions no agent was told at the start, the outermost first, each with
    /// the folder that links may not lead out of.
    fn folders_of(&self, place: &Path) -> Vec<(PathBuf, &Path)> {
        let root = std::iter::once(&self.places.cwd)
            .chain(&self.additional)
            .find(|root| place.starts_with(root));
        let Some(root) = root else { return Vec::new() };
        let told = self.places.chain();
        let folders = folders_between(root, place).into_iter();
        let folders = folders.filter(|folder| !told.contains(folder));
        folders.map(|folder| (folder, root.as_path())).collect()
    }

    fn note(&self, folder: &Path, root: &Path) -> Option<Note> {
        let path = folder.join(FILE);
        let FileText::Text(text, _) = read_text(&path, Some(root), MAX_FILE) else {
            return None;
        };
        let (file, below) = (shown(&path, &self.places.cwd), shown(folder, &self.places.cwd));
        (!text.trim().is_empty()).then(|| Note {
            title: format!("Instructions of {file}, which hold in {below} before those of the folders above it:"),
            text: note_text(&text, self.instructions_bytes),
        })
    }
}
