//! One session as its client sees it: the place where events and observations become lines.
//!
//! A [`SessionView`] subscribes to the session's log and to the observations of exactly its agent, runs the
//! [`Projector`] and enqueues what it says. It works inside of the producers' own calls, under one lock: when
//! an append or a report returns, its update has its place in the outbox. That, and not a task of its own,
//! is what keeps updates in order and before the phase that follows them.
//!
//! It also holds the rate of progress: the first report of a call leaves at once; of those within the
//! interval the last is kept until the [`Ticker`] says that it is time, unless the final card comes first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use weft_agent::Agent;
use weft_observe::Subscription;
use weft_session::{Delta, SessionUpdate};
use weft_tools::{
    ApprovalRequest, Asker, ProgressObservation, ProgressView, Question, ResultObservation, StartedObservation,
};
use weft_types::{AgentId, CallId, Event, EventBody, SessionId};

use crate::family::Family;
use crate::outbox::{Outbox, TextRun};
use crate::permission::further_words;
use crate::projector::{Mode, Projector};
use crate::sdk::schema;
use crate::selectors::{Choice, Form};
use crate::ticker::Ticker;
use crate::wire;

/// What a session's client is shown, and what it was shown last.
#[derive(Debug)]
pub(crate) struct SessionView {
    session: Arc<str>,
    outbox: Outbox,
    ticker: Ticker,
    min_interval: Duration,
    state: Mutex<State>,
    /// The subagents, for a client that is shown them. Weak, since they hold views themselves.
    family: OnceLock<Weak<Family>>,
}

#[derive(Debug)]
struct State {
    projector: Projector,
    pace: HashMap<CallId, Pace>,
    /// The open cards of subagents' calls, by those who make them.
    members: HashMap<(AgentId, CallId), CallId>,
    /// Memory for the line at hand.
    line: Vec<u8>,
    /// Whether the client has been told of the session's end.
    closed: bool,
}

/// When a call last sent progress, and what it has had to say since.
#[derive(Debug)]
struct Pace {
    sent: Instant,
    held: Option<Arc<ProgressView>>,
}

impl SessionView {
    pub(crate) fn new(
        session: Arc<str>,
        projector: Projector,
        outbox: Outbox,
        ticker: Ticker,
        min_interval: Duration,
    ) -> Arc<Self> {
        let state = State {
            projector,
            pace: HashMap::new(),
            members: HashMap::new(),
            line: Vec::new(),
            closed: false,
        };
        Arc::new(Self {
            session,
            outbox,
            ticker,
            min_interval,
            state: Mutex::new(state),
            family: OnceLock::new(),
        })
    }

    /// Shows what the agent does, as long as the subscriptions are kept.
    ///
    /// Progress is that of this very agent: that of its subagents, and of agents that merely carry the same ids, never
    /// comes here. Of other agents' calls only those are looked at that a question gave a card.
    pub(crate) fn follow(self: &Arc<Self>, agent: &Agent) -> [Subscription; 4] {
        let [log, progress, started, ended] = std::array::from_fn(|_| Arc::clone(self));
        let id = Some(agent.id());
        let tools = agent.tools();
        [
            agent.session().observe(move |update| log.session_update(update)),
            tools.progress().subscribe(id, move |report| progress.progress(report)),
            tools.started().subscribe(None, move |start| {
                if start.agent == id {
                    started.started(start);
                } else {
                    started.member_started(start);
                }
            }),
            tools
                .results()
                .subscribe(None, move |result| ended.member_ended(result)),
        ]
    }

    pub(crate) fn session_update(&self, update: &SessionUpdate) {
        match update {
            SessionUpdate::Delta(delta) => self.delta(delta),
            SessionUpdate::Event(event) => self.event(event),
        }
    }

    fn delta(&self, delta: &Delta) {
        let Some(mut state) = self.open() else { return };
        let Some(message) = state.projector.delta(delta) else {
            return;
        };
        let run = TextRun {
            session: Arc::clone(&self.session),
            message: message.id,
            reasoning: message.reasoning,
        };
        state.line.clear();
        wire::write_text(&mut state.line, &run, &delta.text);
        self.outbox.text(&run, &delta.text, &state.line);
    }

