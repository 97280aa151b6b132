//! A world for one agent: a session that is watched, a model that is spied on, tools made of closures.

mod family;
mod model;
mod store;
mod tool;
mod watch;

use std::sync::Arc;

use weft_agent::{Agent, AgentOptions, Jitter};
use weft_session::{MemoryLog, Restore, Session};
use weft_tools::{ToolLimits, ToolRegistry};
use weft_types::{ContentBlock, Event, Origin, SessionHeader, TurnEnd, UnixMillis};

pub(crate) use family::{Family, last_end, refused};
pub(crate) use model::{SpyModels, events, well_formed};
pub(crate) use store::Stored;
pub(crate) use tool::{TestTool, hold, take_signal};
pub(crate) use watch::{Watch, end};

/// One agent and everything around it.
pub(crate) struct World {
    pub(crate) agent: Agent,
    pub(crate) models: SpyModels,
    pub(crate) tools: ToolRegistry,
    pub(crate) watch: Watch,
}

impl World {
    /// An agent with full permissions on this script.
    #[track_caller]
    pub(crate) fn new(script_toml: &str) -> Self {
        Self::with(SpyModels::script(script_toml), |_| {})
    }

    /// An agent on these models, with other options.
    pub(crate) fn with(models: SpyModels, change: impl FnOnce(&mut AgentOptions)) -> Self {
        let root = ToolRegistry::new(ToolLimits::default());
        let mut options = options(&models, root.layer());
        change(&mut options);
        let watch = Watch::new(&options.session);
        let agent = Agent::spawn(options);
        Self {
            agent,
            models,
            tools: root,
            watch,
        }
    }

    /// The same with this tool.
    pub(crate) fn tool(self, tool: TestTool) -> Self {
        self.tools.register(Arc::new(tool)).expect("a good tool").keep();
        self
    }

    /// Prompts and waits for the end.
    pub(crate) async fn prompt(&self, text: &str) -> TurnEnd {
        self.agent.prompt(say(text)).expect("idle and open").ended().await
    }
}

/// Options as the tests want them: full permissions, no jitter.
pub(crate) fn options(models: &SpyModels, tools: ToolRegistry) -> AgentOptions {
    AgentOptions {
        permissions: Arc::new(weft_agent::Permissions::new(weft_agent::PermissionMode::Full)),
        jitter: Jitter::new(|| 1.0),
        system: "be brief".into(),
        ..AgentOptions::new(session(), Arc::new(models.clone()), tools)
    }
}

pub(crate) fn say(text: &str) -> Vec<ContentBlock> {
    vec![ContentBlock::text(text)]
}

pub(crate) fn header(id: &str) -> SessionHeader {
    SessionHeader {
        version: SessionHeader::VERSION,
        id: id.into(),
        created_at: UnixMillis(0),
        cwd: "/srv/project".to_owned(),
        origin: Origin::User,
        parent: None,
        depth: 0,
        label: None,
        run_id: None,
        run_seq: None,
    }
}

pub(crate) fn session() -> Arc<Session> {
    Session::create(
        header("main"),
        Box::new(MemoryLog::default()),
        Arc::new(|| UnixMillis(0)),
        Vec::new(),
    )
}

/// The session that goes on from these events, not yet repaired.
#[track_caller]
pub(crate) fn restored(events: &[Arc<Event>]) -> Arc<Session> {
    let mut restore = Restore::new(header("main"), Vec::new());
    for event in events {
        restore.push(event).expect("a valid prefix");
    }
    restore.finish(
        Box::new(MemoryLog::holding(events.to_vec())),
        Arc::new(|| UnixMillis(0)),
    )
}

/// How many tasks of this runtime are alive.
pub(crate) fn alive_tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// Waits until no task of this runtime is alive.
pub(crate) async fn no_tasks_left() {
    while alive_tasks() > 0 {
        tokio::task::yield_now().await;
    }
}
