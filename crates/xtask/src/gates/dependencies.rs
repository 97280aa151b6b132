//! Unused dependencies, and the licences, bans and sources of all that are used.
//!
//! Both checks are programs of their own. They are installed, once and at a fixed version, into the
//! target folder, so that a fresh clone needs nothing but the Rust toolchain.

use std::path::PathBuf;

use super::Outcome;
use crate::command::{capture, cargo, program, run};
use crate::workspace::Workspace;

/// A program of cargo's registry.
struct Tool {
    name: &'static str,
    version: &'static str,
}

const MACHETE: Tool = Tool {
    name: "cargo-machete",
    version: "0.9.2",
};
const DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
};

/// Runs both programs, installing them first if need be.
pub(super) fn check(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let mut programs = Vec::new();
    for tool in [MACHETE, DENY] {
        match tool.at_hand(workspace)? {
            Ok(path) => programs.push(path),
            Err(reason) => return Ok(Outcome::Skipped(reason)),
        }
    }
    let [machete, deny] = &programs[..] else {
        unreachable!("one program for each tool")
    };
    run(program(machete)
        .current_dir(&workspace.root)
        .args(["--skip-target-dir"]))?;
    let mut deny = program(deny);
    deny.current_dir(&workspace.root);
    run(deny.args([
        "--locked",
        "--workspace",
        "check",
        "--show-stats",
        "licenses",
        "bans",
        "sources",
    ]))?;
    Ok(Outcome::Passed)
}

impl Tool {
    /// Where the program is, installed if it was not; or why it cannot be had just now.
    fn at_hand(&self, workspace: &Workspace) -> anyhow::Result<Result<PathBuf, String>> {
        let root = workspace.target.join("tools");
        let path = root
            .join("bin")
            .join(format!("{}{}", self.name, std::env::consts::EXE_SUFFIX));
        if self.is_version_of(&path) {
            return Ok(Ok(path));
        }
        // A development build takes half the time, and its runs take seconds.
        let mut install = cargo(&["install", "--locked", "--debug", "--version", self.version, self.name]);
        install
            .arg("--root")
            .arg(&root)
            .arg("--target-dir")
            .arg(root.join("build"));
        match run(&mut install) {
            Ok(()) => Ok(Ok(path)),
            Err(_) if !self.is_published() => Ok(Err(format!("the registry does not give {} out", self.name))),
            Err(error) => Err(error),
        }
    }

    fn is_version_of(&self, path: &PathBuf) -> bool {
        let version = capture(program(path).arg("--version"));
        version.is_ok_and(|text| text.split_whitespace().any(|word| word == self.version))
    }

    /// Whether the registry can be reached and has it.
    fn is_published(&self) -> bool {
        capture(&mut cargo(&["info", &format!("{}@{}", self.name, self.version)])).is_ok()
    }
}