    fn event(&self, event: &Event) {
        let Some(mut state) = self.open() else { return };
        let State {
            projector,
            pace,
            line,
            members,
            ..
        } = &mut *state;
        if matches!(event.body, EventBody::TurnEnd { .. }) {
            // A subagent may have asked about a call that it never got to.
            for (_, card) in members.drain() {
                if let Some(update) = projector.dropped(&card) {
                    self.send(line, update);
                }
            }
        }
        projector.event(event, &mut |update| self.send(line, update));
        // A final card supersedes whatever progress was held back.
        pace.retain(|call, _| projector.is_open(call));
    }

    pub(crate) fn progress(self: &Arc<Self>, report: &ProgressObservation) {
        let Some(mut state) = self.open() else { return };
        if report.nested {
            return;
        }
        if !state.projector.is_open(&report.call_id) {
            tracing::warn!(call = %report.call_id, "progress of a call without an open card is dropped");
            return;
        }
        let now = Instant::now();
        match state.pace.get_mut(&report.call_id) {
            Some(pace) if now < pace.sent + self.min_interval => {
                let held = pace.held.replace(Arc::clone(&report.view));
                if held.is_none() {
                    let at = pace.sent + self.min_interval;
                    self.ticker.schedule(at, Arc::downgrade(self), report.call_id.clone());
                }
            }
            _ => self.send_progress(&mut state, &report.call_id, &report.view, now),
        }
    }

    /// Sends what is held of a call, for its time has come.
    pub(crate) fn due(&self, call: &CallId) {
        let Some(mut state) = self.open() else { return };
        let now = Instant::now();
        // A report may have overtaken a late ticker, so that this was meant for what has left already.
        let due = state
            .pace
            .get_mut(call)
            .filter(|pace| now >= pace.sent + self.min_interval);
        if let Some(view) = due.and_then(|pace| pace.held.take()) {
            self.send_progress(&mut state, call, &view, now);
        }
    }

    pub(crate) fn started(&self, start: &StartedObservation) {
        let Some(mut state) = self.open() else { return };
        if start.nested {
            return;
        }
        if let Some(update) = state.projector.started(&start.call_id) {
            self.send(&mut state.line, update);
        }
    }

    /// The client chose something; it is told what goes with that.
    pub(crate) fn chosen(&self, choice: Choice, form: Form) {
        let Some(mut state) = self.open() else { return };
        if let Some(update) = state.projector.chosen(choice, form) {
            self.send(&mut state.line, update);
        }
    }

    /// Whether the client takes subagents as sessions of their own.
    pub(crate) fn takes_subagents(&self) -> bool {
        self.open().is_some_and(|state| state.projector.client().subagents)
    }

    /// Says who shows the subagents; only the first word counts.
    pub(crate) fn has_family(&self, family: &Arc<Family>) {
        self.family.get_or_init(|| Arc::downgrade(family));
    }

    /// The view of a subagent that the client is shown as a session of its own.
    pub(crate) fn child(&self, id: &SessionId) -> Option<Arc<Self>> {
        self.family.get()?.upgrade()?.child(id)
    }

    /// A view of a subagent, for the same client and at the same pace.
    pub(crate) fn of_child(&self, agent: &Agent) -> Arc<Self> {
        // Also after the session's end, when nothing of it is shown any more.
        let client = self.state().projector.client();
        let (tools, cwd) = (agent.tools().clone(), agent.cwd().to_owned());
        let projector = Projector::new(tools, cwd, client, Mode::Child);
        let session: Arc<str> = agent.session().id().as_str().into();
        let (outbox, ticker) = (self.outbox.clone(), self.ticker.clone());
        Self::new(session, projector, outbox, ticker, self.min_interval)
    }

    /// Tells the client something beside the log.
    pub(crate) fn show(&self, update: schema::SessionUpdate) {
        let Some(mut state) = self.open() else { return };
        self.send(&mut state.line, update);
    }

    /// Has the card of a call lead to a subagent that the call has started.
    pub(crate) fn link(&self, call: &CallId, child: &SessionId) {
        let Some(mut state) = self.open() else { return };
        if let Some(update) = state.projector.link(call, child) {
            self.send(&mut state.line, update);
        }
    }

