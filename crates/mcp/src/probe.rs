//! Trying one server, for people.

use crate::{Failure, ServerConfig, ServerContext, Servers};

/// What came of trying one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The server's name.
    pub name: String,
    /// The names by which a model would call its tools, or why it cannot be used; [`Failure::hint`] says what to do.
    pub outcome: Result<Vec<String>, Failure>,
    /// What it does offer but is left out, and why.
    pub notes: Vec<String>,
}

/// Starts a server, asks what it offers and ends it again. Takes no longer than the server's own limit and three
/// seconds; dropping the future kills what was started.
pub async fn probe(config: ServerConfig, context: ServerContext) -> Probe {
    let name = config.name.clone();
    let mut started = Servers::start(vec![config], context).await;
    let failed = started.failures.pop().map(|(_, failure)| failure);
    let tools = started.tool_names();
    started.servers.close().await;
    Probe {
        name,
        outcome: failed.map_or(Ok(tools), Err),
        notes: started.notices,
    }
}
