//! The one projection from a session's log and observations to `session/update`s.
//!
//! [`Projector`] takes events, deltas and observations and gives updates; it does no I/O, knows no clock and
//! is the same function for a live session and for the replay of a log. What differs in a replay is what
//! goes in: there are no deltas and no observations, so that the assembled messages are shown and every card
//! has only its first and its final state. The single choice is [`Mode`]: the user's own words are shown in
//! a replay and of a subagent, and not echoed live.
//!
//! Cards are made in [`card`] from the views that the tools give; nothing here looks at a tool's name.

mod card;
mod console;
mod runs;
mod title;
mod usage;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use weft_agent::{children_in, run_in};
use weft_session::{Delta, DeltaKind};
use weft_tools::{
    ApprovalRequest, Asker, CallView, ProgressView, Question, ResultForView, ToolKind, ToolRegistry, ToolResult,
};
use weft_types::{AssistantBlock, CallId, ContentBlock, Event, EventBody, SessionId, ToolErrorRecord, TurnEnd};

use crate::family::past;
use crate::sdk::schema;
use crate::selectors::{Choice, Form, Selectors};
use crate::wire::{self, text_update};
use card::{Card, MAX_LINKS};
pub(crate) use console::fenced;
use runs::Runs;

pub(crate) use usage::Spending;

/// What the client can show, as it said when it initialised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientProfile {
    /// Whether it takes the output of terminals that the agent owns, in `_meta`.
    pub(crate) terminal_output: bool,
    /// Whether it takes subagents as sessions of their own.
    pub(crate) subagents: bool,
    /// Whether it reads files for the agent.
    pub(crate) reads_files: bool,
    /// Whether it writes files for the agent.
    pub(crate) writes_files: bool,
    /// Whether it takes notices.
    pub(crate) notices: bool,
    /// Whether it takes compactions.
    pub(crate) compaction: bool,
}

impl ClientProfile {
    /// What a client's capabilities say.
    pub(crate) fn of(capabilities: &schema::ClientCapabilities) -> Self {
        let meta = capabilities.meta.as_ref();
        let terminal_output = meta.and_then(|meta| meta.get("terminal_output"));
        let session = capabilities.session.as_ref();
        Self {
            subagents: capabilities.subagents.is_some(),
            terminal_output: terminal_output == Some(&serde_json::Value::Bool(true)),
            reads_files: capabilities.fs.read_text_file,
            writes_files: capabilities.fs.write_text_file,
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
        }
    }
}

/// Whom the updates are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A client that sent the prompts itself.
    Live,
    /// A client that is shown what happened before.
    Replay,
    /// A client that looks on while somebody else prompts.
    Child,
}

/// The message that a delta is a piece of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its id, stable for the step.
    pub(crate) id: Arc<str>,
    /// Whether it is the model's reasoning.
    pub(crate) reasoning: bool,
}

/// The state of one session's projection.
#[derive(Debug)]
pub(crate) struct Projector {
    scene: Scene,
    presenter: ToolRegistry,
    mode: Mode,
    /// Whether a turn is open.
    in_turn: bool,
    /// The calls announced and not finished.
    cards: HashMap<CallId, Card>,
    /// The workflow runs whose results are still to come.
    runs: Runs,
    streaming: Streaming,
    /// Tokens and money; absent if nobody wants to know.
    spending: Option<Spending>,
    /// What the client was told of modes and options; absent where their changes are not shown.
    selectors: Option<Selectors>,
    /// What the user is to know and has no place yet: it waits for the next turn.
    notes: Vec<Note>,
}

/// Something that the user is told beside the conversation.
#[derive(Debug)]
pub(crate) struct Note {
    /// The id of the message that holds it, for a client without notices.
    id: Arc<str>,
    text: String,
}

impl Note {
    /// What is told for the first time when a session is set up; `number` tells those apart.
    pub(crate) fn of_setup(number: usize, text: String) -> Self {
        Self {
            id: format!("note-{number}").into(),
            text,
        }
    }
}

