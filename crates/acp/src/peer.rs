//! Agents of others as subagents: weft is their client.
//!
//! A [`Peer`] is a provider of subagents that are another program, started for each of them and spoken with over its
//! stdin and stdout. To the rest of weft such a subagent is one like any other, an agent with a log and cards: its
//! [`model`] is the program, which answers a prompt with text and with calls, and the body of such a
//! [`call`] waits until the program says that it is over. So a cancel, the order of the log, the cards and the
//! activity are the same code for both. What the program says and nobody has taken yet is in the [`inbox`].
//!
//! Order in a log is stricter than in the protocol: the calls of one answer end before the next answer begins. A call
//! that the program makes while others of it are open stands in the log after those; a [`question`] about it is
//! asked at once all the same, on the card of one that is open.
//!
//! The process is started with the first prompt: a host that cannot be reached is the failure of that subagent, which has
//! a log that says so, and of nobody else.
//!
//! The program is offered neither files nor terminals: it may run on another machine, where the paths of this one mean
//! nothing, and one that runs here has them anyway.

mod call;
mod card;
mod config;
mod failure;
mod inbox;
mod link;
mod model;
mod probe;
mod question;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use weft_agent::{
    InProcess, Limits, SubagentCapabilities, SubagentError, SubagentErrorCode, SubagentProvider, SubagentRequest,
    SubagentRun,
};
use weft_tools::{CallLimits, InvalidLimit, RegisterError, Registration, ToolRegistry};

use call::PeerCall;
use link::Link;
use model::PeerModels;

pub use config::{PeerConfig, PeerLimits};
pub use failure::Failure;
pub use probe::{Probe, probe};

/// A configured program, with a place for each of its processes that may run at a time, whichever session they are for.
/// Clones are the same.
#[derive(Clone, Debug)]
pub struct PeerProgram {
    config: Arc<PeerConfig>,
    places: Arc<Semaphore>,
}

impl PeerProgram {
    /// A program of which nothing runs yet.
    pub fn new(config: PeerConfig) -> Self {
        Self {
            places: Arc::new(Semaphore::new(config.limits.max_processes)),
            config: Arc::new(config),
        }
    }
}

/// The provider `acp:NAME`: each of its agents is a process of one configured program. Clones are the same.
///
/// Its agents take no model, since they bring their own. An answer in a schema is asked for in words and checked here.
#[derive(Clone)]
pub struct Peer {
    program: PeerProgram,
    /// What its agents have in common with those of this process.
    base: InProcess,
}

impl Peer {
    /// A provider of agents that are this program. `base` tells where their sessions are kept, which layer of tools theirs
    /// are within, and their bounds.
    pub fn new(program: PeerProgram, base: InProcess) -> Self {
        Self { program, base }
    }

    /// The name that requests give it.
    pub fn provider_name(&self) -> String {
        format!("acp:{}", self.program.config.name)
    }

    /// Has a layer of tools present the calls of agents of that name, wherever a log with them is shown.
    ///
    /// # Errors
    /// The layer has a tool of that name.
    pub fn present(name: &str, tools: &ToolRegistry) -> Result<Registration, RegisterError> {
        tools.register_unlisted(Arc::new(PeerCall::presenting(name)))
    }

    fn run(&self, request: &SubagentRequest) -> Result<InProcess, SubagentError> {
        self.base.admits(request)?;
        let folder = Path::new(&request.parent.session.header().cwd);
        let link = Arc::new(Link::new(self.program.clone(), folder));
        let tools = self.tools(&link).map_err(|reason| self.not_started(&reason))?;
        Ok(InProcess {
            models: Arc::new(PeerModels::new(Arc::clone(&link))),
            tools,
            system: "".into(),
            limits: self.limits().map_err(|error| self.not_started(&error.to_string()))?,
            companions: vec![link],
            ..self.base.clone()
        })
    }

    /// Nothing but its own calls: what it can do is its own business.
    fn tools(&self, link: &Arc<Link>) -> Result<ToolRegistry, String> {
        let tools = self.base.tools.layer();
        let hidden = tools.restrict(Some(&[]), None).map_err(|error| error.to_string())?;
        hidden.keep();
        let calls = PeerCall::of(&self.program.config.name, Arc::clone(link));
        let registered = tools
            .register_unlisted(Arc::new(calls))
            .map_err(|error| error.to_string())?;
        registered.keep();
        Ok(tools)
    }

    /// All calls that the program has made are waited for at once, since it makes them whether they are or not.
    fn limits(&self) -> Result<Limits, InvalidLimit> {
        Ok(self.base.limits.calls(CallLimits::default().max_parallel(MAX_WAITED)?))
    }

    fn not_started(&self, reason: &str) -> SubagentError {
        let message = format!("the agent {}: {reason}", self.program.config.name);
        SubagentError::new(SubagentErrorCode::StartFailed, message)
    }
}

/// How many calls of one answer are waited for at a time.
const MAX_WAITED: usize = 64;

impl SubagentProvider for Peer {
    fn capabilities(&self) -> SubagentCapabilities {
        SubagentCapabilities {
            output_schema: true,
            model: false,
            tools: false,
        }
    }

    fn start(&self, request: SubagentRequest) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, SubagentError>> {
        match self.run(&request) {
            Ok(agent) => agent.start(request),
            Err(error) => std::future::ready(Err(error)).boxed(),
        }
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
