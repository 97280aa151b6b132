//! What is wrong with a request, found before anything is started.

use serde_json::Value;
use serde_json::value::to_raw_value;
use weft_workflow::{MetaError, RunLimits, StartError, StartErrorCode, StartRequest, WorkflowMeta};

use crate::EngineConfig;
use crate::protocol::Args;
use crate::script::{Split, split};

/// A script that is ready to be parsed.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) meta: WorkflowMeta,
    /// What stack traces call it.
    pub(super) file: String,
    pub(super) body: String,
}

/// What a run is held to.
#[derive(Debug)]
pub(super) struct Terms {
    /// The provider of members that name none.
    pub(super) provider: String,
    /// Its limits. How many members it may start, and how many at once, is always among them.
    pub(super) limits: RunLimits,
    pub(super) args: Args,
}

/// What a script that carries its own metadata says about itself. Nothing of it is run, or parsed beyond them.
///
/// # Errors
///
/// There are none, or they are malformed.
pub fn read_meta(script: &str) -> Result<WorkflowMeta, StartError> {
    let refused = |error: String| StartError::new(StartErrorCode::MetaInvalid, error);
    let own = split(script).map_err(|error| refused(error.to_string()))?.meta;
    let own = own.ok_or_else(|| refused("it does not begin with `export const meta = {…};`".to_owned()))?;
    WorkflowMeta::from_json(&own).map_err(|error| refused(error.to_string()))
}

/// Reads the metadata and the script's size.
pub(super) fn read_script(config: &EngineConfig, script: &str, given: Option<&Value>) -> Result<Prepared, StartError> {
    let refused = |error: String| StartError::new(StartErrorCode::MetaInvalid, error);
    let (found, limit) = (script.len(), config.max_script_bytes);
    if found > limit {
        let message = format!("the script has {found} bytes, more than the limit of {limit} (max_script_bytes)");
        return Err(StartError::new(StartErrorCode::InvalidArgument, message));
    }
    let Split { meta: own, body } = split(script).map_err(|error| refused(error.to_string()))?;
    let given = given.map(WorkflowMeta::from_json).transpose();
    let own = own.as_ref().map(WorkflowMeta::from_json).transpose();
    let meta = match (own, given) {
        (Ok(own), Ok(given)) => own.or(given).ok_or_else(|| {
            refused("workflow meta is missing: give `meta`, or begin the script with `export const meta = {…};`".into())
        })?,
        (own, given) => return Err(refused(violations(own.err(), given.err()))),
    };
    Ok(Prepared {
        file: file_name(&meta.name),
        meta,
        body,
    })
}

fn violations(own: Option<MetaError>, given: Option<MetaError>) -> String {
    let own = own.map(|error| format!("in the script: {error}"));
    let all: Vec<_> = own.into_iter().chain(given.map(|error| error.to_string())).collect();
    all.join("; ")
}

/// A name that keeps the lines of a stack trace readable by machine.
pub(super) fn file_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(64).map(plain).collect();
    format!("workflow:{name}")
}

/// Tests the rest of the request.
pub(super) fn check_terms(config: &EngineConfig, request: &StartRequest) -> Result<Terms, StartError> {
    let invalid = |message: String| StartError::new(StartErrorCode::InvalidArgument, message);
    let provider = request.provider.as_ref().unwrap_or(&config.provider);
    if provider.is_empty() || provider.trim() != provider {
        return Err(invalid(format!(
            "the subagent provider is {provider:?}, expected a name without surrounding blanks"
        )));
    }
    if !request.members.has_provider(provider) {
        let message = format!("there is no subagent provider {provider:?}");
        return Err(StartError::new(StartErrorCode::AgentStart, message));
    }
    Ok(Terms {
        provider: provider.clone(),
        limits: lowered(config, &request.limits).map_err(invalid)?,
        args: read_args(config, request).map_err(invalid)?,
    })
}

/// The engine's limits, as far as the request does not lower them.
fn lowered(config: &EngineConfig, asked: &RunLimits) -> Result<RunLimits, String> {
    let some = |limit: u64| (limit > 0).then_some(limit);
    let seconds = config
        .max_run_time
        .as_secs()
        .max(u64::from(!config.max_run_time.is_zero()));
    let pick = |name: &str, key: &str, asked: Option<u64>, ceiling: Option<u64>| match (asked, ceiling) {
        (Some(0), Some(ceiling)) => Err(format!("limits.{name} is 0, expected 1 to {ceiling} ({key})")),
        (Some(0), None) => Err(format!("limits.{name} is 0, expected 1 or more")),
        (Some(asked), Some(ceiling)) if asked > ceiling => Err(format!(
            "limits.{name} is {asked}, expected 1 to {ceiling}: a run may only lower what is configured ({key})"
        )),
        (asked, ceiling) => Ok(asked.or(ceiling)),
    };
    let concurrency = some(config.max_concurrent_agents as u64);
    Ok(RunLimits {
        agents: pick(
            "agents",
            "max_total_agents",
            asked.agents,
            some(config.max_total_agents),
        )?,
        concurrency: pick("concurrency", "max_concurrent_agents", asked.concurrency, concurrency)?,
        seconds: pick("seconds", "max_run_time", asked.seconds, some(seconds))?,
        tokens: pick("tokens", "max_tokens", asked.tokens, some(config.max_tokens))?,
        cost_cents: pick(
            "costCents",
            "max_cost_cents",
            asked.cost_cents,
            some(config.max_cost_cents),
        )?,
    })
}

fn read_args(config: &EngineConfig, request: &StartRequest) -> Result<Args, String> {
    let Some(args) = &request.args else {
        return Ok(Args::Absent);
    };
    let args = to_raw_value(args).map_err(|error| format!("args cannot be written as JSON: {error}"))?;
    let (found, limit) = (args.get().len(), config.max_args_bytes);
    if found > limit {
        return Err(format!(
            "args have {found} bytes of JSON, more than the limit of {limit} (max_args_bytes)"
        ));
    }
    Ok(Args::Json(args))
}
