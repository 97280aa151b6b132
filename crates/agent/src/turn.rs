//! One turn after the other.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use weft_model::AgentRole;
use weft_observe::panic_text;
use weft_session::{AppendError, LogError, Session, closing_events};
use weft_tools::{Extensions, Memory, Overview, Registration, ScheduleError, ToolRegistry, WorkingDirectory};
use weft_types::{AgentId, ContentBlock, EventBody, Origin, TurnEnd};

use crate::history::History;
use crate::meter::Meter;
use crate::permission::{self, ModeRecord};
use crate::repeats::Repeats;
use crate::slot::TurnCancel;
use crate::title::title_of;
use crate::{AgentContext, AgentOptions, ModelChoice};

/// What an agent's handle and its turns both hold.
pub(crate) struct Held {
    pub(crate) model: Arc<ModelChoice>,
    pub(crate) meter: Meter,
    pub(crate) mode: Arc<ModeRecord>,
}

/// What an agent's turns need and leave behind for the next one.
pub(crate) struct Turns {
    pub(crate) id: AgentId,
    pub(crate) options: AgentOptions,
    pub(crate) model: Arc<ModelChoice>,
    pub(crate) extensions: Extensions,
    /// Read from the log when the first turn begins: a session may be opened only to be looked at.
    pub(crate) history: History,
    pub(crate) meter: Meter,
    /// What fails again and again in this turn.
    pub(crate) repeats: Repeats,
    /// The turn in which the context stays as full as it is, after an attempt to sum up; 0 for none.
    pub(crate) full_in: u32,
    history_is_read: bool,
    mode: Arc<ModeRecord>,
    _policy: Registration,
}

/// Where in a session something happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) turn: u32,
    pub(crate) step: u32,
}

/// Why the loop itself could not go on. The log may be left open.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoopError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

impl LoopError {
    /// What the user is told.
    fn told(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}\nhint: {hint}"),
            None => self.to_string(),
        }
    }

    /// What the user can do about it.
    fn hint(&self) -> Option<&str> {
        let append = match self {
            Self::Log(error) => return Some(error.hint().unwrap_or(LOG_HINT)),
            Self::Append(error) => error,
            Self::Schedule(ScheduleError::Called { source, .. } | ScheduleError::Finished { source, .. }) => {
                source.downcast_ref()?
            }
        };
        match append {
            AppendError::Log { cause, .. } => Some(cause.hint().unwrap_or(LOG_HINT)),
            AppendError::Broken { .. } => Some("close the session and load it anew"),
            AppendError::Violation { .. } | AppendError::Reentrant { .. } => None,
        }
    }
}

/// What helps when the log cannot be read or written.
const LOG_HINT: &str = "nothing is done that the log does not hold, so the turn stopped there; mend what is named \
    above and prompt again, and if that does not help, close the session and load it anew";

impl Turns {
    pub(crate) fn new(id: AgentId, mut options: AgentOptions, held: Held) -> Self {
        let Held { model, meter, mode } = held;
        options.lent = meter.lend(options.lent);
        let context = AgentContext {
            agent: id,
            session: Arc::clone(&options.session),
            cwd: options.session.header().cwd.clone().into(),
            depth: options.session.header().depth,
            subagents: Arc::clone(&options.subagents),
            permissions: Arc::clone(&options.permissions),
            approver: options.approver.clone(),
            lent: options.lent.clone(),
            models: Arc::clone(&options.models),
            model: Arc::clone(&model),
        };
        let folder = WorkingDirectory(context.cwd.clone());
        Self {
            id,
            extensions: ((options.lent.clone()).with(Arc::new(context)).with(Arc::new(folder)))
                .with(Arc::new(Memory::default())),
            history: History::default(),
            meter,
            repeats: Repeats::default(),
            full_in: 0,
            history_is_read: false,
            mode,
            _policy: permission::install(&options),
            options,
            model,
        }
    }

    /// Runs a turn to its end, whatever happens on the way, and leaves the log closed if it can be.
    pub(crate) async fn run(&mut self, content: Vec<ContentBlock>, cancel: &TurnCancel) -> TurnEnd {
        let message = match AssertUnwindSafe(self.turn(content, cancel)).catch_unwind().await {
            Ok(Ok(end)) => return end,
            Ok(Err(error)) => error.told(),
            Err(panic) => format!("the agent's loop panicked: {}", panic_text(&*panic)),
        };
        tracing::error!(session = %self.session().id(), %message, "a turn broke off");
        // Whatever of it still runs has nobody to report to.
        cancel.token().cancel();
        self.mode.turn_ends();
        let end = TurnEnd::Error { message };
        if let Err(error) = self.close_log(end.clone()).await {
            tracing::error!(session = %self.session().id(), %error, "the log of a broken turn stays open");
        }
        end
    }

