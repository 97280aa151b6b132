//! The handle of an agent.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use weft_model::{AgentRole, ModelError, Models};
use weft_session::Session;
use weft_tools::{Approver, Extensions, ToolRegistry};
use weft_types::{AbortCause, AgentId, ContentBlock, TurnEnd};

use crate::actor::{self, Lifeline, Prompt};
use crate::command::{own_commands, trust_command};
use crate::meter::Meter;
use crate::permission::{self, ModeRecord};
use crate::slot::Slot;
use crate::turn::{Held, Turns};
use crate::{
    AgentUsage, Command, Companion, Jitter, Limits, ModelChoice, PermissionMode, Permissions, ProjectTrust, Subagents,
};

/// The handle of an agent: clones share one actor, which owns the session's turns.
///
/// When the last handle is dropped the turn in flight is stopped as by [`close`](Agent::close), and the
/// actor ends by itself.
#[derive(Clone)]
pub struct Agent {
    handle: Arc<Handle>,
}

/// What makes an agent.
#[derive(Clone)]
pub struct AgentOptions {
    /// The log of its turns. If its last turn is open, the agent closes it before its first own one. A user's session
    /// without a title gets one: the first line that its first prompt shows, at most 80 characters of it.
    pub session: Arc<Session>,
    /// Where it finds its model, anew for every request.
    pub models: Arc<dyn Models>,
    /// The model to use, `provider/model`; absent for the default.
    pub model: Option<String>,
    /// Its tools: a layer of its own, for the agent adds its policies to it.
    pub tools: ToolRegistry,
    /// The system prompt.
    pub system: Arc<str>,
    /// What it is to the user.
    pub role: AgentRole,
    /// The name its starter gave it.
    pub label: Option<String>,
    /// The bounds of its turns.
    pub limits: Limits,
    /// What it may do.
    pub permissions: Arc<Permissions>,
    /// Whom it asks where its permissions say so; without one such calls are denied.
    pub approver: Option<Arc<dyn Approver>>,
    /// What it lends to its tools beside its folder and itself; subagents inherit it.
    pub lent: Extensions,
    /// What the user can start a prompt with, as `/name`, beside the agent's own commands: those of its
    /// [library](crate::Library), which it must be lent.
    pub commands: Vec<Command>,
    /// Where its tools may start other agents.
    pub subagents: Arc<Subagents>,
    /// What the project that it works in sets for itself; only a user's agent asks about it.
    pub trust: Option<Arc<dyn ProjectTrust>>,
    /// What ends with it.
    pub companions: Vec<Arc<dyn Companion>>,
    /// What the user should know, one paragraph each: said when the first turn begins.
    pub notices: Vec<String>,
    /// The randomness of its waits.
    pub jitter: Jitter,
}

impl AgentOptions {
    /// A user's agent with default limits, which asks before it acts and has nobody to ask.
    pub fn new(session: Arc<Session>, models: Arc<dyn Models>, tools: ToolRegistry) -> Self {
        Self {
            session,
            models,
            model: None,
            tools,
            system: "".into(),
            role: AgentRole::Main,
            label: None,
            limits: Limits::default(),
            permissions: Arc::default(),
            approver: None,
            lent: Extensions::new(),
            commands: Vec::new(),
            subagents: Arc::default(),
            trust: None,
            companions: Vec::new(),
            notices: Vec::new(),
            jitter: Jitter::default(),
        }
    }
}

impl fmt::Debug for AgentOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentOptions")
            .field("session", self.session.id())
            .field("model", &self.model)
            .field("role", &self.role)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

/// Why a prompt was not taken. Nothing was logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptRefused {
    /// One turn at a time.
    #[error("failed to prompt the agent: a turn is in flight; wait for its end or cancel it")]
    TurnInFlight,
    /// It takes no more prompts.
    #[error("failed to prompt the agent: it is closed")]
    Closed,
    /// There is nothing to answer.
    #[error("failed to prompt the agent: the prompt is blank")]
    Blank,
}

/// A turn that was accepted. Dropping it leaves the turn alone.
#[derive(Debug)]
pub struct Turn {
    end: oneshot::Receiver<TurnEnd>,
}

impl Turn {
    /// Resolves when the turn has ended and the whole agent is quiet: everything of the turn is in the log
    /// and published, no request and no tool of it runs, and the next prompt would be taken.
    pub async fn ended(self) -> TurnEnd {
        self.end.await.unwrap_or_else(|_dropped| TurnEnd::Error {
            message: "the agent's task was ended from outside during the turn".to_owned(),
        })
    }
}

