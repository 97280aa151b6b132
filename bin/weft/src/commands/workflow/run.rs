//! `weft workflow run`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::{Named, USAGE, exec_args, script_args, surroundings};
use crate::args::{ExecArgs, WorkflowRunArgs};
use crate::commands::exec;
use crate::direct::DirectCall;

pub(super) fn run(args: &WorkflowRunArgs) -> anyhow::Result<ExitCode> {
    match call(args)? {
        Ok(call) => {
            let cd = args.cd.clone();
            let args = ExecArgs {
                cd,
                ..exec_args(&args.headless)
            };
            exec::run_call(&args, call)
        }
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
        match script_args(given) {
            Ok(given) => arguments["args"] = given,
            Err(usage) => return Ok(Err(usage)),
        }
    }
    let behind = args.args.as_ref().map(|args| format!(" {args}")).unwrap_or_default();
    Ok(Ok(DirectCall {
        tool: "workflow",
        arguments,
        prompt: format!("/{}{behind}", args.workflow),
    }))
}
