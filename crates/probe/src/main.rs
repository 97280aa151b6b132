//! What `cargo xtask bench` runs in a release build to measure parts of weft by themselves, the store, a step of a
//! model and the search tools, and beside each the least that could do the same.
//!
//! Each command prints its figures as one JSON object. [`mix`] is what the sessions are made of.

#![expect(clippy::print_stdout, reason = "the figures are its output")]

mod append;
mod fill;
mod list;
mod mix;
mod model;
mod parse;
mod search;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use serde::Serialize;

/// What to do.
#[derive(Parser)]
enum Command {
    /// Make a store with one large session in it.
    FillOne {
        /// The store's folder.
        root: PathBuf,
        /// The folder that the session works in.
        cwd: PathBuf,
        /// How many events it has at least.
        events: u64,
    },
    /// Make a store with many small sessions in it.
    FillMany {
        /// The store's folder.
        root: PathBuf,
        /// How many.
        sessions: u32,
    },
    /// Append turns through the store, and the same bytes to a plain file.
    Append {
        /// A folder for both.
        folder: PathBuf,
        /// How many turns.
        turns: usize,
    },
    /// Open a store and list its first page, without its index and with it.
    List {
        /// The store's folder.
        root: PathBuf,
    },
    /// Read a log and parse its events, one after the other, and do nothing else.
    Parse {
        /// The log.
        log: PathBuf,
    },
    /// Take steps of a model at a chat-completions endpoint, and read the same streams and count them.
    Model {
        /// The endpoint's URL up to and without `/chat/completions`.
        base_url: String,
        /// How many of each.
        rounds: usize,
    },
    /// Make a tree of files and look for things in it, with the tools and with `rg`.
    Search {
        /// The tree's folder, which is not there.
        root: PathBuf,
        /// The program to compare with.
        rg: PathBuf,
        /// How many of each.
        rounds: usize,
    },
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::FillOne { root, cwd, events } => print(&fill::one(root, &cwd, events)?),
        Command::FillMany { root, sessions } => print(&fill::many(&root, sessions)?),
        Command::Append { folder, turns } => print(&append::measure(&folder, turns)?),
        Command::List { root } => print(&list::measure(&root)?),
        Command::Parse { log } => print(&parse::measure(&log)?),
        Command::Model { base_url, rounds } => print(&model::measure(&base_url, rounds)?),
        Command::Search { root, rg, rounds } => print(&search::measure(&root, &rg, rounds)?),
    }
}

fn print(figures: &impl Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string(figures)?);
    Ok(())
}

fn middle(mut figures: Vec<f64>) -> anyhow::Result<f64> {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().context("no rounds")
}
