//! Trying one program, for people.

use std::path::Path;

use weft_agent::Companion as _;

use super::link::Link;
use super::{Failure, PeerConfig, PeerProgram};

/// What came of trying one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its name in the configuration.
    pub name: String,
    /// What it says that it is, name and version; or why it is of no use, where [`Failure::hint`] says what to do.
    pub outcome: Result<String, Failure>,
}

/// Starts a program, has it make a session in the folder as for a subagent, and ends it again. Takes no longer than the
/// program's own limit and a few seconds; dropping the future kills what was started.
pub async fn probe(config: PeerConfig, cwd: &Path) -> Probe {
    let name = config.name.clone();
    let link = Link::new(PeerProgram::new(config), cwd);
    let outcome = link.connect().await.map(|()| {
        let hello = link.hello().unwrap_or_default();
        let words = [hello.name.as_deref(), hello.version.as_deref()];
        let told = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        if told.is_empty() {
            "an agent without a name".to_owned()
        } else {
            told
        }
    });
    link.end().await;
    Probe { name, outcome }
}