/// What cards are drawn for.
#[derive(Clone, Debug)]
struct Scene {
    cwd: PathBuf,
    client: ClientProfile,
}

/// What of the current step has been streamed already.
#[derive(Debug, Default)]
struct Streaming {
    step: (u32, u32),
    text: Option<Arc<str>>,
    reasoning: Option<Arc<str>>,
}

impl Projector {
    /// A projection from the start of a session that works in `cwd` and presents calls by `presenter`.
    pub(crate) fn new(presenter: ToolRegistry, cwd: PathBuf, client: ClientProfile, mode: Mode) -> Self {
        Self {
            scene: Scene { cwd, client },
            presenter,
            mode,
            in_turn: false,
            cards: HashMap::new(),
            runs: Runs::default(),
            streaming: Streaming::default(),
            spending: None,
            selectors: None,
            notes: Vec::new(),
        }
    }

    /// The same projection, which tells what is spent beyond this.
    pub(crate) fn with_spending(self, spending: Spending) -> Self {
        Self {
            spending: Some(spending),
            ..self
        }
    }

    /// The same projection, which tells what of this changes.
    pub(crate) fn with_selectors(self, selectors: Selectors) -> Self {
        Self {
            selectors: Some(selectors),
            ..self
        }
    }

    /// The same projection with something to say first. It waits for the first turn: text outside of a turn
    /// has no place in the protocol.
    pub(crate) fn with_notes(self, notes: Vec<Note>) -> Self {
        Self { notes, ..self }
    }

    /// Notes what the client chose, and gives what it is told of it.
    pub(crate) fn chosen(&mut self, choice: Choice, form: Form) -> Option<schema::SessionUpdate> {
        self.selectors.as_mut()?.chosen(choice, form)
    }

    /// What still waits for a turn, for the projection that will see it.
    pub(crate) fn into_notes(self) -> Vec<Note> {
        self.notes
    }

    /// Names the message that a delta belongs to; `None` for an empty delta.
    pub(crate) fn delta(&mut self, delta: &Delta) -> Option<Message> {
        if delta.text.is_empty() {
            return None;
        }
        let reasoning = delta.kind == DeltaKind::Reasoning;
        let streaming = self.streaming.at(delta.turn, delta.step);
        let (slot, name) = if reasoning {
            (&mut streaming.reasoning, "thought")
        } else {
            (&mut streaming.text, "message")
        };
        let id = slot.get_or_insert_with(|| step_id(name, delta.turn, delta.step));
        Some(Message {
            id: Arc::clone(id),
            reasoning,
        })
    }

