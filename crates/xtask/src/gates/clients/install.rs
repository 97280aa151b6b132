//! Installing a client's packages, and the folders that it works in.

use std::path::Path;

use anyhow::{Context, bail};

use super::{Client, Stage};
use crate::command::program;

impl Client {
    /// The file that pins the packages.
    fn pins(self) -> &'static str {
        match self {
            Self::Python => "requirements.txt",
            Self::TypeScript => "package-lock.json",
            Self::Acpx => "package.json",
        }
    }
}

impl Stage<'_> {
    /// Installs the client's packages, unless those that are pinned are there, and its driver.
    pub(super) fn install(&self) -> anyhow::Result<()> {
        let pins = std::fs::read(self.sources.join(self.client.pins()))?;
        let done = self.installed.join("installed");
        if std::fs::read(&done).is_ok_and(|before| before == pins) {
            return copy_files(&self.sources, &self.installed);
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
            Client::TypeScript => self.npm(&["ci"])?,
            // Which of its packages are wanted depends on the machine; a lock would have to list those of all.
            Client::Acpx => self.npm(&["install", "--no-package-lock"])?,
        }
        std::fs::write(done, pins)?;
        Ok(())
    }

    fn npm(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut npm = program("npm");
        npm.current_dir(&self.installed).args(arguments);
        self.workspace
            .run(npm.args(["--no-audit", "--no-fund", "--loglevel=error"]))
    }
}

/// An empty folder of that name.
pub(in crate::gates) fn remake(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("failed to remove {}", folder.display()))?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))
}

/// Copies the files of a folder that has no folders.
pub(in crate::gates) fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(from).with_context(|| format!("failed to read {}", from.display()))? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            bail!("{} is not a file", entry.path().display());
        }
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
