//! What all requests that give the client a session have in common: what they name, and what they are told.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_agent::{Agent, Command};

use crate::refusal::RequestError;
use crate::sdk::schema;
use crate::selectors::Selectors;
use crate::wire;
use crate::{McpServer, McpTransport};

/// What a client is told of a session that it is given.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The session's id.
    pub(crate) session: Arc<str>,
    /// Its modes, with the one in force.
    pub(crate) modes: schema::SessionModeState,
    /// Its options, with what is chosen.
    pub(crate) options: Vec<schema::SessionConfigOption>,
    commands: Vec<schema::AvailableCommand>,
}

impl Setup {
    pub(super) fn new(session: Arc<str>, agent: &Agent) -> Self {
        let selectors = Selectors::of(agent);
        Self {
            session,
            modes: selectors.modes(),
            options: selectors.options(),
            commands: agent.commands().iter().map(wire_command).collect(),
        }
    }

    /// The line that tells the session's commands; empty if there are none, or if it was taken before.
    pub(crate) fn take_commands(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        if !self.commands.is_empty() {
            let update = schema::AvailableCommandsUpdate::new(std::mem::take(&mut self.commands));
            let update = schema::SessionUpdate::AvailableCommandsUpdate(update);
            wire::write_update(
                &mut line,
                &schema::SessionNotification::new(Arc::clone(&self.session), update),
            );
        }
        line
    }
}

fn wire_command(command: &Command) -> schema::AvailableCommand {
    let input = |hint: &String| {
        schema::AvailableCommandInput::Unstructured(schema::UnstructuredCommandInput::new(hint.clone()))
    };
    schema::AvailableCommand::new(command.name.clone(), command.description.clone())
        .input(command.hint.as_ref().map(input))
}

/// The folders that a session works in are absolute and there: its `cwd`, and what the client names beside it.
pub(super) async fn check_folders(cwd: &Path, further: &[PathBuf]) -> Result<(), RequestError> {
    check_folder("cwd", cwd).await?;
    for folder in further {
        check_folder("additionalDirectories", folder).await?;
    }
    Ok(())
}

async fn check_folder(field: &str, folder: &Path) -> Result<(), RequestError> {
    let refuse = |why: &str| Err(RequestError::invalid(format!("`{field}` {} {why}", folder.display())));
    if !folder.is_absolute() {
        return refuse("is not an absolute path");
    }
    match tokio::fs::metadata(folder).await {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => refuse("is not a folder"),
        Err(error) => refuse(&format!("cannot be used: {error}")),
    }
}

/// Whether two paths name one folder: as they stand, or once links are followed.
pub(super) async fn is_same_folder(one: &Path, other: &Path) -> bool {
    if one == other {
        return true;
    }
    let (one, other) = (tokio::fs::canonicalize(one).await, tokio::fs::canonicalize(other).await);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

/// The servers that a client names, each by a name of its own.
pub(super) fn mcp_servers(servers: Vec<schema::McpServer>) -> Result<Vec<McpServer>, RequestError> {
    let mut names = HashSet::new();
    let mut known = Vec::with_capacity(servers.len());
    for server in servers {
        let server = mcp_server(server)?;
        if !names.insert(server.name.clone()) {
            let name = &server.name;
            return Err(RequestError::invalid(format!(
                "`mcpServers` names two servers `{name}`; give each a name of its own"
            )));
        }
        known.push(server);
    }
    Ok(known)
}

fn mcp_server(server: schema::McpServer) -> Result<McpServer, RequestError> {
    let (name, transport) = match server {
        schema::McpServer::Stdio(server) => {
            let env = server.env.into_iter().map(|variable| (variable.name, variable.value));
            let transport = McpTransport::Stdio {
                command: server.command,
                args: server.args,
                env: env.collect(),
            };
            (server.name, transport)
        }
        schema::McpServer::Http(server) => {
            let headers = server.headers.into_iter().map(|header| (header.name, header.value));
            let transport = McpTransport::Http {
                url: server.url,
                headers: headers.collect(),
            };
            (server.name, transport)
        }
        schema::McpServer::Sse(server) => (server.name, McpTransport::Sse),
        _ => {
            return Err(RequestError::invalid(
                "`mcpServers` holds a server of a kind that is not supported; use `stdio` or `http`",
            ));
        }
    };
    Ok(McpServer { name, transport })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(servers: Value) -> Result<Vec<McpServer>, RequestError> {
        mcp_servers(serde_json::from_value(servers).expect("servers as the schema has them"))
    }

    #[test]
    fn servers_of_every_known_kind_are_passed_on() {
        let servers = json!([
            {"name": "a", "command": "/bin/a", "args": ["-x"], "env": [{"name": "K", "value": "v"}]},
            {"type": "http", "name": "b", "url": "https://b", "headers": [{"name": "H", "value": "w"}]},
            {"type": "sse", "name": "c", "url": "https://c", "headers": []},
        ]);
        let expected = [
            (
                "a",
                McpTransport::Stdio {
                    command: "/bin/a".into(),
                    args: vec!["-x".into()],
                    env: vec![("K".into(), "v".into())],
                },
            ),
            (
                "b",
                McpTransport::Http {
                    url: "https://b".into(),
                    headers: vec![("H".into(), "w".into())],
                },
            ),
            ("c", McpTransport::Sse),
        ];
        let expected = expected.map(|(name, transport)| McpServer {
            name: name.to_owned(),
            transport,
        });
        assert_eq!(read(servers).expect("they are good"), expected);
    }

    #[test]
    fn two_servers_of_one_name_are_refused() {
        let server = json!({"name": "a", "command": "/bin/a", "args": [], "env": []});
        let refused = read(json!([server, server])).expect_err("they have one name");
        assert!(
            format!("{refused:?}").contains("`mcpServers` names two servers `a`"),
            "{refused:?}"
        );
    }
}