    async fn turn(&mut self, content: Vec<ContentBlock>, cancel: &TurnCancel) -> Result<TurnEnd, LoopError> {
        if !self.history_is_read {
            self.read_history().await?;
        }
        if self.history.turn_is_open() {
            self.close_log(TurnEnd::Interrupted).await?;
        }
        let turn = self.history.last_turn() + 1;
        self.append(EventBody::TurnStart { turn })?;
        self.mode.turn_starts()?;
        let started = self.started(&content);
        self.append(EventBody::UserMessage { turn, content })?;
        self.give_title()?;
        for message in std::mem::take(&mut self.options.notices) {
            self.append(EventBody::SessionNotice { message })?;
        }
        let end = match self.prepare(turn, started, cancel).await? {
            Some(end) => end,
            None => self.steps(turn, cancel).await?,
        };
        self.tell_ongoing()?;
        self.log_model()?;
        let reason = end.clone();
        self.mode.turn_ends();
        self.append(EventBody::TurnEnd { turn, reason })?;
        Ok(end)
    }

    /// Names a user's session after its first prompt, unless it has a title.
    fn give_title(&mut self) -> Result<(), AppendError> {
        let is_users = self.session().header().origin == Origin::User;
        match self.history.untitled_prompt().filter(|_| is_users).and_then(title_of) {
            Some(title) => self.append(EventBody::SessionTitle { title }),
            None => Ok(()),
        }
    }

    /// What the agent's tools have going on behind their calls, a line each.
    pub(crate) fn ongoing(&self) -> Vec<String> {
        let memory = self.extensions.get::<Memory>();
        memory.map(|memory| memory.of::<Overview>().lines()).unwrap_or_default()
    }

    /// Tells the user what goes on although the turn is over. A subagent's ends with it.
    fn tell_ongoing(&mut self) -> Result<(), LoopError> {
        let lines = self.ongoing();
        if lines.is_empty() || self.options.role == AgentRole::Subagent {
            return Ok(());
        }
        self.notice(format!(
            "Still running in the background:\n- {}\nThey end with the session; ask for one to be stopped to end it now.",
            lines.join("\n- ")
        ))
    }

    /// Logs the model that was chosen since the last request.
    pub(crate) fn log_model(&mut self) -> Result<(), AppendError> {
        match self.model.take_new() {
            Some(model) => self.append(EventBody::SessionModel { model }),
            None => Ok(()),
        }
    }

    async fn steps(&mut self, turn: u32, cancel: &TurnCancel) -> Result<TurnEnd, LoopError> {
        self.repeats = Repeats::default();
        for step in 1..=self.options.limits.max_steps {
            if let Some(by) = cancel.cause() {
                return Ok(TurnEnd::Aborted { by });
            }
            if let Some(end) = self.step(Place { turn, step }, cancel).await? {
                return Ok(end);
            }
        }
        Ok(cancel.cause().map_or(TurnEnd::MaxSteps, |by| TurnEnd::Aborted { by }))
    }

    /// Ends whatever the log has open, and derives everything from it anew.
    async fn close_log(&mut self, reason: TurnEnd) -> Result<(), LoopError> {
        let session = Arc::clone(self.session());
        let closed = closing_events(&session.last_turn(), reason)
            .into_iter()
            .try_for_each(|body| session.append(body).map(drop));
        self.read_history().await?;
        Ok(closed?)
    }

    /// On a thread that may block: a long log takes a while.
    async fn read_history(&mut self) -> Result<(), LogError> {
        self.history_is_read = false;
        let session = Arc::clone(self.session());
        let reading = tokio::task::spawn_blocking(move || History::read(&session));
        let read = reading.await.map_err(|error| {
            let attempt = format!("read the history of session {}", self.session().id());
            LogError::new(attempt, error)
        })?;
        self.history = read?;
        self.history_is_read = true;
        self.meter.set_own(self.history.used().clone());
        self.meter.set_context(self.history.context_size());
        Ok(())
    }

    pub(crate) fn append(&mut self, body: EventBody) -> Result<(), AppendError> {
        let event = self.session().append(body)?;
        self.history.push(&event);
        self.meter.count(self.history.model(), &event.body);
        self.meter.set_context(self.history.context_size());
        Ok(())
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.options.session
    }

    pub(crate) fn tools(&self) -> &ToolRegistry {
        &self.options.tools
    }
}
