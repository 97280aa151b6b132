//! Subagents as actors of this process.

mod run;

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use weft_model::{AgentRole, Models};
use weft_session::{Clock, Sessions, SystemClock, mint_session_id};
use weft_tools::{Approver, Extensions, Registration, ToolRegistry};
use weft_types::{Origin, SessionHeader, SessionId};

pub(super) use self::run::text_of;
use self::run::{InProcessRun, Work};
use super::children::Announced;
use super::relay::Relay;
use super::structured::{Capture, INSTRUCTION};
use super::{
    Child, Pulse, SubagentCapabilities, SubagentError, SubagentErrorCode, SubagentProvider, SubagentRequest,
    SubagentRun,
};
use crate::title::first_line;
use crate::{Agent, AgentOptions, Companion, Jitter, Limits, SubagentLimits};

/// The most characters of a label or of a run's name that a question shows.
const MAX_NAME: usize = 80;

/// The provider `spawn`: a fresh agent with a session of its own.
///
/// It inherits the parent's folder and, unless overridden, its model. It has the tools of [`tools`], not
/// those of the parent's own layer, and none of the parent's history. What the parent may do it may do, and it asks
/// whom the parent asks, as the one that it is.
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
    /// What ends with each agent.
    pub companions: Vec<Arc<dyn Companion>>,
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
            companions: Vec::new(),
            clock: Arc::new(SystemClock),
            jitter: Jitter::default(),
        }
    }

    fn spawn(&self, request: SubagentRequest) -> Result<InProcessRun, SubagentError> {
        self.admits(&request)?;
        let tools = self.tools.layer();
        let allowed = allowed(&request, &tools)?;
        let (capture, tool) = self.capture(&request, &tools)?;
        let session = self
            .sessions
            .create(self.header(&request))
            .map_err(|error| SubagentError::new(SubagentErrorCode::StartFailed, error.to_string()))?;
        let (id, cancel) = (session.id().clone(), request.cancel.child_token());
        let approver = relay(&request, &id);
        let lent = match allowed {
            Some(allowed) => lent(&request).with(Arc::new(allowed)),
            None => lent(&request),
        };
        let agent = Agent::spawn(AgentOptions {
            session,
            models: Arc::clone(&self.models),
            model: request.model.or_else(|| request.parent.model.get()),
            tools,
            system: self.system_for(capture.is_some()),
            role: AgentRole::Subagent,
            label: request.label,
            limits: self.limits,
            permissions: Arc::clone(&request.parent.permissions),
            approver,
            lent,
            commands: Vec::new(),
            subagents: Arc::clone(&request.parent.subagents),
            trust: None,
            companions: self.companions.clone(),
            notices: Vec::new(),
            jitter: self.jitter.clone(),
        });
        let watch = request.activity.map(|feed| feed.follow(&agent));
        let announced = Announced::start(
            &request.parent.subagents,
            Child {
                agent: agent.clone(),
                parent: request.parent.session.id().clone(),
                call: request.call,
            },
        );
        let work = Work {
            agent,
            announced,
            watch,
            capture,
            tool,
            cancel,
            reminders: self.bounds.reminders,
            max_steps: self.limits.max_steps,
        };
        Ok(InProcessRun::start(id, work, request.prompt))
    }

    /// Whether the request may have an agent, before anything is made for it.
    ///
    /// # Errors
    /// It would stand too deep (`DEPTH_LIMIT`), or the request was cancelled (`CANCELLED`).
    pub fn admits(&self, request: &SubagentRequest) -> Result<(), SubagentError> {
        let (depth, limit) = (request.parent.depth + 1, self.bounds.max_depth);
        if depth > limit {
            let message =
                format!("it would stand {depth} levels below the user's agent, the limit agent.max_depth is {limit}");
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

/// The tools that an agent is kept to: an extension that it lends to those below it, which may have no others.
struct AllowedTools(Vec<String>);

/// Hides the tools that the agent may not have, and says which are left to those below it.
fn allowed(request: &SubagentRequest, tools: &ToolRegistry) -> Result<Option<AllowedTools>, SubagentError> {
    let above = request.parent.lent.get::<AllowedTools>();
    let names = match (&request.tools, above) {
        (None, None) => return Ok(None),
        (None, Some(above)) => above.0.clone(),
        (Some(names), None) => names.clone(),
        (Some(names), Some(above)) => {
            if let Some(name) = names.iter().find(|name| !above.0.contains(name)) {
                let message = format!("the agent that starts it may not use the tool {name:?} itself");
                return Err(SubagentError::new(SubagentErrorCode::UnknownTool, message));
            }
            names.clone()
        }
    };
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    let restricted = tools.restrict(Some(&list), None).map_err(|error| {
        let known: Vec<String> = tools.specs().into_iter().map(|spec| spec.name).collect();
        let message = format!("{error}; there are {}", known.join(", "));
        SubagentError::new(SubagentErrorCode::UnknownTool, message)
    })?;
    // It binds this agent's own layer, which ends with it.
    restricted.keep();
    Ok(Some(AllowedTools(names)))
}

/// What it is lent: what its parent is, with what it is counted and watched by.
fn lent(request: &SubagentRequest) -> Extensions {
    let pulse = request.activity.as_ref().map(|feed| feed.pulse()).unwrap_or_default();
    if let Some(above) = request.parent.lent.get::<Pulse>() {
        above.attach(request.call.clone(), &pulse);
    }
    let lent = request.parent.lent.clone().with(pulse);
    match &request.spending {
        Some(spending) => lent.with(Arc::clone(spending)),
        None => lent,
    }
}

/// Whom a subagent asks: whom its parent asks, if there is anybody.
fn relay(request: &SubagentRequest, session: &SessionId) -> Option<Arc<dyn Approver>> {
    let to = request.parent.approver.clone()?;
    Some(Arc::new(Relay {
        to,
        session: session.clone(),
        name: name_of(request),
        call: request.call.clone(),
    }))
}

/// What the agent is to the user.
fn name_of(request: &SubagentRequest) -> String {
    let shown = |text: &str| first_line(text, MAX_NAME).map(|text| format!(" `{}`", text.replace('`', "'")));
    let label = request.label.as_deref().and_then(shown);
    let Some((_, seq)) = &request.run else {
        return label.map_or_else(|| "a subagent".to_owned(), |label| format!("subagent{label}"));
    };
    let label = label.unwrap_or_else(|| format!(" #{seq}"));
    let run = request.run_name.as_deref().and_then(shown);
    match run {
        Some(run) => format!("member{label} of workflow{run}"),
        None => format!("member{label} of a workflow"),
    }
}

impl SubagentProvider for InProcess {
    fn capabilities(&self) -> SubagentCapabilities {
        SubagentCapabilities {
            output_schema: true,
            model: true,
            tools: true,
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
