//! The agents of others that the user's configuration names.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use weft_acp::{LineLimit, Peer, PeerConfig, PeerLimits, PeerProgram};
use weft_agent::{InProcess, Subagents};
use weft_tools::ToolRegistry;
use weft_toolset::Environment;

use crate::config::{Config, OtherAgent, settings};

/// All that are configured and not left out, in the order of their names.
///
/// Each gets the environment that commands get, and the variables that its table names; what those hold is kept out of
/// what is told of it.
pub(crate) fn configured(config: &Config, secret_variables: &[String]) -> anyhow::Result<Vec<PeerConfig>> {
    let agents = config.agents.iter().filter(|(_, agent)| agent.enabled);
    agents
        .map(|(name, agent)| of_config(config, name, agent, secret_variables))
        .collect()
}

/// The names by which scripts and models call them.
pub(crate) fn provider_names(config: &Config) -> Vec<String> {
    let agents = config.agents.iter().filter(|(_, agent)| agent.enabled);
    agents.map(|(name, _)| format!("acp:{name}")).collect()
}

/// Has tools present the calls of all that are configured, also of those that are left out: logs may hold some.
pub(crate) fn present(config: &Config, tools: &ToolRegistry) -> anyhow::Result<()> {
    for name in config.agents.keys() {
        Peer::present(name, tools)?.keep();
    }
    Ok(())
}

/// Makes them providers of subagents, which have in common with those of this process what `base` says.
pub(crate) fn register(programs: &[PeerProgram], base: &InProcess, subagents: &Subagents) {
    for program in programs {
        let peer = Peer::new(program.clone(), base.clone());
        subagents.register(peer.provider_name(), Arc::new(peer));
    }
}

fn of_config(
    config: &Config,
    name: &str,
    agent: &OtherAgent,
    secret_variables: &[String],
) -> anyhow::Result<PeerConfig> {
    let mut passed = config.texts(&settings::ENVIRONMENT_PASS);
    passed.extend(agent.env.iter().cloned());
    let environment = Environment::new(secret_variables, &passed).with_context(|| format!("agents.{name}.env"))?;
    let secrets = agent.env.iter().filter_map(|name| std::env::var(name).ok());
    let mut words = agent.command.iter().cloned();
    Ok(PeerConfig {
        name: name.to_owned(),
        command: PathBuf::from(words.next().unwrap_or_default()),
        args: words.collect(),
        environment: environment.variables(),
        secrets: secrets.collect(),
        cwd: agent.cwd.clone(),
        auth: agent.auth.clone(),
        limits: PeerLimits {
            line: LineLimit::new(config.size(&settings::LINE_LIMIT))?,
            ..agent.limits
        },
    })
}