struct Handle {
    id: AgentId,
    models: Arc<dyn Models>,
    model: Arc<ModelChoice>,
    permissions: Arc<Permissions>,
    mode: Arc<ModeRecord>,
    commands: Vec<Command>,
    meter: Meter,
    session: Arc<Session>,
    tools: ToolRegistry,
    subagents: Arc<Subagents>,
    cwd: PathBuf,
    slot: Arc<Slot>,
    prompts: mpsc::Sender<Prompt>,
    /// Asks the actor to end.
    stop: CancellationToken,
    /// Fires when it has.
    stopped: CancellationToken,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

impl Handle {
    fn close(&self) {
        self.slot.close();
        self.stop.cancel();
    }
}

/// A user's agent answers some commands by itself.
fn commands_of(options: &AgentOptions) -> Vec<Command> {
    let mut commands = match options.role {
        AgentRole::Main => own_commands(),
        AgentRole::Subagent => Vec::new(),
    };
    if options.role == AgentRole::Main && options.trust.is_some() {
        commands.push(trust_command());
    }
    commands.extend(options.commands.iter().cloned());
    commands
}

impl Agent {
    /// Starts an actor. Call it inside of a tokio runtime.
    pub fn spawn(mut options: AgentOptions) -> Self {
        let id = AgentId::mint();
        options.approver = permission::approver(&options);
        let mode = ModeRecord::new(Arc::clone(&options.session), Arc::clone(&options.permissions));
        let mode = Arc::new(mode);
        // One turn may be in flight, so there is never a second prompt to hold.
        let (prompts, inbox) = mpsc::channel(1);
        let model = Arc::new(ModelChoice::new(options.model.clone()));
        let meter = Meter::of(&options.lent);
        let handle = Handle {
            id,
            models: Arc::clone(&options.models),
            model: Arc::clone(&model),
            permissions: Arc::clone(&options.permissions),
            mode: Arc::clone(&mode),
            commands: commands_of(&options),
            meter: meter.clone(),
            session: Arc::clone(&options.session),
            tools: options.tools.clone(),
            subagents: Arc::clone(&options.subagents),
            cwd: PathBuf::from(&options.session.header().cwd),
            slot: Arc::default(),
            prompts,
            stop: CancellationToken::new(),
            stopped: CancellationToken::new(),
        };
        let lifeline = Lifeline {
            slot: Arc::clone(&handle.slot),
            stop: handle.stop.clone(),
            stopped: handle.stopped.clone(),
        };
        // Made here, so that the agent's policies are in force before anybody has the handle.
        let turns = Turns::new(id, options, Held { model, meter, mode });
        tokio::spawn(actor::run(lifeline, inbox, turns));
        Self {
            handle: Arc::new(handle),
        }
    }

    /// The agent's identity.
    pub fn id(&self) -> AgentId {
        self.handle.id
    }

    /// Its log, which is also the stream of what it does.
    pub fn session(&self) -> &Arc<Session> {
        &self.handle.session
    }

    /// Its tools.
    pub fn tools(&self) -> &ToolRegistry {
        &self.handle.tools
    }

    /// Where its tools may start other agents.
    pub fn subagents(&self) -> &Arc<Subagents> {
        &self.handle.subagents
    }

    /// The folder it works in.
    pub fn cwd(&self) -> &Path {
        &self.handle.cwd
    }

    /// What it may do without a question.
    pub fn mode(&self) -> PermissionMode {
        self.handle.permissions.mode()
    }

    /// Changes what it may do, from the next call on. The log of a user's session tells of it: at once if a turn is
    /// open, else when the next one starts, and then of the last change only.
    pub fn set_mode(&self, mode: PermissionMode) {
        self.handle.mode.set(mode);
    }

    /// The models it can be told to use.
    pub fn models(&self) -> &Arc<dyn Models> {
        &self.handle.models
    }

    /// The model it was told to use, `provider/model`; absent for the default.
    pub fn model(&self) -> Option<String> {
        self.handle.model.get()
    }

    /// Tells it to use another model, from the next request on. The log is told with that request, or when the turn in
    /// flight ends.
    ///
    /// # Errors
    /// There is no such model; nothing changes.
    pub fn set_model(&self, choice: &str) -> Result<(), ModelError> {
        self.handle.models.resolve(Some(choice))?;
        self.handle.model.set(choice);
        Ok(())
    }

    /// What it and those that it started have used.
    pub fn usage(&self) -> AgentUsage {
        self.handle.meter.read()
    }

    /// What the user can start a prompt with, as `/name`: its own commands, then those of its library.
    pub fn commands(&self) -> &[Command] {
        &self.handle.commands
    }

    /// Starts a turn. The place for it is taken before this returns: a second prompt is refused and a
    /// cancel reaches this one, even before the actor has begun with it.
    ///
    /// # Errors
    /// A turn is in flight, the agent is closed, or the prompt is blank: it has neither text nor a picture.
    pub fn prompt(&self, content: Vec<ContentBlock>) -> Result<Turn, PromptRefused> {
        if content.iter().all(is_blank) {
            return Err(PromptRefused::Blank);
        }
        let (ended, end) = oneshot::channel();
        self.handle.slot.reserve(|cancel| {
            let prompt = Prompt { content, cancel, ended };
            self.handle.prompts.try_send(prompt).is_ok()
        })?;
        Ok(Turn { end })
    }

    /// Stops the turn in flight in the user's name; without one it does nothing, now and later.
    pub fn cancel(&self) {
        self.cancel_by(AbortCause::User);
    }

    pub(crate) fn cancel_by(&self, by: AbortCause) {
        self.handle.slot.cancel(by);
    }

    pub(crate) fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.handle.slot)
    }

    /// Refuses all further prompts, stops the turn in flight, and resolves when the actor has ended and
    /// everything of it is quiet, its companions included. Calling it again is fine.
    pub async fn close(&self) {
        self.handle.close();
        self.handle.stopped.cancelled().await;
    }
}

/// Whether a block says nothing. A picture always does.
fn is_blank(block: &ContentBlock) -> bool {
    block.as_text().is_some_and(|text| text.trim().is_empty())
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("id", &self.handle.id)
            .field("session", self.handle.session.id())
            .finish_non_exhaustive()
    }
}
