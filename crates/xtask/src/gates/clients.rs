//! Real clients: each takes the built program through real work and must be shown it live.
//!
//! The clients are other people's packages, at the versions that `tests/clients/` pins, installed into
//! the target folder when they are first needed. Each has a small driver there that prints what the
//! client was shown and asked for, in the form it has on the wire; what that must be is checked here,
//! once for all.

pub(super) mod install;
mod repository;
mod servers;
mod shown;
mod tour;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Serialize;
use serde_json::{Value, json};

use self::install::{copy_files, remake};
use self::shown::Shown;
use super::Outcome;
use crate::command::program;
use crate::workspace::Workspace;

/// A client, called by its folder in `tests/clients/`.
#[derive(Clone, Copy, Debug)]
enum Client {
    /// The Python SDK.
    Python,
    /// The TypeScript SDK.
    TypeScript,
    /// acpx, a client for terminals; it brings the Node.js it needs.
    Acpx,
}

/// What a client takes the agent through, called by the folder of its scenario in `tests/clients/`.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// A workflow of two phases.
    Tour,
    /// A search, edits and a command in a repository of a few thousand files.
    Repository,
    /// Tools of an MCP server that others wrote.
    Servers,
}

/// One client at work: where its packages are and what they come from.
struct Stage<'a> {
    workspace: &'a Workspace,
    client: Client,
    sources: PathBuf,
    installed: PathBuf,
}

/// One job of one client: the folders it has to itself.
struct Scene<'a> {
    stage: &'a Stage<'a>,
    /// The agent's home, with the scenario's configuration and model.
    home: PathBuf,
    /// Where the session works.
    folder: PathBuf,
}

/// What a driver is told to do. acpx knows prompts only, and one at a time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    cwd: PathBuf,
    prompts: Vec<Value>,
    /// The texts of files that are open and not saved.
    unsaved: BTreeMap<PathBuf, String>,
    mcp_servers: Vec<Value>,
}

/// Takes every client that can be installed through its jobs.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let mut left_out = Vec::new();
    for client in [Client::Python, Client::TypeScript, Client::Acpx] {
        let stage = Stage::new(workspace, client);
        println!("-- {}", client.name());
        if let Err(error) = stage.install() {
            println!("SKIPPED {}: {error:#}", client.name());
            left_out.push(format!("{}: {error:#}", client.name()));
            continue;
        }
        for job in client.jobs() {
            let scene = stage.scene(*job)?;
            let seen = job.take(&scene);
            let seen = seen.with_context(|| format!("{}, taken through the {}", client.name(), job.name()))?;
            println!("{}: {seen}", job.name());
        }
    }
    if left_out.is_empty() {
        return Ok(Outcome::Passed);
    }
    Ok(Outcome::Skipped(format!(
        "could not be installed: {}",
        left_out.join("; ")
    )))
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::TypeScript => "typescript",
            Self::Acpx => "acpx",
        }
    }

    fn jobs(self) -> &'static [Job] {
        match self {
            Self::Python | Self::Acpx => &[Job::Tour, Job::Repository],
            // The server is an npm package too, and its driver can cancel.
            Self::TypeScript => &[Job::Tour, Job::Repository, Job::Servers],
        }
    }
}

impl Job {
    fn name(self) -> &'static str {
        match self {
            Self::Tour => "tour",
            Self::Repository => "repository",
            Self::Servers => "servers",
        }
    }

    /// Does it and says what was seen.
    fn take(self, scene: &Scene) -> anyhow::Result<String> {
        match self {
            Self::Tour => tour::take(scene),
            Self::Repository => repository::take(scene),
            Self::Servers => servers::take(scene),
        }
    }
}

impl<'a> Stage<'a> {
    fn new(workspace: &'a Workspace, client: Client) -> Self {
        Self {
            workspace,
            client,
            sources: workspace.root.join("tests/clients").join(client.name()),
            installed: workspace.target.join("clients").join(client.name()),
        }
    }

    /// Fresh folders for a job.
    fn scene(&'a self, job: Job) -> anyhow::Result<Scene<'a>> {
        let (home, folder) = (self.installed.join("home"), self.installed.join("workspace"));
        remake(&home)?;
        remake(&folder)?;
        copy_files(&self.sources.with_file_name(job.name()), &home)?;
        Ok(Scene {
            stage: self,
            home,
            // As the agent will name it.
            folder: folder
                .canonicalize()
                .context("failed to find the folder that was just made")?,
        })
    }
}

impl Scene<'_> {
    fn client(&self) -> Client {
        self.stage.client
    }

    /// Where a file of the driver's is, beside the packages it uses.
    fn installed(&self, name: &str) -> PathBuf {
        self.stage.installed.join(name)
    }

    /// A task of these prompts, without anything else.
    fn task<const N: usize>(&self, prompts: [&str; N]) -> Task {
        Task {
            cwd: self.folder.clone(),
            prompts: prompts.map(|text| json!({ "text": text })).into(),
            unsaved: BTreeMap::new(),
            mcp_servers: Vec::new(),
        }
    }

    /// Has the client take the program through the task, and reads what the client printed.
    fn drive(&self, task: &Task) -> anyhow::Result<Shown> {
        let weft = self.stage.workspace.built("weft");
        let mut driver = match self.client() {
            Client::Acpx => self.acpx(&weft, task),
            Client::Python => self.driver(self.installed("venv/bin/python"), "drive.py", &weft, task)?,
            Client::TypeScript => self.driver("node".into(), "drive.mjs", &weft, task)?,
        };
        driver.env("WEFT_HOME", &self.home).env("HOME", &self.home);
        Shown::read(&self.capture(&mut driver)?)
    }

    fn acpx(&self, weft: &Path, task: &Task) -> Command {
        let programs = self.installed("node_modules/.bin");
        let mut acpx = program(programs.join("node"));
        acpx.arg(programs.join("acpx"));
        acpx.arg("--agent").arg(format!("{} acp", weft.display()));
        acpx.arg("--cwd").arg(&task.cwd);
        acpx.args(["--approve-all", "--timeout", "60", "--format", "json", "exec"]);
        acpx.args(task.prompts.iter().filter_map(|prompt| prompt["text"].as_str()));
        acpx
    }

    /// The script runs from the copy beside the packages: that is where Node.js looks for them.
    fn driver(&self, interpreter: PathBuf, script: &str, weft: &Path, task: &Task) -> anyhow::Result<Command> {
        let file = self.home.join("task.json");
        std::fs::write(&file, serde_json::to_vec(task)?)?;
        let mut driver = program(interpreter);
        driver.arg(self.installed(script)).arg(file).arg(weft).arg("acp");
        Ok(driver)
    }

    /// Runs the command and returns what it wrote to its standard output.
    fn capture(&self, command: &mut Command) -> anyhow::Result<String> {
        self.stage.workspace.capture(command)
    }
}