    /// Shows what one event changes for the client.
    pub(crate) fn event(&mut self, event: &Event, show: &mut impl FnMut(schema::SessionUpdate)) {
        self.runs.push(&event.body);
        match &event.body {
            EventBody::TurnStart { .. } => self.in_turn = true,
            EventBody::UserMessage { turn, content } => {
                if self.mode != Mode::Live {
                    user_message(*turn, content, show);
                }
                self.show_notes(show);
            }
            EventBody::SessionNotice { message } => {
                self.notes.push(Note {
                    id: format!("notice-{}", event.seq).into(),
                    text: message.clone(),
                });
                if self.in_turn {
                    self.show_notes(show);
                }
            }
            EventBody::SessionCompaction { summary, .. } => show(self.compaction(event.seq, summary)),
            EventBody::SessionMode { .. } | EventBody::SessionModel { .. } => {
                let updates = self.selectors.as_mut().map(|selectors| selectors.event(&event.body));
                updates.into_iter().flatten().for_each(&mut *show);
            }
            EventBody::AssistantMessage {
                turn, step, content, ..
            } => self.assistant_message(*turn, *step, content, show),
            EventBody::ModelRetry {
                turn,
                step,
                attempt,
                delay_ms,
                message,
            } => {
                let id = format!("retry-{turn}.{step}.{attempt}");
                show(text_update(id.into(), false, &retry_text(*attempt, *delay_ms, message)));
            }
            EventBody::ToolCall {
                call_id,
                name,
                arguments,
                needs_approval,
                ..
            } => show(self.tool_call(call_id, name, arguments, *needs_approval)),
            EventBody::ToolResult {
                call_id,
                content,
                error,
                meta,
                ..
            } => {
                let children = self.children(meta.as_ref());
                if self.mode == Mode::Replay {
                    let title = self.cards.get(call_id).map(|card| card.announced().title.clone());
                    children.iter().for_each(|child| show(past(child, title.as_deref())));
                }
                let plan = error.is_none().then(|| self.plan(call_id)).flatten();
                show(self.tool_result(call_id, content, error.as_ref(), meta.as_ref()));
                plan.into_iter().for_each(&mut *show);
            }
            EventBody::WorkflowAgentStart { child_id, label, .. }
                if self.mode == Mode::Replay && self.scene.client.subagents =>
            {
                show(past(child_id, Some(label)));
            }
            EventBody::TurnEnd { turn, reason } => {
                self.in_turn = false;
                if let Some(text) = ending_text(reason) {
                    show(text_update(format!("failure-{turn}").into(), false, &text));
                }
            }
            EventBody::SessionTitle { title } => {
                let update = schema::SessionInfoUpdate::new().title(title.clone());
                let update = match wire::timestamp(event.time) {
                    Some(time) => update.updated_at(time),
                    None => update,
                };
                show(schema::SessionUpdate::SessionInfoUpdate(update));
            }
            _ => {}
        }
        let spent = self.spending.as_mut().and_then(|spending| spending.event(&event.body));
        spent.into_iter().for_each(show);
    }

    /// Shows what waits for a turn. Notices are no part of a conversation, so that a replay has none.
    fn show_notes(&mut self, show: &mut impl FnMut(schema::SessionUpdate)) {
        for Note { id, text } in std::mem::take(&mut self.notes) {
            if !self.scene.client.notices {
                show(text_update(id, false, &format!("[{text}]\n\n")));
            } else if self.mode == Mode::Live {
                let notice = schema::Notice::new(schema::NoticeSeverity::Info, text);
                show(schema::SessionUpdate::Notice(notice));
            }
        }
    }

    fn compaction(&self, seq: u64, summary: &str) -> schema::SessionUpdate {
        let id: Arc<str> = format!("compaction-{seq}").into();
        if !self.scene.client.compaction {
            let text = "[the conversation so far was summed up, to make room for more]\n\n";
            return text_update(id, false, text);
        }
        let update = schema::CompactionUpdate::new(id, schema::CompactionStatus::Completed)
            .summary(vec![schema::ContentBlock::from(summary)]);
        schema::SessionUpdate::CompactionUpdate(update)
    }

    /// The plan that a call made which has just succeeded.
    fn plan(&self, call: &CallId) -> Option<schema::SessionUpdate> {
        let (name, arguments) = self.cards.get(call)?.call();
        let entries = self.presenter.plan_of(name, arguments)?;
        let entries = entries.into_iter().map(wire::plan_entry).collect();
        Some(schema::SessionUpdate::Plan(schema::Plan::new(entries)))
    }

    /// The update of a progress report; `None` for a call without an open card.
    pub(crate) fn progress(&mut self, call: &CallId, view: &ProgressView) -> Option<schema::SessionUpdate> {
        let card = self.cards.get_mut(call)?;
        Some(card.progress(&self.scene, view))
    }

    /// The update of a call whose body starts: only a card that waited for an approval changes.
    pub(crate) fn started(&mut self, call: &CallId) -> Option<schema::SessionUpdate> {
        self.cards.get_mut(call)?.started()
    }

    /// Whether a call has a card that is not final.
    pub(crate) fn is_open(&self, call: &CallId) -> bool {
        self.cards.contains_key(call)
    }

