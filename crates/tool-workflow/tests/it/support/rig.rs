//! A real agent on a scripted model, whose session is kept in a real store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tempfile::TempDir;
use weft_agent::{Agent, AgentOptions, PermissionMode, Permissions, Turn};
use weft_model::{Model, ModelError, Models, ResolvedModel, ScriptedModel};
use weft_observe::Subscription;
use weft_session::{FileStore, Session, Sessions, StoreOptions, Verification};
use weft_tool_workflow::{WorkflowTool, WorkflowToolConfig};
use weft_tools::{ToolLimits, ToolRegistry};
use weft_types::{ContentBlock, SessionId, TurnEnd, UnixMillis, text_of};
use weft_workflow::{StartError, StartRequest, TestEngine, TestRun, WorkflowEngine};

use super::{FailingFiles, header, invariants, shown, started};

/// A store in a folder of its own.
pub(crate) struct Stored {
    pub(crate) store: FileStore,
    pub(crate) files: Arc<FailingFiles>,
    folder: Arc<TempDir>,
}

impl Stored {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = Arc::<FailingFiles>::default();
        let options = StoreOptions {
            files: Arc::clone(&files) as _,
            clock: Arc::new(|| UnixMillis(0)),
            invariants: Arc::new(invariants),
            ..StoreOptions::new("test")
        };
        let store = FileStore::new(folder.path().to_owned(), options).expect("good options");
        let folder = Arc::new(folder);
        Self { store, files, folder }
    }

    pub(crate) fn create(&self) -> Arc<Session> {
        self.store.create(header("main", 0)).expect("nothing to fail")
    }

    /// The same store.
    pub(crate) fn again(&self) -> Self {
        Self {
            store: self.store.clone(),
            files: Arc::clone(&self.files),
            folder: Arc::clone(&self.folder),
        }
    }

    /// The store's folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The log's place.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("main/log.jsonl")
    }

    /// What is in the log's file: every line but the header's.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.log()).expect("a log");
        let lines = text.lines().skip(1);
        lines.map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    pub(crate) fn verify(&self) -> Verification {
        self.store.verify(&SessionId::new("main")).expect("a log")
    }
}

/// One agent with the tool, in a [`Stored`] session. Every turn of it calls a workflow and then says that it is done.
pub(crate) struct Rig {
    pub(crate) stored: Stored,
    pub(crate) engine: Arc<TestEngine>,
    pub(crate) agent: Agent,
    progress: Arc<Mutex<Vec<String>>>,
    _watch: Subscription,
}

const SCRIPT: &str = r#"
    [[reply]]
    step = 1
    times = "any"
    [[reply.tool_call]]
    name = "workflow"
    arguments = { script = "return 1", meta = { name = "demo", description = "d" } }
    [[reply]]
    times = "any"
    text = "done"
"#;

struct OneModel(Arc<dyn Model>);

impl Models for OneModel {
    fn resolve(&self, _choice: Option<&str>) -> Result<ResolvedModel, ModelError> {
        Ok(ResolvedModel {
            model: Arc::clone(&self.0),
            provider: "test".to_owned(),
            name: "model".to_owned(),
        })
    }
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(started, |_| {})
    }

    /// On an engine with this plan, with other options.
    pub(crate) fn with(
        plan: impl Fn(&TestRun, &StartRequest) -> Result<(), StartError> + Send + Sync + 'static,
        change: impl FnOnce(&mut AgentOptions),
    ) -> Self {
        let stored = Stored::new();
        let engine = TestEngine::new(plan);
        let registry = ToolRegistry::new(ToolLimits::default());
        let tool = WorkflowTool::new(
            Arc::clone(&engine) as Arc<dyn WorkflowEngine>,
            WorkflowToolConfig::default(),
        );
        registry.register(Arc::new(tool)).expect("a good tool").keep();
        let progress = Arc::<Mutex<Vec<String>>>::default();
        let into = Arc::clone(&progress);
        let watch = registry.progress().subscribe(None, move |report| {
            let text = shown(&text_of(&report.view.content));
            into.lock().expect("not poisoned").push(text);
        });
        let model = ScriptedModel::from_toml(SCRIPT, Path::new("no-such-folder")).expect("a good script");
        let models = Arc::new(OneModel(Arc::new(model)));
        let mut options = AgentOptions {
            permissions: Arc::new(Permissions::new(PermissionMode::Full)),
            ..AgentOptions::new(stored.create(), models, registry.layer())
        };
        change(&mut options);
        Self {
            stored,
            engine,
            agent: Agent::spawn(options),
            progress,
            _watch: watch,
        }
    }

    pub(crate) fn prompt(&self) -> Turn {
        let prompt = vec![ContentBlock::text("go")];
        self.agent.prompt(prompt).expect("idle")
    }

    /// A turn whose workflow is played like this.
    pub(crate) async fn play(&self, index: usize, play: impl FnOnce(&TestRun)) -> TurnEnd {
        let turn = self.prompt();
        play(&self.engine.run(index).await);
        turn.ended().await
    }

    /// Types of the events in the log's file, with those of records in short.
    pub(crate) fn types(&self) -> Vec<String> {
        let lines = self.stored.lines();
        let types = lines.iter().map(|line| line["type"].as_str().expect("a type"));
        types
            .map(|kind| kind.trim_start_matches("tool-workflow/").to_owned())
            .collect()
    }

    /// The data of the result of this call, as the log's file has it.
    pub(crate) fn result(&self, index: usize) -> String {
        let lines = self.stored.lines();
        let mut results = lines.iter().filter(|line| line["type"] == "tool/result");
        results.nth(index).expect("a result")["data"].to_string()
    }

    /// The texts of all progress reports.
    pub(crate) fn reports(&self) -> Vec<String> {
        self.progress.lock().expect("not poisoned").clone()
    }

    /// Closes the agent and lets go of the session.
    pub(crate) async fn close(self) -> Stored {
        self.agent.close().await;
        self.stored
    }
}
