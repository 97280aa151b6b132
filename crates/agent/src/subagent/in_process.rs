//! Subagents as actors of this process.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use weft_model::{AgentRole, Models};
use weft_session::{Clock, Session, Sessions, SystemClock, mint_session_id};
use weft_tools::{Registration, ToolRegistry};
use weft_types::{AbortCause, AssistantBlock, ContentBlock, EventBody, Origin, SessionHeader, SessionId, TurnEnd};

use super::structured::{Capture, INSTRUCTION, REMINDER};
use super::{
    SubagentCapabilities, SubagentError, SubagentErrorCode, SubagentProvider, SubagentRequest, SubagentResult,
    SubagentRun, SubagentStop,
};
use crate::{Agent, AgentOptions, Jitter, Limits, SubagentLimits};

/// The provider `spawn`: a fresh agent with a session of its own.
///
/// It inherits the parent's folder and, unless overridden, its model. It has the tools of [`tools`], not
/// those of the parent's own layer, and none of the parent's history. It can ask nobody: calls that
/// carry a risk are denied unless the parent has full trust.
///
/// [`tools`]: InProcess::tools
#[derive(Clone)]
pub struct InProcess {
    /// Where the sessions are kept.
    pub sessions: Arc<dyn Sessions>,
    /// Where the agents find their models.
    pub models: Arc<dyn Models>,
    /// The layer of tools within which each agent gets its own.
    pub tools: ToolRegistry,
    /// The system prompt.
    pub system: Arc<str>,
    /// The bounds of each turn.
    pub limits: Limits,
    /// The bounds of subagents.
    pub bounds: SubagentLimits,
    /// Tells when a session was created.
    pub clock: Arc<dyn Clock>,
    /// The randomness of waits.
    pub jitter: Jitter,
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess")
            .field("limits", &self.limits)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

impl InProcess {
    /// Agents with default limits and without a system prompt.
    pub fn new(sessions: Arc<dyn Sessions>, models: Arc<dyn Models>, tools: ToolRegistry) -> Self {
        Self {
            sessions,
            models,
            tools,
            system: "".into(),
            limits: Limits::default(),
            bounds: SubagentLimits::default(),
            clock: Arc::new(SystemClock),
            jitter: Jitter::default(),
        }
    }

    fn spawn(&self, request: SubagentRequest) -> Result<InProcessRun, SubagentError> {
        self.check(&request)?;
        let tools = self.tools.layer();
        let (capture, tool) = self.capture(&request, &tools)?;
        let session = self
            .sessions
            .create(self.header(&request))
            .map_err(|error| SubagentError::new(SubagentErrorCode::StartFailed, error.to_string()))?;
        let id = session.id().clone();
        let cancel = request.cancel.child_token();
        let agent = Agent::spawn(AgentOptions {
            session,
            models: Arc::clone(&self.models),
            model: request.model.or_else(|| request.parent.model.clone()),
            tools,
            system: self.system_for(capture.is_some()),
            role: AgentRole::Subagent,
            label: request.label,
            limits: self.limits,
            permissions: request.parent.permissions.of_subagents(),
            approver: None,
            subagents: Arc::clone(&request.parent.subagents),
            jitter: self.jitter.clone(),
        });
        let work = Work {
            agent,
            capture,
            _tool: tool,
            cancel: cancel.clone(),
            reminders: self.bounds.reminders,
            max_steps: self.limits.max_steps,
        };
        Ok(InProcessRun::start(id, cancel, work, request.prompt))
    }

    fn check(&self, request: &SubagentRequest) -> Result<(), SubagentError> {
        let (depth, limit) = (request.parent.depth + 1, self.bounds.max_depth);
        if depth > limit {
            let message = format!(
                "it would stand {depth} levels below the user's agent, the limit subagents.max_depth is {limit}"
            );
            return Err(SubagentError::new(SubagentErrorCode::DepthLimit, message));
        }
        if request.cancel.is_cancelled() {
            return Err(SubagentError::new(
                SubagentErrorCode::Cancelled,
                "it was cancelled before the start",
            ));
        }
        Ok(())
    }

    fn capture(
        &self,
        request: &SubagentRequest,
        tools: &ToolRegistry,
    ) -> Result<(Option<Arc<Capture>>, Option<Registration>), SubagentError> {
        let Some(schema) = request.schema.clone() else {
            return Ok((None, None));
        };
        let capture = Capture::new(schema, self.bounds.schema_tries);
        let tool = tools
            .register(capture.tool())
            .map_err(|error| SubagentError::new(SubagentErrorCode::UnsupportedSchema, error.to_string()))?;
        Ok((Some(capture), Some(tool)))
    }

    fn header(&self, request: &SubagentRequest) -> SessionHeader {
        let parent = &request.parent;
        SessionHeader {
            version: SessionHeader::VERSION,
            id: mint_session_id(),
            created_at: self.clock.now(),
            cwd: parent.session.header().cwd.clone(),
            origin: Origin::Subagent,
            parent: Some(parent.session.id().clone()),
            depth: parent.depth + 1,
            label: request.label.clone(),
            run_id: request.run.as_ref().map(|(run, _)| run.clone()),
            run_seq: request.run.as_ref().map(|(_, seq)| *seq),
        }
    }

