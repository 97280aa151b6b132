//! `weft workflow resume`.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use weft_session::SystemClock;
use weft_types::{RunId, SessionId};

use super::{USAGE, exec_args, read_script, script_args};
use crate::args::{ExecArgs, WorkflowResumeArgs};
use crate::commands::exec;
use crate::config::{Config, Home, Overrides};
use crate::direct::DirectCall;
use crate::store;

pub(super) fn run(args: &WorkflowResumeArgs) -> anyhow::Result<ExitCode> {
    let usage = |usage: &str| {
        crate::complain(usage);
        Ok(ExitCode::from(USAGE))
    };
    let Some(session) = session_of(&args.run)? else {
        return usage(&format!(
            "there is no journal of a workflow run {:?}\nhint: a run's id is in its card and in its result",
            args.run
        ));
    };
    let mut arguments = json!({ "resume": args.run });
    if let Some(file) = &args.script {
        arguments["script"] = read_script(file)?.into();
    }
    if let Some(given) = &args.args {
        match script_args(given) {
            Ok(given) => arguments["args"] = given,
            Err(wrong) => return usage(&wrong),
        }
    }
    if !args.rerun.is_empty() {
        arguments["rerun"] = args.rerun.as_slice().into();
    }
    let call = DirectCall {
        tool: "workflow",
        arguments,
        prompt: format!("Resume the workflow run {}.", args.run),
    };
    let args = ExecArgs {
        session: Some(session.to_string()),
        ..exec_args(&args.headless)
    };
    exec::run_call(&args, call)
}

/// The session that has the run.
fn session_of(run: &str) -> anyhow::Result<Option<SessionId>> {
    let home = Home::find()?;
    let config = Config::load(&home.config, &Overrides::default())?;
    let store = store::open(&config, home.sessions, "weft workflow resume", Arc::new(SystemClock))?;
    match store.session_of_run(&RunId::new(run)) {
        Ok(session) => Ok(session),
        Err(weft_session::StoreError::NoJournal { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
