//! Where the parts become an agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use weft_acp::{AgentFactory, NewSession, OpenError};
use weft_agent::{Agent, AgentOptions, InProcess, Limits, PermissionMode, SubagentLimits, Subagents};
use weft_model::{AgentRole, Models};
use weft_session::{Clock, Invariant, MemorySessions, Sessions, SystemClock};
use weft_tool_workflow::RecordInvariant;
use weft_tools::{CallLimits, ToolRegistry};
use weft_types::{Origin, SessionHeader};

use crate::config::{Config, settings};
use crate::models::Providers;
use crate::{prompt, tools};

/// What all sessions of a process share.
pub(crate) struct Composition {
    config: Config,
    providers: Providers,
    sessions: Arc<dyn Sessions>,
    clock: Arc<dyn Clock>,
}

impl Composition {
    /// Sets everything up. `export` is a folder for the sessions' logs; it is made if it is missing.
    pub(crate) fn new(config: Config, providers: Providers, export: Option<PathBuf>) -> anyhow::Result<Self> {
        if let Some(folder) = &export {
            let path = folder.display();
            std::fs::create_dir_all(folder).with_context(|| format!("failed to make the export folder {path}"))?;
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let sessions = Arc::new(MemorySessions {
            clock: Arc::clone(&clock),
            invariants: Arc::new(|| vec![Box::new(RecordInvariant::default()) as Box<dyn Invariant>]),
        });
        let composition = Self {
            config,
            providers,
            sessions,
            clock,
        };
        // What is wrong with the user's own settings stops the start, not the first session.
        composition.limits(&composition.config)?;
        tools::check(&composition.config)?;
        Ok(composition)
    }

    fn open(&self, session: NewSession) -> Result<Agent, OpenError> {
        let config = self
            .config
            .for_project(&session.cwd)
            .map_err(|error| OpenError::Refused(error.to_string()))?;
        self.agent(&config, session)
            .map_err(|error| OpenError::Failed(format!("{error:#}")))
    }

    fn agent(&self, config: &Config, session: NewSession) -> anyhow::Result<Agent> {
        let models: Arc<dyn Models> = Arc::new(self.providers.table(config.text(&settings::MODEL)));
        let base = tools::registry(config, &self.providers.secret_variables)?;
        let limits = self.limits(config)?;
        let log = self.sessions.create(self.header(&session))?;
        let options = AgentOptions {
            system: prompt::main_agent(&session.cwd).into(),
            role: AgentRole::Main,
            limits,
            permissions: permissions(config),
            approver: Some(session.approver),
            subagents: self.subagents(config, &models, &base, limits)?,
            ..AgentOptions::new(log, models, base.layer())
        };
        Ok(Agent::spawn(options))
    }

    fn subagents(
        &self,
        config: &Config,
        models: &Arc<dyn Models>,
        base: &ToolRegistry,
        limits: Limits,
    ) -> anyhow::Result<Arc<Subagents>> {
        let depth = u32::try_from(config.count(&settings::MAX_DEPTH))?;
        let provider = InProcess {
            system: prompt::subagent().into(),
            limits,
            bounds: SubagentLimits::default().max_depth(depth)?,
            clock: Arc::clone(&self.clock),
            ..InProcess::new(Arc::clone(&self.sessions), Arc::clone(models), base.clone())
        };
        let subagents = Subagents::new();
        subagents.register(Subagents::DEFAULT_PROVIDER, Arc::new(provider));
        Ok(Arc::new(subagents))
    }

    fn limits(&self, config: &Config) -> anyhow::Result<Limits> {
        let calls = CallLimits::default().max_parallel(config.size(&settings::MAX_PARALLEL_CALLS))?;
        Ok(Limits::default()
            .max_steps(u32::try_from(config.count(&settings::MAX_STEPS))?)?
            .attempts(u32::try_from(config.count(&settings::MAX_ATTEMPTS))?)?
            .retry_after_max(config.span(&settings::MAX_RETRY_WAIT))?
            .calls(calls))
    }

    fn header(&self, session: &NewSession) -> SessionHeader {
        SessionHeader {
            version: SessionHeader::VERSION,
            id: session.id.clone(),
            created_at: self.clock.now(),
            cwd: folder(&session.cwd),
            origin: Origin::User,
            parent: None,
            depth: 0,
            label: None,
            run_id: None,
            run_seq: None,
        }
    }
}

impl AgentFactory for Composition {
    fn open(&self, session: NewSession) -> BoxFuture<'static, Result<Agent, OpenError>> {
        std::future::ready(self.open(session)).boxed()
    }
}

fn permissions(config: &Config) -> PermissionMode {
    match config.text(&settings::MODE) {
        Some("full") => PermissionMode::Full,
        _ => PermissionMode::Ask,
    }
}

fn folder(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
