//! `permissions.toml` in weft's home: for each project, the rules that the user gave there in answers.
//!
//! It lies with the user and not in the project, whose files anybody may have written. Several processes may add to it:
//! each holds `permissions.lock` from reading to writing, and puts the new file in the place of the old one in one step.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use weft_agent::{KeepError, ProjectRules};
use weft_types::RuleEffect;

use self::content::rules_of;
use crate::config::{ConfigError, Source};
use crate::own_file;

mod content;
#[cfg(test)]
mod tests;

/// What the file begins with.
const HEADER: &str = "\
# Rules that you gave for whole projects, by the projects' folders; weft adds to them when you answer so.
# Delete what should not hold any more. Comments are lost when weft adds a rule.

";

/// The rules of one project.
#[derive(Clone, Debug)]
pub(super) struct ProjectFile {
    path: PathBuf,
    /// The project's folder without links, as the file names it.
    project: String,
}

/// Why the rules of projects cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProjectFileError {
    #[error("failed to {attempt} {}: {source}", path.display())]
    File {
        attempt: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("failed to read {0}\nhint: mend that place, or delete the file to lose the rules in it")]
    Content(ConfigError),
}

impl ProjectFile {
    /// The rules that are kept in `home` for the project in `cwd`.
    pub(super) fn of(home: &Path, cwd: &Path) -> Self {
        let project = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        Self {
            path: home.join("permissions.toml"),
            project: project.to_string_lossy().into_owned(),
        }
    }

    /// The project's rules; none if there is no file.
    pub(super) fn read(&self) -> Result<Vec<(RuleEffect, String)>, ProjectFileError> {
        rules_of(&self.source(&self.text()?), &self.project).map_err(ProjectFileError::Content)
    }

    fn source<'t>(&'t self, text: &'t str) -> Source<'t> {
        Source { path: &self.path, text }
    }

    /// The text of the file; none if there is no file.
    fn text(&self) -> Result<String, ProjectFileError> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(source) => Err(self.failed("read", source)),
        }
    }

    /// The whole file, to be changed and written again: only if all of it is understood.
    fn table(&self) -> Result<Table, ProjectFileError> {
        let text = self.text()?;
        rules_of(&self.source(&text), &self.project).map_err(ProjectFileError::Content)?;
        text.parse()
            .map_err(|error: toml::de::Error| ProjectFileError::Content(self.source(&text).syntax(&error)))
    }

    fn add(&self, effect: RuleEffect, rules: &[String]) -> Result<(), ProjectFileError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|source| self.failed("make the folder of", source))?;
        let _lock = self.lock()?;
        let mut table = self.table()?;
        let list = self.list(&mut table, effect);
        for rule in rules {
            if !list.iter().any(|known| known.as_str() == Some(rule)) {
                list.push(Value::String(rule.clone()));
            }
        }
        let text = format!("{HEADER}{table}");
        own_file::replace(&self.path, text.as_bytes()).map_err(|source| self.failed("write", source))
    }

    /// Held until it is dropped, or the process dies.
    fn lock(&self) -> Result<File, ProjectFileError> {
        let locked = own_file::lock_file(&self.path).and_then(|file| file.lock().map(|()| file));
        locked.map_err(|source| self.failed("lock", source))
    }

    fn list<'t>(&self, table: &'t mut Table, effect: RuleEffect) -> &'t mut Vec<Value> {
        const SOUND: &str = "a file that was understood holds tables of lists";
        let projects = table.entry("projects").or_insert_with(|| Value::Table(Table::new()));
        let projects = projects.as_table_mut().expect(SOUND);
        let project = projects
            .entry(self.project.clone())
            .or_insert_with(|| Value::Table(Table::new()));
        let lists = project.as_table_mut().expect(SOUND);
        let list = lists.entry(key_of(effect)).or_insert_with(|| Value::Array(Vec::new()));
        list.as_array_mut().expect(SOUND)
    }

    fn failed(&self, attempt: &'static str, source: io::Error) -> ProjectFileError {
        ProjectFileError::File {
            attempt,
            path: self.path.clone(),
            source,
        }
    }
}

impl ProjectRules for ProjectFile {
    fn keep(&self, effect: RuleEffect, rules: &[String]) -> Result<(), KeepError> {
        Ok(self.add(effect, rules)?)
    }
}

fn key_of(effect: RuleEffect) -> &'static str {
    match effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Ask => "ask",
        RuleEffect::Deny => "deny",
    }
}
