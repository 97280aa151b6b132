//! The gates: what each is called, in which order they run, and what each runs.

mod agents;
pub(crate) mod catalogues;
mod clients;
mod dependencies;
mod file_size;
mod graph;
mod hygiene;
mod spec_ids;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::Subcommand;

use crate::command::{cargo, program};
use crate::workspace::Workspace;

/// How a gate that did not fail ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All it looks at is in order.
    Passed,
    /// It could not look, for the reason given; on CI that is a failure.
    Skipped(String),
}

/// One check of the whole project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Gate {
    /// Check that rustfmt has nothing to change.
    Fmt,
    /// Check tracked files for unfinished code, machine paths, tabs and missing final newlines.
    Hygiene,
    /// Check that no source file has grown too long.
    FileSize,
    /// Check which crate depends on which, and the architecture document's word on it.
    Graph,
    /// Check that every acceptance item has a test named after it.
    SpecIds,
    /// Check all targets with clippy, warnings denied.
    Clippy,
    /// Build the documentation, warnings and broken links denied.
    Doc,
    /// Check for unused dependencies, and licences and sources of all of them.
    Deps,
    /// Build every program and library of the workspace.
    Build,
    /// Check that the generated documents and bindings are fresh.
    Catalogues,
    /// Run every unit and integration test.
    UnitTests,
    /// Run the examples in the documentation.
    DocTests,
    /// Check the progress channel under explored thread schedules.
    Shuttle,
    /// Replay the scenarios in fixtures/ against the built program.
    Replay,
    /// Have real clients take the built program through a workflow, a repository and an MCP server.
    Clients,
    /// Have the built program drive real agents of others.
    Agents,
}

impl Gate {
    /// The gates that run nothing of the project itself, cheapest first.
    pub(crate) const STATIC: [Self; 8] = [
        Self::Fmt,
        Self::Hygiene,
        Self::FileSize,
        Self::Graph,
        Self::SpecIds,
        Self::Clippy,
        Self::Doc,
        Self::Deps,
    ];

    /// Every gate, in the order in which they run.
    pub(crate) fn all() -> &'static [Self] {
        use Gate::{Agents, Build, Catalogues, Clients, DocTests, Replay, Shuttle, UnitTests};
        const ALL: [Gate; 16] = {
            let [fmt, hygiene, file_size, graph, spec_ids, clippy, doc, deps] = Gate::STATIC;
            [
                fmt, hygiene, file_size, graph, spec_ids, clippy, doc, deps, Build, Catalogues, UnitTests, DocTests,
                Shuttle, Replay, Clients, Agents,
            ]
        };
        &ALL
    }

    /// What it is called on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Hygiene => "hygiene",
            Self::FileSize => "file-size",
            Self::Graph => "graph",
            Self::SpecIds => "spec-ids",
            Self::Clippy => "clippy",
            Self::Doc => "doc",
            Self::Deps => "deps",
            Self::Build => "build",
            Self::Catalogues => "catalogues",
            Self::UnitTests => "unit-tests",
            Self::DocTests => "doc-tests",
            Self::Shuttle => "shuttle",
            Self::Replay => "replay",
            Self::Clients => "clients",
            Self::Agents => "agents",
        }
    }

    /// How long it may take: several times what it takes on two cores with nothing built yet.
    ///
    /// A gate that hangs ends with its name, and long before whatever limit stands around the whole run.
    pub(crate) const fn limit(self) -> Duration {
        let minutes = match self {
            Self::Fmt | Self::Hygiene | Self::FileSize | Self::Graph | Self::SpecIds => 2,
            Self::Doc | Self::DocTests | Self::Replay => 5,
            Self::Catalogues | Self::Shuttle | Self::Clients | Self::Agents => 6,
            Self::Clippy | Self::Deps | Self::Build => 8,
            Self::UnitTests => 12,
        };
        Duration::from_secs(minutes * 60)
    }

    /// Runs it, for [`Self::limit`] at most.
    pub(crate) fn run(self, workspace: &Workspace) -> anyhow::Result<Outcome> {
        self.run_within(&workspace.within(self.limit()))
    }

    fn run_within(self, workspace: &Workspace) -> anyhow::Result<Outcome> {
        match self {
            Self::Fmt => workspace.run(&mut cargo(&["fmt", "--all", "--check"]))?,
            Self::Hygiene => hygiene::check(workspace)?,
            Self::FileSize => file_size::check(workspace)?,
            Self::Graph => graph::check(workspace)?,
            Self::SpecIds => spec_ids::check(workspace)?,
            Self::Clippy => {
                let arguments = ["clippy", "--locked", "--workspace", "--all-targets", "--all-features"];
                workspace.run(cargo(&arguments).args(["--", "-D", "warnings"]))?;
            }
            Self::Doc => {
                let mut doc = cargo(&[
                    "doc",
                    "--locked",
                    "--no-deps",
                    "--workspace",
                    "--document-private-items",
                ]);
                workspace.run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
            }
            Self::Deps => return dependencies::check(workspace),
            Self::Build => workspace.run(&mut cargo(&["build", "--locked", "--workspace"]))?,
            Self::Catalogues => catalogues::check(workspace)?,
            Self::UnitTests => workspace.run(&mut cargo(&["test", "--locked", "--workspace", "--all-targets"]))?,
            Self::DocTests => workspace.run(&mut cargo(&["test", "--locked", "--workspace", "--doc"]))?,
            Self::Shuttle => {
                let test = ["test", "--locked", "-p", "weft-tools", "--features", "shuttle"];
                workspace.run(cargo(&test).args(["--test", "progress_model"]))?;
            }
            Self::Replay => workspace.run(
                program(workspace.built("weft"))
                    .arg("replay")
                    .args(scenarios(workspace)?),
            )?,
            Self::Clients => return clients::check(workspace),
            Self::Agents => return agents::check(workspace),
        }
        Ok(Outcome::Passed)
    }
}

/// The folders of the scenarios relative to the root, sorted.
fn scenarios(workspace: &Workspace) -> anyhow::Result<BTreeSet<PathBuf>> {
    let files = workspace.files()?;
    let scripts = files
        .iter()
        .filter(|file| file.ends_with("client.toml") && file.starts_with("fixtures"));
    let folders: BTreeSet<PathBuf> = scripts.filter_map(|file| file.parent().map(PathBuf::from)).collect();
    if folders.is_empty() {
        bail!("fixtures holds no scenario");
    }
    Ok(folders)
}

/// Fails with one line for each finding, or passes when there is none.
fn none_found(what: &str, findings: &[impl Display]) -> anyhow::Result<()> {
    for finding in findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} {what}", findings.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Subcommand;

    use super::*;

    #[test]
    fn g34_every_gate_is_a_command_and_part_of_the_whole_run() {
        let command = Gate::augment_subcommands(clap::Command::new("gates"));
        let commands: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let names: Vec<&str> = Gate::all().iter().map(|gate| gate.name()).collect();
        assert_eq!(names, commands);
    }

    #[test]
    fn a_gate_that_hangs_leaves_the_others_more_than_half_of_the_whole_run() {
        const WHOLE_RUN: Duration = Duration::from_secs(30 * 60);
        for gate in Gate::all() {
            let limit = gate.limit();
            assert!(limit >= Duration::from_secs(60), "{gate:?} has no time to do anything");
            assert!(limit < WHOLE_RUN / 2, "{gate:?} may take {limit:?}");
        }
    }
}
