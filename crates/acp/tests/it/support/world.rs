//! The agents behind a connection.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tempfile::TempDir;
use tokio::sync::Notify;
use weft_acp::{AcpOptions, AgentFactory, AgentInfo, LoadSession, Loading, NewSession, OpenError};
use weft_agent::{Agent, AgentOptions, Chosen, Command, Jitter, Permissions};
use weft_model::{
    Model, ModelError, ModelErrorKind, ModelInfo, ModelRequest, ModelStream, ModelTable, Models, ResolvedModel,
    ScriptedModel,
};
use weft_session::{FileStore, MemoryLog, Session, Sessions as _, StoreOptions};
use weft_tools::{Approver, Extensions, ToolLimits, ToolRegistry};
use weft_types::{Origin, SessionHeader, UnixMillis};

use super::TestTool;

/// One script, one root of tools, and the agents that were opened on them.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) script: ScriptedModel,
    pub(crate) tools: ToolRegistry,
    /// The commands of its agents.
    commands: Vec<Command>,
    agents: Arc<Mutex<Vec<Agent>>>,
    approvers: Arc<Mutex<Vec<Weak<dyn Approver>>>>,
    opening: Arc<Mutex<Opening>>,
    /// What the model was asked.
    requests: Arc<Mutex<Vec<String>>>,
    /// What the last session's client lends.
    lent: Arc<Mutex<Extensions>>,
    /// Which models were asked.
    asked: Arc<Mutex<Vec<String>>>,
    /// Where sessions are kept: nowhere, unless there is a folder.
    pub(crate) store: FileStore,
    folder: Option<Arc<TempDir>>,
}

/// What becomes of a session that is to be opened.
#[derive(Clone, Debug, Default)]
pub(crate) enum Opening {
    #[default]
    Opens,
    Fails(OpenError),
    /// And says so.
    Hangs(Arc<Notify>),
}

impl Opening {
    async fn await_fate(self) -> Result<(), OpenError> {
        match self {
            Self::Opens => Ok(()),
            Self::Fails(error) => Err(error),
            Self::Hangs(reached) => {
                reached.notify_one();
                std::future::pending().await
            }
        }
    }
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
            commands: Vec::new(),
            agents: Arc::default(),
            approvers: Arc::default(),
            opening: Arc::default(),
            requests: Arc::default(),
            lent: Arc::default(),
            asked: Arc::default(),
            store: store(Path::new("/no-such-folder/weft")),
            folder: None,
        }
    }

    /// The same with sessions that are kept in files.
    pub(crate) fn stored(self) -> Self {
        self.in_folder(Arc::new(tempfile::tempdir().expect("a temporary folder")))
    }

    /// The same on the files of another world, as a process of its own.
    pub(crate) fn beside(self, other: &Self) -> Self {
        self.in_folder(Arc::clone(other.folder.as_ref().expect("a stored world")))
    }

    fn in_folder(self, folder: Arc<TempDir>) -> Self {
        Self {
            store: store(&folder.path().join("sessions")),
            folder: Some(folder),
            ..self
        }
    }

    /// The same with these commands.
    pub(crate) fn with_commands(self, commands: &[Command]) -> Self {
        Self {
            commands: commands.to_vec(),
            ..self
        }
    }

    /// Everything that the model was given with its last request.
    pub(crate) fn last_request(&self) -> String {
        let requests = self.requests.lock().expect("no test panics under it");
        requests.last().expect("a request").clone()
    }

    /// The models that were asked, in order.
    pub(crate) fn models_asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test panics under it").clone()
    }

    /// A new folder for a session to work in.
    pub(crate) fn work_folder(&self, name: &str) -> PathBuf {
        let folder = self.folder.as_ref().expect("a stored world").path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        folder
    }

    /// Where the log of a session is.
    pub(crate) fn log(&self, session: &str) -> PathBuf {
        self.store.root().join(session).join("log.jsonl")
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

    /// Two providers of the same script, and one without its key.
    fn models(&self) -> Arc<dyn Models> {
        let model: Arc<dyn Model> = Arc::new(self.clone());
        let table = ModelTable::new(Some("test/model".into())).with("test", Arc::clone(&model));
        Arc::new(Listed(table.with("other", model).with("keyless", Arc::new(Keyless))))
    }

    fn agent(&self, session: Arc<Session>, approver: Arc<dyn Approver>, tools: ToolRegistry, chosen: Chosen) -> Agent {
        let known = Arc::downgrade(&approver);
        self.approvers.lock().expect("no test panics under it").push(known);
        let permissions = Arc::new(Permissions::new(chosen.mode.unwrap_or_default()));
        permissions.restore(&chosen.rules);
        let agent = Agent::spawn(AgentOptions {
            approver: Some(approver),
            model: chosen.model,
            permissions,
            commands: self.commands.clone(),
            lent: self.lent.lock().expect("no test panics under it").clone(),
            jitter: Jitter::new(|| 1.0),
            ..AgentOptions::new(session, self.models(), tools)
        });
        // One that is kept would keep its session's lock.
        if self.folder.is_none() {
            self.agents.lock().expect("no test panics under it").push(agent.clone());
        }
        agent
    }

    pub(crate) fn options(&self) -> AcpOptions {
        let info = AgentInfo {
            name: "weft-test".into(),
            title: Some("Test".into()),
            version: "1.2.3".into(),
        };
        AcpOptions::new(Arc::new(self.clone()), self.store.clone(), info)
    }
}