    /// The card of a call for a question about it, with what the user should read first.
    pub(crate) fn question(&mut self, call: &CallId, words: Vec<String>) -> Option<schema::ToolCallUpdate> {
        Some(self.cards.get_mut(call)?.question(words))
    }

    /// A card for a call of a subagent that asks about it: it says who asks, and is no part of the session's log.
    pub(crate) fn member_call(
        &mut self,
        id: &CallId,
        request: &ApprovalRequest,
        asker: &Asker,
    ) -> schema::SessionUpdate {
        let (name, arguments) = (&request.tool, request.arguments.to_string());
        let view = self.presenter.present_call(name, &arguments);
        let card = Card::new(&self.scene, id, (name, &arguments), view, true).asked_by(asker, &request.call_id);
        let update = schema::SessionUpdate::ToolCall(card.announced().clone());
        self.cards.insert(id.clone(), card);
        update
    }

    /// The final state of such a card; `None` if it is closed already.
    pub(crate) fn member_result(&mut self, id: &CallId, result: &ToolResult) -> Option<schema::SessionUpdate> {
        self.cards.contains_key(id).then(|| {
            let meta = result.meta.as_ref();
            self.finish_card(id, &result.content, result.is_error(), meta)
        })
    }

    /// The final state of such a card whose call was never made; `None` if it is closed already.
    pub(crate) fn dropped(&mut self, id: &CallId) -> Option<schema::SessionUpdate> {
        let said = ContentBlock::text("the turn ended before this began");
        (self.cards.contains_key(id)).then(|| self.finish_card(id, &[said], true, None))
    }

    /// A card for a question that no call stands behind. It is no part of the session's log.
    pub(crate) fn confirmation(&mut self, id: &CallId, question: &Question) -> schema::SessionUpdate {
        let view = CallView::Generic {
            title: question.title.clone(),
            kind: ToolKind::Other,
            raw_input: None,
            content: vec![ContentBlock::text(console::fenced(&question.text))],
            locations: Vec::new(),
        };
        let card = Card::new(&self.scene, id, (&question.command, "{}"), view, true);
        let update = schema::SessionUpdate::ToolCall(card.announced().clone());
        self.cards.insert(id.clone(), card);
        update
    }

    /// The final state of such a card, which says what came of the question; `None` if it is closed already.
    pub(crate) fn confirmed(&mut self, id: &CallId, is_yes: bool, answer: &str) -> Option<schema::SessionUpdate> {
        let card = self.cards.remove(id)?;
        Some(card.answered(is_yes, answer))
    }

    /// The card of a call as it was announced, for a question about it.
    pub(crate) fn announced(&self, call: &CallId) -> Option<&schema::ToolCall> {
        self.cards.get(call).map(Card::announced)
    }

    /// What the client can show.
    pub(crate) fn client(&self) -> ClientProfile {
        self.scene.client
    }

    /// The update of a call that has started a subagent; `None` where the next one will show it anyway.
    pub(crate) fn link(&mut self, call: &CallId, child: &SessionId) -> Option<schema::SessionUpdate> {
        self.cards.get_mut(call)?.link(child)
    }

    /// The subagents that a result is the answer of, for a client that is told of any.
    fn children(&self, meta: Option<&serde_json::Value>) -> Vec<SessionId> {
        match self.scene.client.subagents {
            true => children_in(meta),
            false => Vec::new(),
        }
    }

    /// Ends every card that is still open as failed, because nothing more will come.
    pub(crate) fn abandon(&mut self) -> Vec<schema::SessionUpdate> {
        let cards = std::mem::take(&mut self.cards);
        cards.into_values().map(Card::abandon).collect()
    }

