//! The tools of a session, set up from its configuration.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use weft_agent::AgentTool;
use weft_tool_workflow::{WorkflowTool, WorkflowToolConfig};
use weft_tools::{ProgressLimits, Tool, ToolLimits, ToolRegistry};
use weft_toolset::sandbox::{self, Level, Report, SandboxConfig, SandboxMode, SandboxNetwork};
use weft_toolset::{
    Bash, BashConfig, BashKill, BashOutput, Edit, Environment, Fetch, FetchConfig, FilesConfig, Glob, Grep, Read,
    SearchConfig, Todo, Write,
};
use weft_workflow::SavedWorkflows;
use weft_workflow_js::{EngineConfig, JsEngine, SandboxMode as WorkerSandbox};

use crate::config::settings::{self, render};
use crate::config::{Config, Overrides};
use crate::peers;

/// A registry with every tool in its outermost layer.
pub(crate) fn registry(
    config: &Config,
    secret_variables: &[String],
    saved: Option<Arc<dyn SavedWorkflows>>,
) -> anyhow::Result<ToolRegistry> {
    let sandbox = sandbox::report(&sandbox_of(config));
    assemble(config, secret_variables, (sandbox, saved))
}

/// [`registry`], on a system of whose sandbox that is known.
fn assemble(config: &Config, secret_variables: &[String], given: Given) -> anyhow::Result<ToolRegistry> {
    let registry = ToolRegistry::new(limits(config)?);
    for tool in all(config, secret_variables, given)? {
        let name = tool.spec().name;
        registry
            .register_known(tool)
            .with_context(|| format!("failed to register the tool {name}"))?
            .keep();
    }
    peers::present(config, &registry)?;
    Ok(registry)
}

/// Whether [`registry`] would take these settings, at a fraction of its cost.
pub(crate) fn check(config: &Config) -> anyhow::Result<()> {
    limits(config)?;
    all(config, &[], (sandbox::report(&sandbox_of(config)), None))?;
    Ok(())
}

fn limits(config: &Config) -> anyhow::Result<ToolLimits> {
    let progress = ProgressLimits::default()
        .title_bytes(config.size(&settings::PROGRESS_TITLE))?
        .content_bytes(config.size(&settings::PROGRESS_CONTENT))?;
    let grace = config.span(&settings::TOOL_CANCEL_GRACE);
    Ok(ToolLimits::default().progress(progress).cancel_grace(grace)?)
}

/// What is known of the system's sandbox, and the workflows that can be run by name.
type Given = (Report, Option<Arc<dyn SavedWorkflows>>);

fn all(config: &Config, secret_variables: &[String], (sandbox, saved): Given) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
    let files = FilesConfig {
        read_lines: config.size(&settings::READ_LINES),
        read_bytes: config.size(&settings::READ_BYTES),
        line_chars: config.size(&settings::LINE_CHARS),
        max_bytes: config.size(&settings::FILE_BYTES),
        diff_bytes: config.size(&settings::DIFF_BYTES),
        image_bytes: config.size(&settings::PICTURE_BYTES),
    };
    let search = SearchConfig {
        results: config.size(&settings::SEARCH_RESULTS),
        line_chars: config.size(&settings::SEARCH_LINE),
        time: config.span(&settings::SEARCH_TIME),
    };
    let shell = shell(config, secret_variables)?;
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Read::new(files.clone())?),
        Arc::new(Edit::new(files.clone())?),
        Arc::new(Write::new(files)?),
        Arc::new(Glob::new(search.clone())?),
        Arc::new(Grep::new(search)?),
        Arc::new(BashOutput::new(shell.clone())?),
        Arc::new(BashKill::new(shell.clone())?),
        Arc::new(Bash::reporting(shell, sandbox)?),
        Arc::new(Todo),
        Arc::new(AgentTool {
            providers: peers::provider_names(config),
        }),
        Arc::new(workflow(config, saved)?),
    ];
    if config.is_on(&settings::FETCH) {
        tools.push(Arc::new(fetch(config)?));
    }
    Ok(tools)
}

fn fetch(config: &Config) -> anyhow::Result<Fetch> {
    Ok(Fetch::new(FetchConfig {
        time: config.span(&settings::FETCH_TIME),
        max_bytes: config.size(&settings::FETCH_BYTES),
        max_redirects: config.size(&settings::FETCH_REDIRECTS),
        text_chars: config.size(&settings::FETCH_TEXT),
        image_bytes: config.size(&settings::FETCH_PICTURE),
    })?)
}

fn shell(config: &Config, secret_variables: &[String]) -> anyhow::Result<BashConfig> {
    let (default_timeout, max_timeout) = (
        config.span(&settings::BASH_TIMEOUT),
        config.span(&settings::BASH_MAX_TIMEOUT),
    );
    anyhow::ensure!(
        default_timeout <= max_timeout,
        "bash.timeout: found \"{}\", expected at most bash.max_timeout, which is \"{}\"",
        render(default_timeout),
        render(max_timeout),
    );
    Ok(BashConfig {
        default_timeout,
        max_timeout,
        max_output_chars: config.size(&settings::BASH_OUTPUT),
        max_background: config.size(&settings::BASH_BACKGROUND),
        spill_bytes: config.count(&settings::BASH_SPILL),
        live_tail_bytes: config.size(&settings::BASH_TAIL),
        report_interval: Duration::from_millis(100),
        environment: environment(config, secret_variables)?,
        sandbox: sandbox_of(config),
    })
}

