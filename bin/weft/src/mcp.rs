//! The MCP servers of a session: those of its configuration and those that its client names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use weft_acp::McpTransport;
use weft_agent::Companion;
use weft_mcp::{McpLimits, ServerConfig, ServerContext, Servers, ToolFilter, Transport};

use crate::config::{Config, McpServer, Reached, settings};
use crate::tools;

/// The servers to start, and what they share.
pub(crate) struct Wanted {
    /// The servers, in the order of their names in the configuration, then those of the client.
    pub(crate) servers: Vec<ServerConfig>,
    /// What they share.
    pub(crate) context: ServerContext,
}

/// Where a session works.
pub(crate) struct Folders<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) additional_directories: &'a [PathBuf],
}

/// All servers that a session is to have. A client's server takes the place of a configured one of its name.
pub(crate) fn wanted(
    config: &Config,
    of_client: Vec<weft_acp::McpServer>,
    folders: &Folders<'_>,
    secret_variables: &[String],
) -> anyhow::Result<Wanted> {
    let is_named = |name: &str| of_client.iter().any(|server| server.name == name);
    let configured = config
        .servers
        .iter()
        .filter(|(name, server)| server.enabled && !is_named(name));
    let variable = |name: &str| variable(name, secret_variables);
    let mut servers: Vec<ServerConfig> = configured
        .map(|(name, server)| of_config(config, name, server, folders.cwd, &variable))
        .collect();
    servers.extend(of_client.into_iter().map(|server| ServerConfig {
        name: server.name,
        transport: of_wire(server.transport),
        startup_timeout: config.span(&settings::MCP_STARTUP),
        call_timeout: config.span(&settings::MCP_CALL),
        tools: ToolFilter::default(),
    }));
    let secrets = secret_variables.iter().filter_map(|name| std::env::var(name).ok());
    let environment = if servers.is_empty() {
        Vec::new()
    } else {
        tools::environment(config, secret_variables)?.variables()
    };
    let context = ServerContext {
        cwd: folders.cwd.to_owned(),
        additional_directories: folders.additional_directories.to_vec(),
        environment,
        secrets: secrets.collect(),
        limits: limits(config)?,
    };
    Ok(Wanted { servers, context })
}

/// The bounds that the configuration sets.
pub(crate) fn limits(config: &Config) -> anyhow::Result<McpLimits> {
    McpLimits::default()
        .output_chars(config.size(&settings::MCP_OUTPUT))
        .and_then(|limits| limits.tools(config.size(&settings::MCP_TOOLS)))
        .context("the bounds of MCP servers")
}

/// Servers that end with their agent.
pub(crate) struct Companions(pub(crate) Servers);

impl Companion for Companions {
    fn end(&self) -> BoxFuture<'_, ()> {
        self.0.close().boxed()
    }

    fn status(&self) -> Vec<String> {
        self.0.status()
    }
}

fn of_wire(transport: McpTransport) -> Transport {
    match transport {
        McpTransport::Stdio { command, args, env } => Transport::Stdio {
            command,
            args,
            env,
            cwd: None,
        },
        McpTransport::Http { url, headers } => Transport::Http { url, headers },
        McpTransport::Sse => Transport::Unusable {
            reason: "wants the transport sse, which is not supported; use http".to_owned(),
        },
    }
}

/// A variable's value, or why there is none.
fn variable(name: &str, secret_variables: &[String]) -> Result<String, String> {
    if secret_variables.iter().any(|secret| secret == name) {
        return Err(format!(
            "wants the environment variable {name}, which holds the key of a model provider"
        ));
    }
    std::env::var(name).map_err(|_unset| format!("wants the environment variable {name}, which is not set"))
}

