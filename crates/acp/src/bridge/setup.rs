//! What all requests that give the client a session have in common.

use std::path::{Path, PathBuf};

use crate::refusal::RequestError;
use crate::sdk::schema;

/// A session has one folder; the client was not told that it may name more.
pub(super) fn no_further_folders(folders: &[PathBuf]) -> Result<(), RequestError> {
    if folders.is_empty() {
        return Ok(());
    }
    Err(RequestError::invalid(
        "`additionalDirectories` are not supported; leave them out",
    ))
}

/// The folder of a session is absolute and there.
pub(super) async fn check_cwd(cwd: &Path) -> Result<(), RequestError> {
    let refuse = |why: &str| Err(RequestError::invalid(format!("`cwd` {} {why}", cwd.display())));
    if !cwd.is_absolute() {
        return refuse("is not an absolute path");
    }
    match tokio::fs::metadata(cwd).await {
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

/// What the user is told of servers that the session does without. Editors send the servers of their own
/// settings to every agent, so that refusing them would refuse the session.
pub(super) fn unavailable(servers: &[schema::McpServer]) -> Option<String> {
    let names: Vec<String> = servers.iter().filter_map(server_name).collect();
    (!servers.is_empty()).then(|| {
        format!(
            "[MCP servers are not supported yet: the tools of {} are not available in this session]\n\n",
            names.join(", ")
        )
    })
}

fn server_name(server: &schema::McpServer) -> Option<String> {
    let name = match server {
        schema::McpServer::Http(server) => &server.name,
        schema::McpServer::Sse(server) => &server.name,
        schema::McpServer::Stdio(server) => &server.name,
        _ => return None,
    };
    Some(format!("`{}`", name.replace(['`', '\n', '\r'], " ")))
}