/// What commands are kept from.
pub(crate) fn sandbox_of(config: &Config) -> SandboxConfig {
    SandboxConfig {
        mode: match config.text(&settings::SANDBOX_MODE) {
            Some("required") => SandboxMode::Required,
            Some("off") => SandboxMode::Off,
            _ => SandboxMode::Auto,
        },
        network: match config.text(&settings::SANDBOX_NETWORK) {
            Some("deny") => SandboxNetwork::Deny,
            _ => SandboxNetwork::Allow,
        },
        writable: config.texts(&settings::SANDBOX_WRITABLE),
        ..SandboxConfig::guarded_by_self("shell-guard")
    }
}

/// What programs that are started for the model get of the environment.
pub(crate) fn environment(config: &Config, secret_variables: &[String]) -> anyhow::Result<Environment> {
    let passed = config.texts(&settings::ENVIRONMENT_PASS);
    Environment::new(secret_variables, &passed).context("environment.pass")
}

/// How workflow scripts are run.
pub(crate) fn engine_of(config: &Config) -> EngineConfig {
    let concurrent = config.size(&settings::WORKFLOW_CONCURRENT);
    let heap = config.size(&settings::WORKFLOW_HEAP);
    EngineConfig {
        sandbox: match config.text(&settings::WORKFLOW_SANDBOX) {
            Some("required") => WorkerSandbox::Required,
            Some("off") => WorkerSandbox::Off,
            _ => WorkerSandbox::Auto,
        },
        max_concurrent_agents: concurrent,
        // Enough calls in line that a slot never waits for its next one.
        max_calls_in_flight: (4 * concurrent).max(64),
        max_total_agents: config.count(&settings::WORKFLOW_TOTAL),
        max_items_per_call: config.size(&settings::WORKFLOW_ITEMS),
        max_slice: config.span(&settings::WORKFLOW_SLICE),
        max_run_time: config.span(&settings::WORKFLOW_WALL),
        max_cpu: config.span(&settings::WORKFLOW_CPU),
        max_agent_time: config.span(&settings::WORKFLOW_AGENT_TIME),
        max_tokens: config.count(&settings::WORKFLOW_TOKENS),
        max_cost_cents: config.count(&settings::WORKFLOW_COST),
        dispose_grace: config.span(&settings::WORKFLOW_GRACE),
        max_heap_bytes: heap,
        // The script's heap is what a user means; the process needs room beside it.
        max_address_space_bytes: heap + (896 << 20),
        max_script_bytes: config.size(&settings::WORKFLOW_SCRIPT),
        max_narration_per_second: u32::try_from(config.count(&settings::WORKFLOW_NARRATION)).unwrap_or(u32::MAX),
        ..EngineConfig::default()
    }
}

/// What runs workflow scripts.
pub(crate) fn engine(config: &Config) -> anyhow::Result<JsEngine> {
    Ok(JsEngine::new(engine_of(config))?)
}

fn workflow(config: &Config, saved: Option<Arc<dyn SavedWorkflows>>) -> anyhow::Result<WorkflowTool> {
    let limits = WorkflowToolConfig::default()
        .result_chars(config.size(&settings::WORKFLOW_RESULT))?
        .max_depth(u32::try_from(config.count(&settings::MAX_DEPTH))?)?
        .stall_after(config.span(&settings::WORKFLOW_STALL_AFTER))?
        .max_stall(config.span(&settings::WORKFLOW_MAX_STALL))?
        // The engine keeps its own grace; this is for one that does not.
        .teardown(config.span(&settings::WORKFLOW_GRACE) + Duration::from_secs(5))?;
    let tool = WorkflowTool::new(Arc::new(engine(config)?), limits);
    Ok(match saved {
        Some(saved) => tool.with_saved(saved),
        None => tool,
    })
}

/// What a system reports that has all of the sandbox: what is written down must be the same on every one.
fn complete() -> Report {
    Report {
        level: Level::Full,
        reasons: Vec::new(),
    }
}

/// The defaults, with every tool that has to be asked for.
fn everything() -> anyhow::Result<Config> {
    let given = Overrides {
        values: vec![(&settings::FETCH, "the catalogue", "true".to_owned())],
    };
    Ok(Config::of(&given)?)
}

/// The catalogue of tools, as the documentation has it.
pub(crate) fn catalogue() -> anyhow::Result<String> {
    let mut text = String::from(
        "<!-- Generated by `weft docs tools`; change the tools' own descriptions instead. -->\n# Tools\n\n\
         What the model is told of each tool, word for word. `fetch` is offered only if `fetch.enabled` is true.\n",
    );
    for spec in assemble(&everything()?, &[], (complete(), None))?.specs() {
        let schema = serde_json::to_string_pretty(&spec.parameters)?;
        write!(
            text,
            "\n## `{}`\n\n{}\n\n```json\n{schema}\n```\n",
            spec.name, spec.description
        )?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemas_of_all_tools_are_sound() {
        let registry = ToolRegistry::new(ToolLimits::default());
        let config = everything().expect("good values");
        for tool in all(&config, &[], (complete(), None)).expect("the defaults are within their bounds") {
            registry.register(tool).expect("its schemas can be compiled").keep();
        }
    }
    #[test]
    fn pages_are_got_only_where_the_user_says_so() {
        let names = |config: &Config| {
            let specs = assemble(config, &[], (complete(), None)).expect("good tools").specs();
            specs.into_iter().map(|spec| spec.name).collect::<Vec<_>>()
        };
        assert!(!names(&Config::default()).contains(&"fetch".to_owned()));
        assert!(names(&everything().expect("good values")).contains(&"fetch".to_owned()));
    }
}
