//! Where the workspace is, which files belong to it, and for how long programs may run in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use crate::command::{self, Limit, cargo, program};

/// The workspace as cargo and git see it.
pub(crate) struct Workspace {
    /// The folder of the root manifest.
    pub(crate) root: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    limit: Option<Limit>,
}

impl Workspace {
    /// Asks cargo for the workspace of the current folder, and makes its root the current folder.
    pub(crate) fn open() -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Metadata {
            workspace_root: PathBuf,
            target_directory: PathBuf,
        }
        let text = command::capture(&mut cargo(&["metadata", "--format-version=1", "--no-deps"]), None)?;
        let metadata: Metadata = serde_json::from_str(&text).context("failed to read the output of cargo metadata")?;
        std::env::set_current_dir(&metadata.workspace_root).context("failed to enter the root of the workspace")?;
        Ok(Self {
            root: metadata.workspace_root,
            target: metadata.target_directory,
            limit: None,
        })
    }

    /// The same, for a chore that may take so long from now.
    pub(crate) fn within(&self, limit: Duration) -> Self {
        Self {
            root: self.root.clone(),
            target: self.target.clone(),
            limit: Some(Limit::of(limit)),
        }
    }

    /// Shows the command line and runs it.
    pub(crate) fn run(&self, command: &mut Command) -> anyhow::Result<()> {
        command::run(command, self.limit)
    }

    /// Runs the command and returns what it wrote to its standard output.
    pub(crate) fn capture(&self, command: &mut Command) -> anyhow::Result<String> {
        command::capture(command, self.limit)
    }

    /// The files git tracks, and the new ones it does not ignore, relative to the root and sorted.
    pub(crate) fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut git = program("git");
        git.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
            "--deduplicate",
        ]);
        let listed = self.capture(&mut git)?;
        let mut files: Vec<PathBuf> = listed.split_terminator('\0').map(PathBuf::from).collect();
        // A deleted file that is still in the index has nothing to check.
        files.retain(|file| self.root.join(file).is_file());
        files.sort();
        Ok(files)
    }

    /// The text of a file of the workspace, or `None` if it is not UTF-8.
    pub(crate) fn text(&self, file: &Path) -> anyhow::Result<Option<String>> {
        let path = self.root.join(file);
        let bytes = std::fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
        Ok(String::from_utf8(bytes).ok())
    }

    /// Every Rust source with its text.
    pub(crate) fn sources(&self) -> anyhow::Result<Vec<(PathBuf, String)>> {
        let mut sources = Vec::new();
        for file in self.files()? {
            if file.extension().is_some_and(|extension| extension == "rs")
                && let Some(text) = self.text(&file)?
            {
                sources.push((file, text));
            }
        }
        Ok(sources)
    }

    /// Where a program that cargo builds in the development profile is found.
    pub(crate) fn built(&self, name: &str) -> PathBuf {
        self.target
            .join("debug")
            .join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }
}
