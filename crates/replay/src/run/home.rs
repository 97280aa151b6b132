//! The folders and the environment that one run has to itself.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use toml::Table;

use super::Failure;
use crate::scenario::Scenario;
use crate::{Facts, WireCommand};

/// Variables that the agent gets from the caller; it sees no others.
const INHERITED: [&str; 3] = ["PATH", "TMPDIR", "LLVM_PROFILE_FILE"];

/// A fresh `WEFT_HOME` and a copy of the workspace; both gone when this is dropped.
pub(super) struct Home {
    root: TempDir,
}

impl Home {
    pub(super) fn make(scenario: &Scenario) -> Result<Self, Failure> {
        let root = tempfile::Builder::new().prefix("weft-scenario-").tempdir();
        let home = Self {
            root: root.map_err(failed("make a folder in", &std::env::temp_dir()))?,
        };
        fs::create_dir(home.home()).map_err(failed("make", &home.home()))?;
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

    /// The folder that the agent keeps its sessions in; it is not there before the first.
    pub(super) fn sessions(&self) -> PathBuf {
        self.home().join("sessions")
    }

    /// The folder that sessions work in.
    pub(super) fn cwd(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The command that starts the agent.
    pub(super) fn agent(&self, weft: &Path) -> WireCommand {
        self.command(weft).arg("acp")
    }

    /// The program with the environment that is this home's, and no arguments yet.
    pub(super) fn command(&self, weft: &Path) -> WireCommand {
        let mut command = WireCommand::new(weft);
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
        facts.folder(&scenario.dir, "{scenario}");
        facts
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

/// What to make of an error that kept a file from being read or written.
pub(super) fn failed(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.to_owned();
    move |source| Failure::File { what, path, source }
}
