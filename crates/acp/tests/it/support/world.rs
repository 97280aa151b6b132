//! The agents behind a connection.

use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use weft_acp::{AcpOptions, AgentFactory, AgentInfo, NewSession, OpenError};
use weft_agent::{Agent, AgentOptions, Jitter, PermissionMode};
use weft_model::{Model, ModelTable, ScriptedModel};
use weft_session::{MemoryLog, Session};
use weft_tools::{Approver, ToolLimits, ToolRegistry};
use weft_types::{Origin, SessionHeader, UnixMillis};

use super::TestTool;

/// One script, one root of tools, and the agents that were opened on them.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) script: ScriptedModel,
    pub(crate) tools: ToolRegistry,
    agents: Arc<Mutex<Vec<Agent>>>,
    approvers: Arc<Mutex<Vec<Weak<dyn Approver>>>>,
    opening: Arc<Mutex<Opening>>,
}

/// What becomes of a session that is to be opened.
#[derive(Clone, Debug, Default)]
pub(crate) enum Opening {
    #[default]
    Opens,
    Fails(OpenError),
    Hangs,
}

impl World {
    /// Agents that answer by this script and ask before they do something risky. A reply answers any number
    /// of times.
    #[track_caller]
    pub(crate) fn new(script: &str) -> Self {
        let script = script.replace("[[reply]]", "[[reply]]\ntimes = \"any\"");
        Self {
            script: ScriptedModel::from_toml(&script, Path::new("no-such-folder")).expect("a good script"),
            tools: ToolRegistry::new(ToolLimits::default()),
            agents: Arc::default(),
            approvers: Arc::default(),
            opening: Arc::default(),
        }
    }

    pub(crate) fn tool(self, tool: TestTool) -> Self {
        self.tools.register(Arc::new(tool)).expect("a good tool").keep();
        self
    }

    /// The agents that were opened, in order.
    pub(crate) fn agents(&self) -> Vec<Agent> {
        self.agents.lock().expect("no test panics under it").clone()
    }

    /// Forgets the agents, and gives the number of sessions whose approver is kept by something else.
    pub(crate) fn leftovers(&self) -> usize {
        self.agents.lock().expect("no test panics under it").clear();
        let approvers = self.approvers.lock().expect("no test panics under it");
        approvers.iter().filter(|approver| approver.strong_count() > 0).count()
    }

    /// From now on sessions open like that.
    pub(crate) fn set_opening(&self, opening: Opening) {
        *self.opening.lock().expect("no test panics under it") = opening;
    }

    pub(crate) fn options(&self) -> AcpOptions {
        let info = AgentInfo {
            name: "weft-test".into(),
            title: Some("Test".into()),
            version: "1.2.3".into(),
        };
        AcpOptions::new(Arc::new(self.clone()), info)
    }
}

impl AgentFactory for World {
    fn open(&self, new: NewSession) -> BoxFuture<'static, Result<Agent, OpenError>> {
        let world = self.clone();
        let opening = self.opening.lock().expect("no test panics under it").clone();
        async move {
            match opening {
                Opening::Opens => {}
                Opening::Fails(error) => return Err(error),
                Opening::Hangs => std::future::pending().await,
            }
            let header = SessionHeader {
                version: SessionHeader::VERSION,
                id: new.id,
                created_at: UnixMillis(0),
                cwd: new.cwd.to_string_lossy().into_owned(),
                origin: Origin::User,
                parent: None,
                depth: 0,
                label: None,
                run_id: None,
                run_seq: None,
            };
            let session = Session::create(
                header,
                Box::new(MemoryLog::default()),
                Arc::new(|| UnixMillis(0)),
                Vec::new(),
            );
            let model: Arc<dyn Model> = Arc::new(world.script.clone());
            let models = ModelTable::new(Some("test/model".into())).with("test", model);
            let approver = Arc::downgrade(&new.approver);
            world.approvers.lock().expect("no test panics under it").push(approver);
            let agent = Agent::spawn(AgentOptions {
                permissions: PermissionMode::Ask,
                approver: Some(new.approver),
                jitter: Jitter::new(|| 1.0),
                ..AgentOptions::new(session, Arc::new(models), world.tools.layer())
            });
            world
                .agents
                .lock()
                .expect("no test panics under it")
                .push(agent.clone());
            Ok(agent)
        }
        .boxed()
    }
}