    fn assistant_message(
        &mut self,
        turn: u32,
        step: u32,
        content: &[AssistantBlock],
        show: &mut impl FnMut(schema::SessionUpdate),
    ) {
        let streaming = self.streaming.at(turn, step);
        let (text_seen, reasoning_seen) = (streaming.text.is_some(), streaming.reasoning.is_some());
        for block in content {
            match block {
                AssistantBlock::Text { text } if !text_seen && !text.is_empty() => {
                    show(text_update(step_id("message", turn, step), false, text));
                }
                AssistantBlock::Reasoning { text, .. } if !reasoning_seen && !text.is_empty() => {
                    show(text_update(step_id("thought", turn, step), true, text));
                }
                _ => {}
            }
        }
    }

    fn tool_call(&mut self, id: &CallId, name: &str, arguments: &str, needs_approval: bool) -> schema::SessionUpdate {
        let view = self.presenter.present_call(name, arguments);
        let card = Card::new(&self.scene, id, (name, arguments), view, needs_approval);
        let update = schema::SessionUpdate::ToolCall(card.announced().clone());
        self.cards.insert(id.clone(), card);
        update
    }

    fn tool_result(
        &mut self,
        id: &CallId,
        content: &[ContentBlock],
        error: Option<&ToolErrorRecord>,
        meta: Option<&serde_json::Value>,
    ) -> schema::SessionUpdate {
        self.finish_card(id, content, error.is_some(), meta)
    }

    fn finish_card(
        &mut self,
        id: &CallId,
        content: &[ContentBlock],
        is_error: bool,
        meta: Option<&serde_json::Value>,
    ) -> schema::SessionUpdate {
        let Some(card) = self.cards.remove(id) else {
            return card::orphan(id, content, is_error);
        };
        let (name, arguments) = card.call();
        let result = ResultForView {
            content,
            is_error,
            meta,
        };
        let view = self.presenter.present_result(name, arguments, result);
        let mut children = self.children(meta);
        let run = run_in(meta).and_then(|id| Some((self.runs.take(&id)?, id)));
        if let Some((run, _)) = run.as_ref().filter(|_| self.scene.client.subagents) {
            children.extend(run.sessions().take(MAX_LINKS).cloned());
        }
        let raw = run.map(|(run, id)| run.raw(&id));
        card.finish(&self.scene, view, (content, &children, raw), is_error)
    }
}

impl Streaming {
    /// The state of one step; another step's is forgotten.
    fn at(&mut self, turn: u32, step: u32) -> &mut Self {
        if self.step != (turn, step) {
            *self = Self {
                step: (turn, step),
                ..Self::default()
            };
        }
        self
    }
}

fn step_id(name: &str, turn: u32, step: u32) -> Arc<str> {
    format!("{name}-{turn}.{step}").into()
}

fn user_message(turn: u32, content: &[ContentBlock], show: &mut impl FnMut(schema::SessionUpdate)) {
    let id: Arc<str> = format!("prompt-{turn}").into();
    for block in content {
        let chunk = schema::ContentChunk::new(wire::content(block)).message_id(schema::MessageId::new(Arc::clone(&id)));
        show(schema::SessionUpdate::UserMessageChunk(chunk));
    }
}

fn retry_text(attempt: u32, delay_ms: u64, message: &str) -> String {
    let wait = if delay_ms.is_multiple_of(1000) {
        format!("{} s", delay_ms / 1000)
    } else {
        format!("{delay_ms} ms")
    };
    format!("[attempt {attempt} of the model request failed: {message}; waiting {wait} before a retry]")
}

/// What the conversation shows of a turn that ended otherwise than its answer tells.
fn ending_text(reason: &TurnEnd) -> Option<String> {
    match reason {
        TurnEnd::Error { message } => Some(format!("[the turn failed: {message}]")),
        TurnEnd::Interrupted => Some("[the turn was interrupted before it was finished]".to_owned()),
        TurnEnd::Completed | TurnEnd::Aborted { .. } | TurnEnd::MaxTokens | TurnEnd::MaxSteps | TurnEnd::Refusal => {
            None
        }
    }
}

#[cfg(test)]
mod tests;
