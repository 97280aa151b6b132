//! The folders and the environment that one run has to itself.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use toml::Table;

use super::Failure;
use crate::scenario::Scenario;
use crate::{Facts, SessionLog, WireCommand};

/// Variables that the agent gets from the caller; it sees no others.
const INHERITED: [&str; 3] = ["PATH", "TMPDIR", "LLVM_PROFILE_FILE"];

/// A fresh `WEFT_HOME`, a copy of the workspace and a place for logs; all gone when this is dropped.
pub(super) struct Home {
    root: TempDir,
}

impl Home {
    pub(super) fn make(scenario: &Scenario) -> Result<Self, Failure> {
        let root = tempfile::Builder::new().prefix("weft-scenario-").tempdir();
        let home = Self {
            root: root.map_err(failed("make a folder in", &std::env::temp_dir()))?,
        };
        for folder in [home.home(), home.log_dir()] {
            fs::create_dir(&folder).map_err(failed("make", &folder))?;
        }
        let config = home.home().join("config.toml");
        fs::write(&config, configuration(scenario)).map_err(failed("write", &config))?;
        let workspace = scenario.dir.join("workspace");
        match workspace.is_dir() {
            true => copy(&workspace, &home.cwd())?,
            false => fs::create_dir(home.cwd()).map_err(failed("make", &home.cwd()))?,
        }
        Ok(home)
    }

    fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    fn log_dir(&self) -> PathBuf {
        self.root.path().join("logs")
    }

    /// The folder that sessions work in.
    pub(super) fn cwd(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The command that starts the agent.
    pub(super) fn command(&self, weft: &Path) -> WireCommand {
        let mut command = WireCommand::new(weft).arg("acp").arg("--export").arg(self.log_dir());
        command.cwd = Some(self.cwd());
        command.inherit_env = false;
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command = command.env(name, value);
            }
        }
        let home = OsString::from(self.home());
        command
            .env("HOME", home.clone())
            .env("WEFT_HOME", home)
            .env("LANG", "C.UTF-8")
    }

    /// What the normaliser must know.
    pub(super) fn facts(&self, scenario: &Scenario) -> Facts {
        let mut facts = Facts::default();
        facts.folder(&self.cwd(), "{cwd}");
        facts.folder(&self.home(), "{home}");
        facts.folder(&self.log_dir(), "{logs}");
        facts.folder(&scenario.dir, "{scenario}");
        facts
    }

    /// The logs that the agent has exported, by file name.
    pub(super) fn logs(&self) -> Result<Vec<SessionLog>, Failure> {
        let dir = self.log_dir();
        let entries = fs::read_dir(&dir).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut paths: Vec<_> = entries
            .map_err(failed("read", &dir))?
            .iter()
            .map(fs::DirEntry::path)
            .collect();
        paths.sort();
        paths.iter().map(|path| read_log(path)).collect()
    }
}

/// The generated configuration with the scenario's own on top.
pub(super) fn configuration(scenario: &Scenario) -> String {
    let script = scenario.dir.join("model.toml").display().to_string();
    let provider = Table::from_iter([("kind".into(), "scripted".into()), ("script".into(), script.into())]);
    let progress = Table::from_iter([("min_interval".into(), "0ms".into())]);
    let within = |key: &str, table: Table| Table::from_iter([(key.to_owned(), table.into())]);
    let mut config = Table::from_iter([
        ("model".into(), "scripted/scripted".into()),
        ("mode".into(), "ask".into()),
        ("providers".into(), within("scripted", provider).into()),
        ("acp".into(), within("progress", progress).into()),
    ]);
    merge(&mut config, &scenario.config);
    config.to_string()
}

/// Sets what `over` says; tables are merged key by key.
fn merge(under: &mut Table, over: &Table) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => merge(under, over),
            _ => drop(under.insert(key.clone(), value.clone())),
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir(to).map_err(failed("make", to))?;
    for entry in fs::read_dir(from).map_err(failed("read", from))? {
        let entry = entry.map_err(failed("read", from))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &target)?,
            false => drop(fs::copy(&path, &target).map_err(failed("copy", &path))?),
        }
    }
    Ok(())
}

fn read_log(path: &Path) -> Result<SessionLog, Failure> {
    let text = fs::read_to_string(path).map_err(failed("read", path))?;
    let bad = |line: usize, problem: String| Failure::Log {
        path: path.to_owned(),
        line,
        problem,
    };
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    if let Some(last) = lines.last().filter(|last| !last.ends_with('\n')) {
        return Err(bad(lines.len(), format!("the log ends within a line: {last}")));
    }
    let parse = |(at, line): (usize, &&str)| {
        serde_json::from_str::<Value>(line).map_err(|error| bad(at + 1, format!("the line is no JSON: {error}")))
    };
    Ok(SessionLog {
        id: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        lines: lines.iter().enumerate().map(parse).collect::<Result<_, _>>()?,
    })
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.to_owned();
    move |source| Failure::File { what, path, source }
}
