//! `cargo xtask bench`: measures weft against its budgets, each figure beside something measured in the
//! same run, so that a slow machine makes both slow.
//!
//! [`daemon::Daemon`] is a release build of `weft acp` on a scripted model; `weft-bench-probe` is the minimal
//! program it is compared with. `weft-probe` measures the store, a step of a model and the search tools by themselves: it is a
//! program of its own, so that the chores depend on nothing that they check. Every measurement prints its figures and whether they keep the
//! budget; the command fails when one does not.

mod daemon;
mod engine;
mod figures;
mod flow;
mod load;
mod members;
mod model;
mod resume;
mod search;
mod shell;
mod start;
mod store;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use crate::command;
use crate::workspace::Workspace;
use figures::Figures;

/// What to measure.
#[derive(Args)]
pub(crate) struct BenchArguments {
    /// Measure only what has this in its name: start, memory, throughput, latency, log, engine, worker, members, resume,
    /// stall, append, list, load, model, search, shell.
    only: Option<String>,
}

/// The programs under measurement.
pub(crate) struct Programs {
    /// The release build of weft.
    pub(crate) weft: PathBuf,
    /// The release build of the minimal program.
    pub(crate) probe: PathBuf,
    /// The release build of the program that measures parts of weft by themselves.
    pub(crate) parts: PathBuf,
    /// The release build of the program that measures the workflow engine by itself.
    pub(crate) engine: PathBuf,
    /// Where the measured stores are made: on the disk that cargo builds on, since a folder in memory has no syncs.
    pub(crate) scratch: PathBuf,
}

type Measurement = (&'static str, fn(&Programs, &mut Figures) -> anyhow::Result<()>);

const MEASUREMENTS: &[Measurement] = &[
    ("start", start::start),
    ("memory", start::memory),
    ("worker", members::worker),
    ("engine", engine::engine),
    ("latency", flow::latency),
    ("log", flow::log),
    ("throughput", flow::throughput),
    ("members", members::members),
    ("resume", resume::resume),
    ("stall", flow::stall),
    ("append", store::append),
    ("list", store::list),
    ("load", load::load),
    ("model", model::model),
    ("search", search::search),
    ("shell", shell::shell),
];

/// Builds what is measured, measures it, and prints the figures.
pub(crate) fn run(workspace: &Workspace, arguments: &BenchArguments) -> anyhow::Result<()> {
    workspace.run(&mut command::cargo(&[
        "build",
        "--release",
        "--locked",
        "-p",
        "weft",
        "-p",
        "weft-xtask",
        "-p",
        "weft-probe",
        "-p",
        "weft-workflow-js",
    ]))?;
    let folder = workspace.target.join("release");
    let programs = Programs {
        weft: folder.join("weft"),
        probe: folder.join("weft-bench-probe"),
        parts: folder.join("weft-probe"),
        engine: folder.join("weft-engine-probe"),
        scratch: workspace.target.clone(),
    };
    let mut figures = Figures::default();
    for (name, measure) in MEASUREMENTS {
        if arguments.only.as_ref().is_none_or(|only| name.contains(only.as_str())) {
            measure(&programs, &mut figures).with_context(|| format!("failed to measure {name}"))?;
        }
    }
    figures.verdict()
}
