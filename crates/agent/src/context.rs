//! What an agent lends to its tools.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use weft_model::Models;
use weft_session::Session;
use weft_tools::{Approver, Extensions};
use weft_types::AgentId;

use crate::{ModelChoice, Permissions, Subagents};

/// The calling agent, as a tool sees it: an [extension](weft_tools::ToolExecution::extension) of every
/// execution of the agent's calls. It keeps no agent alive.
#[derive(Clone)]
pub struct AgentContext {
    /// The agent.
    pub agent: AgentId,
    /// Its session.
    pub session: Arc<Session>,
    /// The folder it works in.
    pub cwd: PathBuf,
    /// How many parents stand above it; 0 for a user's agent.
    pub depth: u32,
    /// Where it may start other agents.
    pub subagents: Arc<Subagents>,
    /// What it may do.
    pub permissions: Arc<Permissions>,
    /// Whom it asks; absent if it can ask nobody.
    pub approver: Option<Arc<dyn Approver>>,
    /// What it lends to its tools beside its folder and itself.
    pub lent: Extensions,
    /// Where it finds its models.
    pub models: Arc<dyn Models>,
    /// The model it was told to use.
    pub model: Arc<ModelChoice>,
}

impl fmt::Debug for AgentContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentContext")
            .field("agent", &self.agent)
            .field("session", self.session.id())
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}
