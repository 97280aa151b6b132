//! What is printed while a turn goes on and when it has ended.
//!
//! It is called on the threads that append, so that a reader of stdout who does not read holds the turn up instead of
//! filling the memory.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use weft_agent::Agent;
use weft_observe::Subscription;
use weft_session::{Delta, DeltaKind, Session, SessionUpdate};
use weft_tools::ToolRegistry;
use weft_types::{Event, EventBody};

use super::denier::Denied;
use super::outcome::Outcome;
use super::progress::Progress;
use crate::args::ExecArgs;
use crate::terminal::{harmless, is_stderr_live, one_line};

/// Prints.
pub(super) struct Output {
    presenter: ToolRegistry,
    json: bool,
    partial: bool,
    state: Mutex<State>,
    /// Fires when stdout takes no more.
    broken: CancellationToken,
}

struct State {
    failure: Option<io::Error>,
    /// Cards on stderr, where that is a terminal that nobody else draws on.
    progress: Option<Progress>,
}

impl Output {
    pub(super) fn new(agent: &Agent, args: &ExecArgs, broken: CancellationToken) -> Self {
        let shows = is_stderr_live() && !(args.json && io::stdout().is_terminal());
        let output = Self {
            presenter: agent.tools().clone(),
            json: args.json,
            partial: args.partial,
            state: Mutex::new(State {
                failure: None,
                progress: shows.then(Progress::new),
            }),
            broken,
        };
        output.header(agent.session());
        output
    }

    /// Prints what happens in the agent's session until the subscriptions are dropped.
    pub(super) fn watch(self: &Arc<Self>, agent: &Agent) -> [Subscription; 2] {
        let (events, reports) = (Arc::clone(self), Arc::clone(self));
        let progress = agent.tools().progress();
        [
            agent.session().observe(move |update| match update {
                SessionUpdate::Event(event) => events.event(event),
                SessionUpdate::Delta(delta) => events.delta(delta),
            }),
            progress.subscribe(Some(agent.id()), move |report| {
                if !report.nested
                    && let Some(progress) = &mut reports.lock().progress
                {
                    progress.report(&report.call_id, &report.view);
                }
            }),
        ]
    }

    /// A call's title, as its card has it.
    pub(super) fn title(&self, tool: &str, arguments: &str) -> String {
        self.presenter.present_call(tool, arguments).title().to_owned()
    }

    /// Says that a call was denied.
    pub(super) fn denied(&self, denied: &Denied) {
        let (tool, title) = (one_line(&denied.tool), one_line(&denied.title));
        self.say(&format!("denied, since nobody can be asked: {tool}: {title}"));
    }

    /// Says how it ended, and the answer.
    ///
    /// # Errors
    /// Stdout did not take what was printed, now or earlier.
    pub(super) fn end(&self, outcome: &Outcome) -> io::Result<()> {
        if let Some(progress) = &mut self.lock().progress {
            progress.end();
        }
        if self.json {
            self.line(&outcome.to_json());
        } else if let Some(answer) = outcome.answer() {
            self.print(&format!("{answer}\n"));
        }
        for note in outcome.notes() {
            self.say(&format!("note: {note}"));
        }
        if let Some(problem) = outcome.problem() {
            self.say(&problem);
        }
        if !outcome.denied.is_empty() {
            self.say(
                "hint: --allow RULE allows such calls, --mode accept-edits changes of files, --mode full everything",
            );
        }
        self.lock().failure.take().map_or(Ok(()), Err)
    }

    fn header(&self, session: &Session) {
        if self.json {
            self.line(session.header());
        }
    }

    fn event(&self, event: &Event) {
        if self.json {
            self.line(event);
        }
        if let EventBody::SessionNotice { message } = &event.body {
            self.say(message);
        }
        if let Some(progress) = &mut self.lock().progress {
            progress.event(event, &self.presenter);
        }
    }

    fn delta(&self, delta: &Delta) {
        if self.partial {
            let kind = match delta.kind {
                DeltaKind::Text => "text",
                DeltaKind::Reasoning => "reasoning",
            };
            let Delta { turn, step, text, .. } = delta;
            let data = json!({"turn": turn, "step": step, "kind": kind, "text": text});
            self.line(&json!({"type": "delta", "data": data}));
        }
    }

    fn line(&self, value: &impl serde::Serialize) {
        match serde_json::to_string(value) {
            Ok(line) => self.print(&format!("{line}\n")),
            Err(error) => self.fail(io::Error::other(error)),
        }
    }

    fn print(&self, text: &str) {
        if self.lock().failure.is_some() {
            return;
        }
        let mut out = io::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.fail(error);
        }
    }

    fn fail(&self, error: io::Error) {
        self.lock().failure.get_or_insert(error);
        self.broken.cancel();
    }

    /// A line on stderr, above the cards.
    fn say(&self, text: &str) {
        match &mut self.lock().progress {
            Some(progress) => progress.note(text),
            None => crate::complain(&harmless(text)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
