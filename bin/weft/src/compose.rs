//! Where the parts become an agent.

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use weft_acp::{AgentFactory, LoadSession, Loading, NewSession, OpenError, PeerProgram, SessionSetup};
use weft_agent::{
    Agent, AgentOptions, Chosen, Companion, ContextLimits, InProcess, Limits, Permissions, ProjectTrust,
    SubagentLimits, Subagents,
};
use weft_mcp::Servers;
use weft_model::{AgentRole, Models};
use weft_session::{Clock, FileStore, Session, Sessions as _};
use weft_tools::{AdditionalDirectories, Approver, CallLimits, Extensions, ProtectedPaths, ToolRegistry};
use weft_types::{Origin, SessionHeader};

use crate::config::{Config, settings};
use crate::direct::{DirectCall, OneCall};
use crate::models::Providers;
use crate::prompt::{Briefing, Sources};
use crate::trust::TrustCommand;
use crate::workflows::Workflows;
use crate::{mcp, peers, permissions, tools};

/// Makes the agents of a process. Clones are the same.
#[derive(Clone)]
pub(crate) struct Composition {
    shared: Arc<Shared>,
}

/// What all sessions of a process share.
struct Shared {
    config: Config,
    providers: Providers,
    store: FileStore,
    clock: Arc<dyn Clock>,
    /// The agents of others. Only the user's own file names any, so that they are the same in every project.
    peers: Vec<PeerProgram>,
    /// What the users' agents do instead of asking a model.
    call: Option<DirectCall>,
}

impl Composition {
    /// Sets everything up. Sessions are kept in `store`, subagents' as well. With a `call`, a session's own agent makes that
    /// instead of asking a model.
    pub(crate) fn new(
        config: Config,
        providers: Providers,
        store: FileStore,
        clock: Arc<dyn Clock>,
        call: Option<DirectCall>,
    ) -> anyhow::Result<Self> {
        let peers = peers::configured(&config, &providers.secret_variables)?;
        let shared = Shared {
            peers: peers.into_iter().map(PeerProgram::new).collect(),
            config,
            providers,
            store,
            clock,
            call,
        };
        // What is wrong with the user's own settings stops the start, not the first session.
        shared.limits(&shared.config)?;
        tools::check(&shared.config)?;
        mcp::limits(&shared.config)?;
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Reads what the project in `cwd` sets and sets up its agent, on a thread that may block.
    async fn prepare(&self, setup: SessionSetup) -> Result<Prepared, OpenError> {
        let shared = Arc::clone(&self.shared);
        let prepared = tokio::task::spawn_blocking(move || shared.prepare(setup)).await;
        let mut prepared =
            prepared.unwrap_or_else(|error| Err(OpenError::Failed(format!("failed to set up a session: {error}"))))?;
        prepared.start_servers().await;
        Ok(prepared)
    }
}

/// An agent that lacks nothing but its session.
struct Prepared {
    models: Arc<dyn Models>,
    tools: ToolRegistry,
    briefing: Briefing,
    limits: Limits,
    permissions: Arc<Permissions>,
    lent: Extensions,
    approver: Arc<dyn Approver>,
    subagents: Arc<Subagents>,
    mcp: mcp::Wanted,
    trust: Arc<dyn ProjectTrust>,
    companions: Vec<Arc<dyn Companion>>,
    notices: Vec<String>,
}

impl Prepared {
    /// Starts its MCP servers and gives it their tools. Subagents have the same ones.
    async fn start_servers(&mut self) {
        let servers = std::mem::take(&mut self.mcp.servers);
        if servers.is_empty() {
            return;
        }
        let mut started = Servers::start(servers, self.mcp.context.clone()).await;
        started.register(&self.tools);
        self.notices.extend(started.take_notices());
        self.briefing.add(&started.instructions);
        self.companions.push(Arc::new(mcp::Companions(started.servers)));
    }

    /// Starts it, inside of the runtime, with what was chosen in its session. A model that is there no more is passed
    /// over.
    fn start(self, session: Arc<Session>, chosen: Chosen) -> Agent {
        if let Some(mode) = chosen.mode {
            self.permissions.set_mode(mode);
        }
        self.permissions.restore(&chosen.rules);
        let is_there = |model: &String| self.models.resolve(Some(model)).is_ok();
        Agent::spawn(AgentOptions {
            model: chosen.model.filter(is_there),
            system: self.briefing.main_agent(session.header().created_at).into(),
            commands: self.briefing.commands(),
            role: AgentRole::Main,
            limits: self.limits,
            permissions: self.permissions,
            lent: self.briefing.lend(self.lent),
            approver: Some(self.approver),
            subagents: self.subagents,
            trust: Some(self.trust),
            companions: self.companions,
            notices: self.notices,
            ..AgentOptions::new(session, self.models, self.tools.layer())
        })
    }
}

impl Shared {
    fn prepare(&self, setup: SessionSetup) -> Result<Prepared, OpenError> {
        let config = self
            .config
            .for_project(&setup.cwd)
            .map_err(|error| OpenError::Refused(error.to_string()))?;
        self.agent(&config, setup)
            .map_err(|error| OpenError::Failed(format!("{error:#}")))
    }

