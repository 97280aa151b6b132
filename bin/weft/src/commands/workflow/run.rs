//! `weft workflow run`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::{Named, USAGE, surroundings};
use crate::args::{ExecArgs, WorkflowRunArgs};
use crate::commands::exec;
use crate::direct::DirectCall;

pub(super) fn run(args: &WorkflowRunArgs) -> anyhow::Result<ExitCode> {
    match call(args)? {
        Ok(call) => exec::run_call(&exec_args(args), call),
        Err(usage) => {
            crate::complain(&usage);
            Ok(ExitCode::from(USAGE))
        }
    }
}

/// The call, or what is wrong with the command.
fn call(args: &WorkflowRunArgs) -> anyhow::Result<Result<DirectCall, String>> {
    let (_, workflows) = surroundings(args.cd.as_deref().unwrap_or(Path::new(".")))?;
    let named = match Named::find(&workflows, &args.workflow) {
        Ok(named) => named,
        Err(error) => return Ok(Err(format!("{error:#}\nhint: weft workflow list"))),
    };
    if let Some(obstacle) = named.obstacle() {
        return Ok(Err(format!("{} cannot be run: {obstacle}", args.workflow)));
    }
    let mut arguments = match &named {
        Named::File { script, .. } => json!({ "script": script }),
        Named::Saved(found, _) => json!({ "name": found.name }),
    };
    if let Some(given) = &args.args {
        match serde_json::from_str::<Value>(given) {
            Ok(given) => arguments["args"] = given,
            Err(error) => {
                return Ok(Err(format!(
                    "--args is no JSON: {error}\nhint: a text stands in quotes: --args '\"a text\"'"
                )));
            }
        }
    }
    let behind = args.args.as_ref().map(|args| format!(" {args}")).unwrap_or_default();
    Ok(Ok(DirectCall {
        tool: "workflow",
        arguments,
        prompt: format!("/{}{behind}", args.workflow),
    }))
}

fn exec_args(args: &WorkflowRunArgs) -> ExecArgs {
    ExecArgs {
        cd: args.cd.clone(),
        add_dir: args.add_dir.clone(),
        model: args.model.clone(),
        mode: args.mode.clone(),
        allow: args.allow.clone(),
        deny: args.deny.clone(),
        timeout: args.timeout,
        json: args.json,
        ..ExecArgs::default()
    }
}