/// When everything happens that is stored.
const NOW: UnixMillis = UnixMillis(1_732_973_412_345);

/// What stands before the events of a user's session.
pub(crate) fn header(id: &str, cwd: &str) -> SessionHeader {
    SessionHeader {
        version: SessionHeader::VERSION,
        id: id.into(),
        created_at: NOW,
        cwd: cwd.to_owned(),
        origin: Origin::User,
        parent: None,
        depth: 0,
        label: None,
        run_id: None,
        run_seq: None,
    }
}

fn store(root: &Path) -> FileStore {
    let options = StoreOptions {
        clock: Arc::new(|| NOW),
        page_events: 64,
        ..StoreOptions::new("the tests")
    };
    FileStore::new(root.to_owned(), options).expect("good options")
}

/// A table whose models are known and listed.
struct Listed(ModelTable);

impl Models for Listed {
    fn resolve(&self, choice: Option<&str>) -> Result<ResolvedModel, ModelError> {
        self.0.resolve(choice)
    }

    fn info(&self, choice: &str) -> ModelInfo {
        ModelInfo {
            context_window: Some(1000),
            ..ModelInfo::unknown(choice)
        }
    }

    fn list(&self) -> Vec<ModelInfo> {
        ["test/model", "test/large", "other/model", "keyless/model"]
            .map(|id| self.info(id))
            .to_vec()
    }
}

/// A model whose key is missing.
struct Keyless;

impl Model for Keyless {
    fn stream(&self, _: ModelRequest) -> ModelStream {
        unreachable!("nobody asks a model that is not ready")
    }

    fn ready(&self) -> Result<(), ModelError> {
        Err(ModelError::new(ModelErrorKind::NotConfigured, "set THE_KEY"))
    }
}

impl Model for World {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        let mut requests = self.requests.lock().expect("no test panics under it");
        requests.push(format!("{:?}", request.messages));
        self.asked
            .lock()
            .expect("no test panics under it")
            .push(request.model.clone());
        self.script.stream(request)
    }
}

impl AgentFactory for World {
    fn open(&self, new: NewSession) -> BoxFuture<'static, Result<Agent, OpenError>> {
        let world = self.clone();
        let opening = self.opening.lock().expect("no test panics under it").clone();
        async move {
            opening.await_fate().await?;
            *world.lent.lock().expect("no test panics under it") = new.setup.lent;
            let header = header(new.id.as_str(), &new.setup.cwd.to_string_lossy());
            let session = match &world.folder {
                Some(_) => world.store.create(header).expect("a fresh id"),
                None => {
                    let log = Box::new(MemoryLog::default());
                    Session::create(header, log, Arc::new(|| UnixMillis(0)), Vec::new())
                }
            };
            Ok(world.agent(session, new.setup.approver, world.tools.layer(), Chosen::default()))
        }
        .boxed()
    }

    fn load(&self, stored: LoadSession) -> BoxFuture<'static, Result<Loading, OpenError>> {
        let world = self.clone();
        let opening = self.opening.lock().expect("no test panics under it").clone();
        async move {
            opening.await_fate().await?;
            let tools = world.tools.layer();
            Ok(Loading {
                presenter: tools.clone(),
                models: world.models(),
                start: Box::new(move |session, chosen| world.agent(session, stored.setup.approver, tools, chosen)),
            })
        }
        .boxed()
    }
}