    fn agent(&self, config: &Config, setup: SessionSetup) -> anyhow::Result<Prepared> {
        let SessionSetup {
            cwd,
            additional_directories,
            mcp_servers,
            lent,
            approver,
        } = setup;
        let folders = mcp::Folders {
            cwd: &cwd,
            additional_directories: &additional_directories,
        };
        let mcp = mcp::wanted(config, mcp_servers, &folders, &self.providers.secret_variables)?;
        let models: Arc<dyn Models> = Arc::new(self.providers.table(config.text(&settings::MODEL)));
        let workflows = Workflows::of(config, &cwd);
        let tools = tools::registry(config, &self.providers.secret_variables, Some(Arc::new(workflows)))?;
        let limits = self.limits(config)?;
        let mut briefing = Briefing::gather(&Sources::of(config, &cwd, &additional_directories));
        // The user is told what of the project's settings is left aside; no model is.
        let left_aside = config.project.notice(&cwd);
        let notices = left_aside.into_iter().chain(briefing.take_notices()).collect();
        Ok(Prepared {
            limits,
            permissions: Arc::new(permissions::open(config, &cwd)?),
            lent: (lent.with(Arc::new(AdditionalDirectories(additional_directories))))
                .with(Arc::new(self.protected(config)))
                .with(Arc::new(self.store.clone())),
            approver,
            subagents: self.subagents(config, &models, &tools, (limits, &briefing))?,
            briefing,
            models: match &self.call {
                Some(call) => Arc::new(OneCall::instead_of(models, call.clone())),
                None => models,
            },
            tools,
            mcp,
            trust: Arc::new(TrustCommand::new(config.home(), &cwd)),
            companions: Vec::new(),
            notices,
        })
    }

    /// Weft's own files, wherever they are: what is in them decides what weft does.
    fn protected(&self, config: &Config) -> ProtectedPaths {
        ProtectedPaths(vec![config.home().to_owned(), self.store.root().to_owned()])
    }

    fn subagents(
        &self,
        config: &Config,
        models: &Arc<dyn Models>,
        base: &ToolRegistry,
        (limits, briefing): (Limits, &Briefing),
    ) -> anyhow::Result<Arc<Subagents>> {
        let provider = InProcess {
            system: briefing.subagent().into(),
            limits,
            bounds: subagent_limits(config)?,
            clock: Arc::clone(&self.clock),
            ..InProcess::new(Arc::new(self.store.clone()), Arc::clone(models), base.clone())
        };
        let subagents = Subagents::new();
        peers::register(&self.peers, &provider, &subagents);
        subagents.register(Subagents::DEFAULT_PROVIDER, Arc::new(provider));
        Ok(Arc::new(subagents))
    }

    fn limits(&self, config: &Config) -> anyhow::Result<Limits> {
        let calls = CallLimits::default().max_parallel(config.size(&settings::MAX_PARALLEL_CALLS))?;
        let context = ContextLimits::default()
            .compact_at(config.count(&settings::COMPACT_AT))?
            .results(config.count(&settings::RESULTS_PERCENT))?;
        Ok(Limits::default()
            .context(context)
            .max_steps(u32::try_from(config.count(&settings::MAX_STEPS))?)?
            .max_repeats(u32::try_from(config.count(&settings::MAX_REPEATS))?)?
            .attempts(u32::try_from(config.count(&settings::MAX_ATTEMPTS))?)?
            .retry_after_max(config.span(&settings::MAX_RETRY_WAIT))?
            .calls(calls))
    }

    fn header(&self, session: &NewSession) -> SessionHeader {
        SessionHeader {
            version: SessionHeader::VERSION,
            id: session.id.clone(),
            created_at: self.clock.now(),
            cwd: folder(&session.setup.cwd),
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
        let composition = self.clone();
        async move {
            let header = composition.shared.header(&session);
            let prepared = composition.prepare(session.setup).await?;
            let log = composition.shared.store.create(header);
            let log = log.map_err(|error| OpenError::Failed(error.to_string()))?;
            Ok(prepared.start(log, Chosen::default()))
        }
        .boxed()
    }

    fn load(&self, session: LoadSession) -> BoxFuture<'static, Result<Loading, OpenError>> {
        let composition = self.clone();
        async move {
            let prepared = composition.prepare(session.setup).await?;
            Ok(Loading {
                presenter: prepared.tools.clone(),
                models: Arc::clone(&prepared.models),
                start: Box::new(|session, chosen| prepared.start(session, chosen)),
            })
        }
        .boxed()
    }
}

/// What subagents, and answers in a schema, are held to.
pub(crate) fn subagent_limits(config: &Config) -> anyhow::Result<SubagentLimits> {
    let number = |setting| u32::try_from(config.count(setting));
    let limits = SubagentLimits::default()
        .max_depth(number(&settings::MAX_DEPTH)?)?
        .reminders(number(&settings::SCHEMA_REMINDERS)?)?
        .schema_tries(number(&settings::SCHEMA_TRIES)?)?;
    Ok(limits)
}

fn folder(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
