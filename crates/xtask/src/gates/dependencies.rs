//! Unused dependencies, and the licences, bans and sources of all that are used.
//!
//! Both checks are programs of their own. They are installed, once and at a fixed version, into the
//! target folder, so that a fresh clone needs nothing but the Rust toolchain.

use std::path::{Path, PathBuf};

use super::Outcome;
use crate::command::{cargo, program};
use crate::workspace::Workspace;

/// A program of cargo's registry that extends cargo by a command.
struct Tool {
    name: &'static str,
    /// The command, which cargo would give as the first argument. We run under cargo, and the programs
    /// see that.
    command: &'static str,
    version: &'static str,
}

const MACHETE: Tool = Tool {
    name: "cargo-machete",
    command: "machete",
    version: "0.9.2",
};
const DENY: Tool = Tool {
    name: "cargo-deny",
    command: "deny",
    version: "0.20.2",
};

/// Runs both programs, installing each first if need be.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let machete: &[&str] = &["--skip-target-dir"];
    let deny: &[&str] = &[
        "--locked",
        "--workspace",
        "check",
        "--show-stats",
        "licenses",
        "bans",
        "sources",
    ];
    for (tool, arguments) in [(MACHETE, machete), (DENY, deny)] {
        let path = match tool.at_hand(workspace)? {
            Ok(path) => path,
            Err(reason) => return Ok(Outcome::Skipped(reason)),
        };
        workspace.run(program(path).arg(tool.command).args(arguments))?;
    }
    Ok(Outcome::Passed)
}

impl Tool {
    /// Where the program is, installed if it was not; or why it cannot be had just now.
    fn at_hand(&self, workspace: &Workspace) -> anyhow::Result<Result<PathBuf, String>> {
        let root = workspace.target.join("tools");
        let path = root
            .join("bin")
            .join(format!("{}{}", self.name, std::env::consts::EXE_SUFFIX));
        if self.is_version_of(workspace, &path) {
            return Ok(Ok(path));
        }
        // A development build takes half the time, and its runs take seconds.
        let mut install = cargo(&["install", "--locked", "--debug", "--version", self.version, self.name]);
        install
            .arg("--root")
            .arg(&root)
            .arg("--target-dir")
            .arg(root.join("build"));
        match workspace.run(&mut install) {
            Ok(()) => Ok(Ok(path)),
            Err(_) if !self.is_published(workspace) => Ok(Err(format!("the registry does not give {} out", self.name))),
            Err(error) => Err(error),
        }
    }

    fn is_version_of(&self, workspace: &Workspace, path: &Path) -> bool {
        let version = workspace.capture(program(path).args([self.command, "--version"]));
        version.is_ok_and(|text| text.split_whitespace().any(|word| word == self.version))
    }

    /// Whether the registry can be reached and has it.
    fn is_published(&self, workspace: &Workspace) -> bool {
        workspace
            .capture(&mut cargo(&["info", &format!("{}@{}", self.name, self.version)]))
            .is_ok()
    }
}
