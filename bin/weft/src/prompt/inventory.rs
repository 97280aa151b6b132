//! What the agents of a session are told, file by file, for somebody who wants to look it over.

use std::path::PathBuf;

use super::Sources;
use super::instructions::Instructions;
use super::places::Places;
use super::skills::Skills;

/// The files behind a [briefing](super::Briefing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inventory {
    /// The instructions, those of the user first.
    pub(crate) instructions: Vec<Told>,
    /// What of instructions is left out, and why.
    pub(crate) no_instructions: Vec<String>,
    /// The skills by their names, with the files.
    pub(crate) skills: Vec<(String, PathBuf)>,
    /// Skills that do not count, since a nearer one has their name.
    pub(crate) hidden: Vec<(String, PathBuf)>,
    /// What of skills is left out, and why.
    pub(crate) no_skills: Vec<String>,
}

/// A file of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) file: String,
    /// Its size in bytes.
    pub(crate) bytes: usize,
    /// How many of them agents are told.
    pub(crate) told: usize,
}

impl Inventory {
    /// Looks at all of it, as a session would that is opened now.
    pub(crate) fn of(sources: &Sources) -> Self {
        let places = Places::find(&sources.home, &sources.cwd);
        let (mut no_instructions, mut no_skills) = (Vec::new(), Vec::new());
        let instructions = Instructions::read(&places, &mut no_instructions).told(sources.instructions_bytes);
        let skills = Skills::find(&places, &mut no_skills);
        // The list itself is not wanted, but what does not fit into it is.
        drop(skills.listed(sources.skills_bytes, &mut no_skills));
        let owned = |(name, file): (&str, PathBuf)| (name.to_owned(), file);
        Self {
            instructions: instructions
                .into_iter()
                .map(|(file, bytes, told)| Told { file, bytes, told })
                .collect(),
            no_instructions,
            skills: skills.files().map(owned).collect(),
            hidden: skills.hidden_files().map(owned).collect(),
            no_skills,
        }
    }
}
