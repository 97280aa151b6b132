//! The search tools against the program whose libraries they are made of.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::Programs;
use super::figures::Figures;
use super::store::{number, probe};

const ROUNDS: &str = "15";

/// `grep` and `glob`, called in process, against `rg` on the same tree. Without an `rg` there is nothing to compare
/// with, and that is said.
pub(crate) fn search(programs: &Programs, figures: &mut Figures) -> anyhow::Result<()> {
    println!("search: grep and glob in a tree of 4,000 files, against `rg` started on it; median of {ROUNDS}");
    let Some(rg) = find("rg") else {
        figures.tell("left out", "there is no `rg` in PATH (Debian: apt-get install ripgrep)");
        return Ok(());
    };
    let folder = tempfile::tempdir_in(&programs.scratch)?;
    let tree = folder.path().join("tree");
    let found = probe(programs, "search", &[&tree, &rg, Path::new(ROUNDS)])?;
    for task in found.as_array().context("the figures are no list")? {
        let name = task["name"].as_str().context("a figure has no name")?;
        let of = |name| number(task, name);
        let (tool, rg, ratio) = (of("tool_ms")?, of("rg_ms")?, of("ratio")?);
        let figure = format!("{tool:.1} ms against {rg:.1} ms: {ratio:.2}");
        figures.judge(name, &figure, "<= 1.3", ratio <= 1.3);
    }
    Ok(())
}

/// Where a program is.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}