    /// The card that a question is about, as the client knows it; `None` if the client knows none.
    pub(crate) fn question(&self, request: &ApprovalRequest) -> Option<schema::ToolCallUpdate> {
        let mut state = self.open()?;
        if let Some(card) = state.projector.question(&request.call_id, further_words(request)) {
            return Some(card);
        }
        // A nested call has no card; the question is shown on that of the outermost one.
        let card = state.projector.announced(&request.root_call_id)?;
        let fields = schema::ToolCallUpdateFields::new()
            .title(format!("{} (within {})", request.tool, card.title))
            .raw_input(request.arguments.clone());
        Some(schema::ToolCallUpdate::new(card.tool_call_id.clone(), fields))
    }

    /// Announces a card for a call of a subagent, and gives it for a question. It ends with the call, with the turn, or
    /// with the view.
    pub(crate) fn member_question(&self, request: &ApprovalRequest, asker: &Asker) -> Option<schema::ToolCallUpdate> {
        let mut state = self.open()?;
        let id = CallId::new(format!("{}/{}", asker.session, request.call_id));
        let State {
            projector,
            members,
            line,
            ..
        } = &mut *state;
        let update = projector.member_call(&id, request, asker);
        self.send(line, update);
        members.insert((request.agent, request.call_id.clone()), id.clone());
        projector.question(&id, further_words(request))
    }

    /// Announces a card for a question that no call stands behind, and gives it to ask about.
    pub(crate) fn confirmation(&self, id: &CallId, question: &Question) -> Option<schema::ToolCallUpdate> {
        let mut state = self.open()?;
        let State { projector, line, .. } = &mut *state;
        let update = projector.confirmation(id, question);
        self.send(line, update);
        projector.question(id, Vec::new())
    }

    /// Ends the card of such a question.
    pub(crate) fn confirmed(&self, id: &CallId, is_yes: bool, answer: &str) {
        let Some(mut state) = self.open() else { return };
        if let Some(update) = state.projector.confirmed(id, is_yes, answer) {
            self.send(&mut state.line, update);
        }
    }

    fn member_started(&self, start: &StartedObservation) {
        let Some(mut state) = self.open() else { return };
        let State {
            projector,
            members,
            line,
            ..
        } = &mut *state;
        let card = start
            .agent
            .and_then(|agent| members.get(&(agent, start.call_id.clone())));
        if let Some(update) = card.and_then(|card| projector.started(card)) {
            self.send(line, update);
        }
    }

    fn member_ended(&self, ended: &ResultObservation) {
        let Some(mut state) = self.open() else { return };
        let State {
            projector,
            members,
            line,
            ..
        } = &mut *state;
        let execution = &ended.execution;
        let card = execution
            .agent()
            .and_then(|agent| members.remove(&(agent, execution.call_id().clone())));
        if let Some(update) = card.and_then(|card| projector.member_result(&card, &ended.result)) {
            self.send(line, update);
        }
    }

    /// Ends what is still open on the client's side, and then says nothing more.
    pub(crate) fn close(&self) {
        let Some(mut state) = self.open() else { return };
        for update in state.projector.abandon() {
            self.send(&mut state.line, update);
        }
        state.pace.clear();
        state.members.clear();
        state.closed = true;
    }

    fn send_progress(&self, state: &mut State, call: &CallId, view: &ProgressView, now: Instant) {
        let Some(update) = state.projector.progress(call, view) else {
            return;
        };
        state.line.clear();
        wire::write_update(&mut state.line, &self.notification(update));
        self.outbox.progress(&self.session, call, &state.line);
        if !self.min_interval.is_zero() {
            state.pace.insert(call.clone(), Pace { sent: now, held: None });
        }
    }

    fn send(&self, line: &mut Vec<u8>, update: schema::SessionUpdate) {
        line.clear();
        wire::write_update(line, &self.notification(update));
        self.outbox.update(line);
    }

    fn notification(&self, update: schema::SessionUpdate) -> schema::SessionNotification {
        schema::SessionNotification::new(Arc::clone(&self.session), update)
    }

    /// The state, unless the session is over.
    fn open(&self) -> Option<MutexGuard<'_, State>> {
        let state = self.state();
        (!state.closed).then_some(state)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
