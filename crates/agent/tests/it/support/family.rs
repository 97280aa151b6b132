//! A parent that is only a context, and its children.

use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;
use weft_agent::{
    AgentContext, InProcess, SubagentError, SubagentErrorCode, SubagentProvider, SubagentRequest, SubagentRun,
};
use weft_session::{LogError, MemorySessions, Session, Sessions};
use weft_tools::{Extensions, ToolLimits, ToolRegistry};
use weft_types::{AgentId, EventBody, SessionHeader, UnixMillis};

use super::{SpyModels, TestTool, end, say, session};

/// Sessions that are kept, so that children can be looked at.
pub(crate) struct KeptSessions {
    inner: MemorySessions,
    kept: Mutex<Vec<Arc<Session>>>,
}

impl Sessions for KeptSessions {
    fn create(&self, header: SessionHeader) -> Result<Arc<Session>, LogError> {
        let session = self.inner.create(header)?;
        self.kept.lock().expect("not poisoned").push(Arc::clone(&session));
        Ok(session)
    }
}

/// A parent that is only a context, and the provider of its children.
pub(crate) struct Family {
    pub(crate) sessions: Arc<KeptSessions>,
    pub(crate) models: SpyModels,
    pub(crate) tools: ToolRegistry,
    pub(crate) provider: InProcess,
    pub(crate) parent: AgentContext,
}

impl Family {
    #[track_caller]
    pub(crate) fn new(script: &str) -> Self {
        let models = SpyModels::script(script);
        let tools = ToolRegistry::new(ToolLimits::default());
        let sessions = Arc::new(KeptSessions {
            inner: MemorySessions::new(Arc::new(|| UnixMillis(0))),
            kept: Mutex::default(),
        });
        let kept = Arc::clone(&sessions) as Arc<dyn Sessions>;
        let provider = InProcess {
            system: "you help".into(),
            clock: Arc::new(|| UnixMillis(7)),
            ..InProcess::new(kept, Arc::new(models.clone()), tools.clone())
        };
        let parent = AgentContext {
            agent: AgentId::mint(),
            session: session(),
            cwd: "/srv/project".into(),
            depth: 0,
            subagents: Arc::default(),
            models: Arc::new(models.clone()),
            model: Arc::default(),
            permissions: Arc::default(),
            approver: None,
            lent: Extensions::new(),
        };
        Self {
            sessions,
            models,
            tools,
            provider,
            parent,
        }
    }

    pub(crate) fn tool(self, tool: TestTool) -> Self {
        self.tools.register(Arc::new(tool)).expect("a good tool").keep();
        self
    }

    pub(crate) fn request(&self, prompt: &str) -> SubagentRequest {
        SubagentRequest {
            parent: Arc::new(self.parent.clone()),
            prompt: say(prompt),
            label: None,
            schema: None,
            model: None,
            tools: None,
            run: None,
            run_name: None,
            call: None,
            activity: None,
            spending: None,
            cancel: CancellationToken::new(),
        }
    }

    pub(crate) async fn start(&self, request: SubagentRequest) -> Result<Box<dyn SubagentRun>, SubagentError> {
        self.provider.start(request).await
    }

    /// The only child's session.
    #[track_caller]
    pub(crate) fn child(&self) -> Arc<Session> {
        let kept = self.sessions.kept.lock().expect("not poisoned");
        assert_eq!(kept.len(), 1);
        Arc::clone(&kept[0])
    }

    pub(crate) fn children(&self) -> usize {
        self.sessions.kept.lock().expect("not poisoned").len()
    }
}

/// The error of a start that must fail and leave nothing behind.
#[track_caller]
pub(crate) fn refused(started: Result<Box<dyn SubagentRun>, SubagentError>) -> (SubagentErrorCode, String) {
    match started {
        Ok(run) => panic!("{} was started", run.id()),
        Err(error) => (error.code(), error.to_string()),
    }
}

/// How the last turn of a session ended; it must be closed.
#[track_caller]
pub(crate) fn last_end(session: &Session) -> String {
    match &session.last_turn().last().expect("events").body {
        EventBody::TurnEnd { reason, .. } => end(reason),
        other => panic!("{other:?} stands last"),
    }
}
