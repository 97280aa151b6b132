//! `weft workflow show`.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use weft_workflow::script_digest;
use weft_workflow_js::read_meta;

use super::{Named, USAGE, surroundings};
use crate::args::WorkflowShowArgs;
use crate::terminal::{harmless, one_line};

pub(super) fn run(args: &WorkflowShowArgs) -> anyhow::Result<ExitCode> {
    let (_, workflows) = surroundings(Path::new("."))?;
    let named = match Named::find(&workflows, &args.workflow) {
        Ok(named) => named,
        Err(error) => {
            crate::complain(&format!("{error:#}"));
            return Ok(ExitCode::from(USAGE));
        }
    };
    let (script, path) = (named.script(), named.path());
    let meta = read_meta(script);
    let mut out = io::stdout().lock();
    if args.json {
        let mut document = json!({ "path": path, "digest": script_digest(script), "script": script });
        match &meta {
            Ok(meta) => document["meta"] = json!(meta),
            Err(error) => document["reason"] = json!(error.message()),
        }
        if let Some(obstacle) = named.obstacle() {
            document["reason"] = json!(obstacle);
        }
        writeln!(out, "{document}")?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{}", one_line(&path.to_string_lossy()))?;
    if let Ok(meta) = &meta {
        writeln!(out, "{}: {}", one_line(&meta.name), one_line(&meta.description))?;
        if let Some(when) = &meta.when_to_use {
            writeln!(out, "when to use: {}", one_line(when))?;
        }
        for phase in &meta.phases {
            let detail = phase
                .detail
                .as_ref()
                .map(|detail| format!(": {detail}"))
                .unwrap_or_default();
            writeln!(out, "phase {}{}", one_line(&phase.title), one_line(&detail))?;
        }
    }
    if let Some(obstacle) = named.obstacle() {
        writeln!(out, "cannot be run: {}", one_line(obstacle))?;
    }
    writeln!(out, "\n{}", harmless(script.trim_end()))?;
    Ok(ExitCode::SUCCESS)
}
