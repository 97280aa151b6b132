//! `weft workflow check`.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use weft_workflow_js::JsEngine;

use super::{Named, surroundings};
use crate::args::WorkflowCheckArgs;
use crate::terminal::{harmless, one_line};
use crate::tools;
use crate::workflows::{Standing, Workflows};

pub(super) fn run(args: &WorkflowCheckArgs) -> anyhow::Result<ExitCode> {
    let (config, workflows) = surroundings(Path::new("."))?;
    let engine = tools::engine(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let given = if args.workflows.is_empty() {
        all(&workflows)
    } else {
        args.workflows.clone()
    };
    let mut all_are_sound = true;
    let mut out = io::stdout().lock();
    for name in given {
        let checked = match Named::find(&workflows, &name) {
            Ok(named) => runtime.block_on(async { check(&engine, &named) }),
            Err(error) => Err(format!("{error:#}")),
        };
        match checked {
            Ok(path) => writeln!(out, "ok      {}  {}", one_line(&name), one_line(&path))?,
            Err(reason) => {
                all_are_sound = false;
                writeln!(out, "failed  {}  {}", one_line(&name), harmless(&reason))?;
            }
        }
    }
    Ok(if all_are_sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The names of all that are not behind another.
fn all(workflows: &Workflows) -> Vec<String> {
    let all = workflows.all().into_iter();
    let all = all.filter(|found| !matches!(found.standing, Standing::Hidden(_)));
    let mut names: Vec<String> = all.map(|found| found.name).collect();
    names.dedup();
    names
}

fn check(engine: &JsEngine, named: &Named) -> Result<String, String> {
    // What could not be read has no text to look at.
    if let Named::Saved(found, _) = named
        && let Standing::Broken(reason) = &found.standing
    {
        return Err(reason.clone());
    }
    engine
        .check(named.script())
        .map_err(|error| error.message().to_owned())?;
    match named.obstacle() {
        None => Ok(named.path().display().to_string()),
        Some(obstacle) => Err(obstacle.to_owned()),
    }
}
