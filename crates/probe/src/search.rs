//! The tools `grep` and `glob` as an agent calls them, and the program `rg` on the same files.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use weft_tools::{Extensions, Tool, ToolCallRequest, ToolLimits, ToolRegistry, WorkingDirectory};
use weft_toolset::{Glob, Grep, SearchConfig};
use weft_types::CallId;

use crate::middle;
use crate::mix::Dice;

/// Files of the tree, not counting those that are ignored.
const FILES: u64 = 4_000;
/// In one of so many files stands what is rare.
const RARE_EVERY: u64 = 500;

/// Something to look for.
struct Task {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    /// The field of the tool's value that says how much there is.
    total: &'static str,
    /// What `rg` has to be told to find the same, a line each.
    rg: &'static [&'static str],
}

/// The middle of all rounds of one task.
#[derive(Serialize)]
pub(crate) struct Figures {
    name: &'static str,
    tool_ms: f64,
    rg_ms: f64,
    /// The middle of the ratios, each of a call and a run of `rg` one right after the other.
    ratio: f64,
    /// How many lines or files both find.
    found: u64,
}

fn tasks() -> [Task; 5] {
    let grep = |name, arguments, rg| Task {
        name,
        tool: "grep",
        arguments,
        total: "lines",
        rg,
    };
    let glob = |name, arguments, rg| Task {
        name,
        tool: "glob",
        arguments,
        total: "total",
        rg,
    };
    [
        grep(
            "grep, a word that is rare",
            json!({ "pattern": "needle_in_the_tree" }),
            &["-n", "needle_in_the_tree"],
        ),
        grep(
            "grep, a pattern that is everywhere",
            json!({ "pattern": "fn \\w+\\(&self\\)" }),
            &["-n", "fn \\w+\\(&self\\)"],
        ),
        grep(
            "grep, without case, names of files",
            json!({ "pattern": "NAÏVE.*append", "ignore_case": true, "glob": "*.rs" }),
            &["-n", "-i", "-g", "*.rs", "NAÏVE.*append"],
        ),
        glob(
            "glob, by extension",
            json!({ "pattern": "*.rs" }),
            &["--files", "-g", "*.rs"],
        ),
        glob(
            "glob, below a folder",
            json!({ "pattern": "part_1*/**/file_*7.{md,rs}" }),
            &["--files", "-g", "part_1*/**/file_*7.{md,rs}"],
        ),
    ]
}

/// Makes a tree below a folder and looks for the same things in it with the tools and with `rg`, by turns. The first
/// round of each, by which the files come into memory, is not measured.
pub(crate) fn measure(root: &Path, rg: &Path, rounds: usize) -> anyhow::Result<Vec<Figures>> {
    plant(root)?;
    let runtime = Runtime::new()?;
    let registry = ToolRegistry::new(ToolLimits::default());
    let tools: [Arc<dyn Tool>; 2] = [
        Arc::new(Grep::new(SearchConfig::default())?),
        Arc::new(Glob::new(SearchConfig::default())?),
    ];
    for tool in tools {
        registry.register(tool)?.keep();
    }
    let lent = Extensions::new().with(Arc::new(WorkingDirectory(root.to_owned())));
    let mut figures = Vec::new();
    for task in tasks() {
        let (mut tool_times, mut rg_times, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = 0;
        for round in 0..=rounds {
            let (tool_took, by_tool) = runtime.block_on(call(&registry, &lent, &task))?;
            let (rg_took, by_rg) = run_rg(rg, root, task.rg)?;
            let name = task.name;
            ensure!(by_tool == by_rg, "{name}: the tool finds {by_tool}, and rg {by_rg}");
            ensure!(by_rg > 0, "{name}: nothing is found");
            found = by_tool;
            if round > 0 {
                tool_times.push(tool_took.as_secs_f64() * 1e3);
                rg_times.push(rg_took.as_secs_f64() * 1e3);
                ratios.push(tool_took.as_secs_f64() / rg_took.as_secs_f64());
            }
        }
        figures.push(Figures {
            name: task.name,
            tool_ms: middle(tool_times)?,
            rg_ms: middle(rg_times)?,
            ratio: middle(ratios)?,
            found,
        });
    }
    Ok(figures)
}

/// One call from the arguments as a model writes them to what it gets; and how much there is.
async fn call(registry: &ToolRegistry, lent: &Extensions, task: &Task) -> anyhow::Result<(Duration, u64)> {
    let started = Instant::now();
    let mut request = ToolCallRequest::new(CallId::new("call"), task.tool, task.arguments.to_string());
    request.extensions = lent.clone();
    let result = registry.execute(request).await;
    let took = started.elapsed();
    ensure!(!result.content.is_empty(), "{}: there is no content", task.name);
    let value = result.outcome?;
    let total = value[task.total].as_u64();
    Ok((took, total.context("the tool does not say how much there is")?))
}

/// One run of `rg`, from its start to its end; and how many lines it printed.
#[expect(clippy::disallowed_methods, reason = "what the tools are measured against")]
fn run_rg(rg: &Path, root: &Path, arguments: &[&str]) -> anyhow::Result<(Duration, u64)> {
    let started = Instant::now();
    let mut command = std::process::Command::new(rg);
    // The user's own settings are not asked for, and no repository either, as the tools have it.
    command.args(["--no-config", "--no-require-git"]).args(arguments);
    let output = command.current_dir(root).stdin(Stdio::null()).output()?;
    let took = started.elapsed();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "rg {arguments:?} failed: {said}");
    let lines = output.stdout.iter().filter(|byte| **byte == b'\n').count();
    Ok((took, lines as u64))
}

/// A tree as a repository is: sources and texts some folders deep, a hidden folder, and an ignored one that is as large
/// as a quarter of the rest. The same every time.
fn plant(root: &Path) -> anyhow::Result<()> {
    let mut dice = Dice::new(4);
    fs::create_dir_all(root)?;
    fs::write(root.join(".gitignore"), "/target\n*.tmp\n")?;
    for number in 0..FILES {
        let extension = ["rs", "rs", "md", "toml"][dice.below(4) as usize];
        let folder = root.join(format!("part_{}/src/group_{}", number % 20, number % 13));
        put(&folder, &format!("file_{number}.{extension}"), number, &mut dice)?;
    }
    for number in 0..FILES / 4 {
        let folder = root.join(format!("target/debug/group_{}", number % 13));
        put(&folder, &format!("file_{number}.rs"), number, &mut dice)?;
        put(&root.join(".hidden"), &format!("file_{number}.rs"), number, &mut dice)?;
    }
    Ok(())
}

fn put(folder: &Path, name: &str, number: u64, dice: &mut Dice) -> anyhow::Result<()> {
    let mut text = String::new();
    for _ in 0..=dice.below(12) {
        text.push_str(&dice.text());
        text.push('\n');
    }
    if number.is_multiple_of(RARE_EVERY) {
        text.push_str("    let needle_in_the_tree = 1;\n");
    }
    fs::create_dir_all(folder)?;
    fs::write(folder.join(name), text).with_context(|| format!("failed to write {name}"))
}
