//! `permissions.toml` in weft's home: for each project, the rules that the user gave there in answers.
//!
//! It lies with the user and not in the project, whose files anybody may have written. Several processes may add to it:
//! each holds `permissions.lock` from reading to writing, and puts the new file in the place of the old one in one step.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use weft_agent::{KeepError, ProjectRules, RuleError, Rules};
use weft_types::RuleEffect;

use crate::own_file;

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
    #[error("failed to read {}: {problem}\nhint: mend the file, or delete it to lose the rules in it", path.display())]
    Content { path: PathBuf, problem: String },
    #[error("failed to read {}: {source}\nhint: mend the rule, or delete it", path.display())]
    Rule { path: PathBuf, source: RuleError },
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
        let table = self.table()?;
        let mut rules = Vec::new();
        let Some(project) = table.get("projects").and_then(|projects| projects.get(&self.project)) else {
            return Ok(rules);
        };
        for effect in [RuleEffect::Allow, RuleEffect::Ask, RuleEffect::Deny] {
            let Some(list) = project.get(key_of(effect)) else {
                continue;
            };
            let items = list.as_array().ok_or_else(|| self.wrong(key_of(effect)))?;
            for item in items {
                let rule = item.as_str().ok_or_else(|| self.wrong(key_of(effect)))?;
                Rules::check(rule).map_err(|source| ProjectFileError::Rule {
                    path: self.path.clone(),
                    source,
                })?;
                rules.push((effect, rule.to_owned()));
            }
        }
        Ok(rules)
    }

    fn table(&self) -> Result<Table, ProjectFileError> {
        match fs::read_to_string(&self.path) {
            Ok(text) => text
                .parse()
                .map_err(|error: toml::de::Error| self.content(error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Table::new()),
            Err(source) => Err(self.failed("read", source)),
        }
    }

    fn add(&self, effect: RuleEffect, rules: &[String]) -> Result<(), ProjectFileError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|source| self.failed("make the folder of", source))?;
        let _lock = self.lock()?;
        let mut table = self.table()?;
        let list = self.list(&mut table, effect)?;
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

    fn list<'t>(&self, table: &'t mut Table, effect: RuleEffect) -> Result<&'t mut Vec<Value>, ProjectFileError> {
        let projects = table.entry("projects").or_insert_with(|| Value::Table(Table::new()));
        let project = projects.as_table_mut().ok_or_else(|| self.wrong("projects"))?;
        let project = project
            .entry(self.project.clone())
            .or_insert_with(|| Value::Table(Table::new()));
        let list = project.as_table_mut().ok_or_else(|| self.wrong(&self.project))?;
        let list = list.entry(key_of(effect)).or_insert_with(|| Value::Array(Vec::new()));
        list.as_array_mut().ok_or_else(|| self.wrong(key_of(effect)))
    }

    fn wrong(&self, key: &str) -> ProjectFileError {
        let project = &self.project;
        self.content(format!(
            "`{key}` is not what it should be: expected lists of rules, `allow`, `ask` and `deny`, in `[projects.\"{project}\"]`"
        ))
    }

    fn content(&self, problem: String) -> ProjectFileError {
        ProjectFileError::Content {
            path: self.path.clone(),
            problem,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(rules: &[&str]) -> Vec<String> {
        rules.iter().map(|rule| (*rule).to_owned()).collect()
    }

    #[test]
    fn each_project_has_its_own_rules_and_keeps_those_it_has() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("home");
        for project in ["a", "b"] {
            fs::create_dir(folder.path().join(project)).expect("made");
        }
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let (a, b) = (ProjectFile::of(&home, &a), ProjectFile::of(&home, &b));
        assert!(a.read().expect("no file is no rule").is_empty());
        a.keep(RuleEffect::Allow, &rules(&["bash(git status *)", "edit(src/**)"]))
            .expect("kept");
        a.keep(RuleEffect::Allow, &rules(&["bash(git status *)"]))
            .expect("kept");
        b.keep(RuleEffect::Deny, &rules(&["bash(rm 'it''s')"])).expect("kept");
        assert_eq!(
            a.read().expect("sound"),
            [
                (RuleEffect::Allow, "bash(git status *)".to_owned()),
                (RuleEffect::Allow, "edit(src/**)".to_owned()),
            ]
        );
        assert_eq!(
            b.read().expect("sound"),
            [(RuleEffect::Deny, "bash(rm 'it''s')".to_owned())]
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(&a.path).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let left: Vec<_> = fs::read_dir(&home).expect("there").collect();
        assert_eq!(left.len(), 2, "the file and its lock");
    }

    #[test]
    fn two_that_add_at_once_lose_nothing() {
        let home = tempfile::tempdir().expect("a folder");
        let file = ProjectFile::of(home.path(), home.path());
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let file = file.clone();
                scope.spawn(move || {
                    for number in 0..5 {
                        let rule = format!("tool_{writer}_{number}");
                        file.keep(RuleEffect::Allow, &[rule]).expect("kept");
                    }
                });
            }
        });
        assert_eq!(file.read().expect("sound").len(), 20);
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_refused_and_stays_as_it_is() {
        let home = tempfile::tempdir().expect("a folder");
        let file = ProjectFile::of(home.path(), home.path());
        let project = &file.project;
        for text in [
            "not toml".to_owned(),
            format!("[projects.\"{project}\"]\nallow = \"bash\"\n"),
            format!("[projects.\"{project}\"]\nallow = [1]\n"),
            format!("[projects.\"{project}\"]\nallow = [\"bash(\"]\n"),
        ] {
            fs::write(&file.path, &text).expect("written");
            let told = file.read().expect_err("not sound").to_string();
            assert!(told.contains("permissions.toml") && told.contains("hint: "), "{told}");
        }
        fs::write(&file.path, "projects = 1\n").expect("written");
        file.keep(RuleEffect::Allow, &rules(&["bash"])).expect_err("not sound");
        assert_eq!(fs::read_to_string(&file.path).expect("there"), "projects = 1\n");
    }
}