    fn system_for(&self, structured: bool) -> Arc<str> {
        match structured {
            false => Arc::clone(&self.system),
            true if self.system.is_empty() => INSTRUCTION.into(),
            true => format!("{}\n\n{INSTRUCTION}", self.system).into(),
        }
    }
}

impl SubagentProvider for InProcess {
    fn capabilities(&self) -> SubagentCapabilities {
        SubagentCapabilities {
            output_schema: true,
            model: true,
        }
    }

    fn start(&self, request: SubagentRequest) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, SubagentError>> {
        let provider = self.clone();
        Box::pin(async move {
            let run = provider.spawn(request)?;
            Ok(Box::new(run) as Box<dyn SubagentRun>)
        })
    }
}

struct InProcessRun {
    id: SessionId,
    result: watch::Receiver<Option<SubagentResult>>,
    /// Stops the work; dropped with the run.
    cancel: DropGuard,
    /// Fires when the work's task is over.
    done: CancellationToken,
}

impl InProcessRun {
    fn start(id: SessionId, cancel: CancellationToken, work: Work, prompt: Vec<ContentBlock>) -> Self {
        let (publish, result) = watch::channel(None);
        let done = CancellationToken::new();
        let is_over = done.clone().drop_guard();
        tokio::spawn(async move {
            let _is_over = is_over;
            let result = work.run(prompt).await;
            publish.send_replace(Some(result));
        });
        Self {
            id,
            result,
            cancel: cancel.drop_guard(),
            done,
        }
    }
}

impl SubagentRun for InProcessRun {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn result(&self) -> BoxFuture<'static, SubagentResult> {
        let mut result = self.result.clone();
        Box::pin(async move {
            let published = result.wait_for(Option::is_some).await;
            published
                .ok()
                .and_then(|result| result.clone())
                .unwrap_or_else(|| SubagentResult {
                    output: Vec::new(),
                    structured: None,
                    stop: SubagentStop::Error("the subagent's task was ended from outside".to_owned()),
                })
        })
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        let (cancel, done) = (self.cancel.token().clone(), self.done.clone());
        Box::pin(async move {
            cancel.cancel();
            done.cancelled().await;
        })
    }
}

/// What a subagent's task does: prompt the agent until it has answered, then close it.
struct Work {
    agent: Agent,
    capture: Option<Arc<Capture>>,
    _tool: Option<Registration>,
    cancel: CancellationToken,
    reminders: u32,
    max_steps: u32,
}

impl Work {
    async fn run(self, prompt: Vec<ContentBlock>) -> SubagentResult {
        let _watch = self.capture.as_ref().map(|capture| capture.watch(&self.agent));
        let stop = self.answer(prompt).await;
        self.agent.close().await;
        let structured = match stop {
            SubagentStop::Completed => self.capture.as_ref().and_then(|capture| capture.take()),
            _ => None,
        };
        SubagentResult {
            output: last_text(self.agent.session()),
            structured,
            stop,
        }
    }

    async fn answer(&self, prompt: Vec<ContentBlock>) -> SubagentStop {
        let mut stop = self.turn(prompt).await;
        let Some(capture) = &self.capture else {
            return stop;
        };
        let mut reminded = 0;
        loop {
            if capture.is_confirmed() {
                return SubagentStop::Completed;
            }
            if capture.is_exhausted() {
                return SubagentStop::Error(capture.failure(reminded));
            }
            if stop != SubagentStop::Completed {
                return stop;
            }
            if reminded == self.reminders {
                return SubagentStop::Error(capture.failure(reminded));
            }
            reminded += 1;
            stop = self.turn(vec![ContentBlock::text(REMINDER)]).await;
        }
    }

    /// One turn to its end, stopped when the run is.
    async fn turn(&self, prompt: Vec<ContentBlock>) -> SubagentStop {
        let turn = match self.agent.prompt(prompt) {
            Ok(turn) => turn,
            Err(refused) => return SubagentStop::Error(refused.to_string()),
        };
        let ended = turn.ended();
        tokio::pin!(ended);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {}
            end = &mut ended => return self.stop_of(end),
        }
        self.agent.cancel_by(AbortCause::Parent);
        self.stop_of(ended.await)
    }

    fn stop_of(&self, end: TurnEnd) -> SubagentStop {
        match end {
            TurnEnd::Completed => SubagentStop::Completed,
            TurnEnd::Aborted { .. } | TurnEnd::Interrupted => SubagentStop::Aborted,
            TurnEnd::Error { message } => SubagentStop::Error(message),
            TurnEnd::MaxTokens => SubagentStop::MaxTokens,
            TurnEnd::MaxSteps => SubagentStop::Error(format!(
                "the agent made {} model requests, the limit max_steps, and was not done",
                self.max_steps
            )),
            TurnEnd::Refusal => SubagentStop::Refusal,
        }
    }
}

/// The last non-empty text of the assistant.
fn last_text(session: &Session) -> Vec<ContentBlock> {
    let events = session.events();
    let texts = events.iter().rev().filter_map(|event| match &event.body {
        EventBody::AssistantMessage { content, .. } => Some(content.iter().filter_map(text_of).collect::<Vec<_>>()),
        _ => None,
    });
    texts.into_iter().find(|blocks| !blocks.is_empty()).unwrap_or_default()
}

fn text_of(block: &AssistantBlock) -> Option<ContentBlock> {
    match block {
        AssistantBlock::Text { text } if !text.trim().is_empty() => Some(ContentBlock::text(text)),
        _ => None,
    }
}
