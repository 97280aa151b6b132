//! Real clients: each takes the built program through a workflow and must be shown it live.
//!
//! The clients are other people's packages, at the versions that `tests/clients/` pins, installed into
//! the target folder when they are first needed. Each has a small driver there that prints what the
//! client was shown, in the form it has on the wire; what that must be is checked here, once for all.

mod seen;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::Outcome;
use crate::command::program;
use crate::workspace::Workspace;

/// A client, called by its folder in `tests/clients/`.
#[derive(Clone, Copy)]
enum Client {
    /// The Python SDK.
    Python,
    /// The TypeScript SDK.
    TypeScript,
    /// acpx, a client for terminals; it brings the Node.js it needs.
    Acpx,
}

/// One client at work: where its packages are and where the agent it drives lives.
struct Stage<'a> {
    workspace: &'a Workspace,
    client: Client,
    sources: PathBuf,
    installed: PathBuf,
    home: PathBuf,
}

/// Takes every client that can be installed through the scenario.
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
        let shown = stage.drive(&workspace.built("weft"))?;
        let seen = seen::check(&shown).with_context(|| format!("{} was not shown the workflow", client.name()))?;
        println!("{seen}");
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

    /// The file that pins the packages.
    fn pins(self) -> &'static str {
        match self {
            Self::Python => "requirements.txt",
            Self::TypeScript | Self::Acpx => "package.json",
        }
    }
}

impl<'a> Stage<'a> {
    fn new(workspace: &'a Workspace, client: Client) -> Self {
        let installed = workspace.target.join("clients").join(client.name());
        Self {
            workspace,
            client,
            sources: workspace.root.join("tests/clients").join(client.name()),
            home: installed.join("home"),
            installed,
        }
    }

    /// Installs the client's packages, unless those that are pinned are there.
    fn install(&self) -> anyhow::Result<()> {
        let pins = std::fs::read(self.sources.join(self.client.pins()))?;
        let done = self.installed.join("installed");
        if std::fs::read(&done).is_ok_and(|before| before == pins) {
            return Ok(());
        }
        remake(&self.installed)?;
        copy_files(&self.sources, &self.installed)?;
        match self.client {
            Client::Python => {
                let workspace = self.workspace;
                workspace.run(program("python3").args(["-m", "venv"]).arg(self.installed.join("venv")))?;
                let mut pip = program(self.installed.join("venv/bin/pip"));
                pip.args(["install", "--quiet", "--no-deps", "--requirement"]);
                workspace.run(pip.arg(self.installed.join(self.client.pins())))?;
            }
            Client::TypeScript | Client::Acpx => {
                let mut npm = program("npm");
                npm.current_dir(&self.installed);
                self.workspace.run(npm.args([
                    "install",
                    "--no-package-lock",
                    "--no-audit",
                    "--no-fund",
                    "--loglevel=error",
                ]))?;
            }
        }
        std::fs::write(done, pins)?;
        Ok(())
    }

    /// Has the client drive the program through the scenario, and returns what the client printed.
    fn drive(&self, weft: &Path) -> anyhow::Result<String> {
        let scenario = self.sources.with_file_name("scenario");
        remake(&self.home)?;
        copy_files(&scenario, &self.home)?;
        let folder = self.home.join("workspace");
        std::fs::create_dir(&folder)?;
        let mut driver = self.driver(weft, &folder);
        driver.env("WEFT_HOME", &self.home).env("HOME", &self.home);
        self.workspace.capture(&mut driver)
    }

    fn driver(&self, weft: &Path, folder: &Path) -> Command {
        const PROMPT: &str = "Look at the files.";
        let mut driver = match self.client {
            Client::Python => program(self.installed.join("venv/bin/python")),
            Client::TypeScript => program("node"),
            Client::Acpx => {
                let programs = self.installed.join("node_modules/.bin");
                let mut acpx = program(programs.join("node"));
                acpx.arg(programs.join("acpx"));
                acpx.arg("--agent")
                    .arg(format!("{} acp", weft.display()))
                    .arg("--cwd")
                    .arg(folder);
                acpx.args(["--approve-all", "--timeout", "60", "--format", "json", "exec", PROMPT]);
                return acpx;
            }
        };
        let script = if matches!(self.client, Client::Python) {
            "drive.py"
        } else {
            "drive.mjs"
        };
        // From the copy beside the packages: that is where Node.js looks for them.
        driver
            .arg(self.installed.join(script))
            .arg(folder)
            .arg(PROMPT)
            .arg(weft)
            .arg("acp");
        driver
    }
}

/// An empty folder of that name.
fn remake(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("failed to remove {}", folder.display()))?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))
}

/// Copies the files of a folder that has no folders.
fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(from).with_context(|| format!("failed to read {}", from.display()))? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            bail!("{} is not a file", entry.path().display());
        }
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