fn of_config(
    config: &Config,
    name: &str,
    server: &McpServer,
    cwd: &Path,
    variable: &dyn Fn(&str) -> Result<String, String>,
) -> ServerConfig {
    let transport = transport(server, cwd, variable).unwrap_or_else(|reason| Transport::Unusable { reason });
    ServerConfig {
        name: name.to_owned(),
        transport,
        startup_timeout: server
            .startup_timeout
            .unwrap_or_else(|| config.span(&settings::MCP_STARTUP)),
        call_timeout: server.call_timeout.unwrap_or_else(|| config.span(&settings::MCP_CALL)),
        tools: ToolFilter {
            allow: server.allow_tools.clone(),
            deny: server.deny_tools.clone(),
        },
    }
}

/// How a configured server is reached, with the values of the variables that it names.
fn transport(
    server: &McpServer,
    session: &Path,
    variable: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Transport, String> {
    let texts = |map: &BTreeMap<String, String>| -> Result<Vec<(String, String)>, String> {
        map.iter()
            .map(|(name, text)| Ok((name.clone(), expand(text, variable)?)))
            .collect()
    };
    Ok(match &server.reached {
        Reached::Command {
            command,
            args,
            env,
            cwd,
        } => Transport::Stdio {
            command: expand(command, variable)?.into(),
            args: args.iter().map(|arg| expand(arg, variable)).collect::<Result<_, _>>()?,
            env: texts(env)?,
            cwd: cwd.as_ref().map(|cwd| session.join(cwd)),
        },
        Reached::Url { url, headers } => Transport::Http {
            url: expand(url, variable)?,
            headers: texts(headers)?,
        },
    })
}

/// The text with the values of variables in place of `${NAME}`. A `${` without an end stands for itself.
fn expand(text: &str, variable: &dyn Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, behind)) = behind.split_once('}') else {
            break;
        };
        expanded.push_str(before);
        expanded.push_str(&variable(name)?);
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Result<String, String> {
        match name {
            "A" => Ok("1".to_owned()),
            other => Err(format!("no {other}")),
        }
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(expand(text, &known), expected, "{text}");
    }

    #[test]
    fn variables_stand_for_their_values() {
        check("Bearer ${A}${A}!", Ok("Bearer 11!"));
        check("$A ${A", Ok("$A ${A"));
        check("plain", Ok("plain"));
        check("${B}", Err("no B"));
        check("${}", Err("no "));
    }

    #[test]
    fn the_key_of_a_provider_is_given_to_nobody() {
        let refused = variable("MY_KEY", &["MY_KEY".to_owned()]).expect_err("it is a provider's");
        assert_eq!(
            refused,
            "wants the environment variable MY_KEY, which holds the key of a model provider"
        );
    }

    #[test]
    fn a_clients_server_takes_the_place_of_a_configured_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "[mcp.a]\ncommand = \"mine\"\n[mcp.b]\ncommand = \"b\"\n[mcp.off]\ncommand = \"off\"\nenabled = false\n\
                    [mcp.unset]\ncommand = \"${WEFT_TEST_VARIABLE_THAT_IS_NOT_SET}\"\n";
        std::fs::write(folder.path().join("config.toml"), text).expect("a file");
        let config = Config::load(folder.path(), &crate::config::Overrides::default()).expect("it is good");
        let of_client = vec![weft_acp::McpServer {
            name: "a".into(),
            transport: McpTransport::Sse,
        }];
        let folders = Folders {
            cwd: Path::new("/"),
            additional_directories: &[],
        };
        let wanted = wanted(&config, of_client, &folders, &[]).expect("it can be told");
        let names: Vec<&str> = wanted.servers.iter().map(|server| &*server.name).collect();
        assert_eq!(names, ["b", "unset", "a"]);
        let unusable = |number: usize| match &wanted.servers[number].transport {
            Transport::Unusable { reason } => reason.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            unusable(1),
            "wants the environment variable WEFT_TEST_VARIABLE_THAT_IS_NOT_SET, which is not set"
        );
        assert_eq!(unusable(2), "wants the transport sse, which is not supported; use http");
    }
}
