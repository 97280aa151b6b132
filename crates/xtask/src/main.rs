//! The project's chores: `cargo xtask test` runs every test and gate, `cargo xtask gates` only those
//! that run nothing of the project itself, and each gate runs alone by its own name.
//!
//! [`gates::Gate`] is the list to open first: its order is the order in which they run.

#![expect(clippy::print_stdout, reason = "what a chore reports is its output")]

mod bench;
mod command;
mod gates;
mod report;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::gates::Gate;
use crate::workspace::Workspace;

/// The project's chores.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every gate and every test of the project, and stop at the first that fails.
    Test,
    /// Run the gates alone: all but what runs the project itself.
    Gates,
    /// Write the generated documents and bindings anew.
    CataloguesWrite,
    /// Measure a release build against its budgets.
    Bench(bench::BenchArguments),
    #[command(flatten)]
    One(Gate),
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let workspace = Workspace::open()?;
    Ok(match arguments.task {
        Task::Test => report::run(&workspace, Gate::all()),
        Task::Gates => report::run(&workspace, &Gate::STATIC),
        Task::CataloguesWrite => {
            workspace.run(&mut command::cargo(&["build", "--locked", "-p", "weft"]))?;
            gates::catalogues::write(&workspace)?;
            ExitCode::SUCCESS
        }
        Task::Bench(arguments) => {
            bench::run(&workspace, &arguments)?;
            ExitCode::SUCCESS
        }
        Task::One(gate) => report::run(&workspace, &[gate]),
    })
}
