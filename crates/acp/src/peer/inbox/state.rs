//! The state of an [inbox](super::Inbox), and how what an agent tells changes it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;
use weft_agent::AgentContext;
use weft_tools::{PlanEntry, PlanPriority, PlanStatus};
use weft_types::CallId;

use super::TurnOver;
use crate::peer::card::{Card, text_of};
use crate::sdk::schema;

pub(super) struct State {
    pub(super) pieces: VecDeque<Piece>,
    /// How many bytes of text they hold.
    pub(super) bytes: usize,
    pub(super) calls: HashMap<String, Call>,
    /// The calls whose bodies wait.
    pub(super) running: Vec<Running>,
    pub(super) turn: Turn,
    /// Whether somebody took the end of the turn.
    pub(super) told: bool,
    /// What it said since its last call.
    pub(super) said: String,
    pub(super) plans: usize,
    /// How full its context is, as far as it told.
    pub(super) context: u64,
    /// Tokens that were not told on yet.
    pub(super) tokens: u64,
    /// When it gave a sign of life.
    pub(super) alive: Instant,
    /// How many questions of it are open.
    pub(super) questions: usize,
    pub(super) noise: Vec<u8>,
}

pub(super) enum Piece {
    Text(String),
    Thought(String),
    Call(String),
    Plan(Vec<PlanEntry>),
}

pub(super) enum Turn {
    None,
    Running,
    /// It was cancelled, and what is said until its end is for nobody.
    Cancelled,
    Over(TurnOver),
}

pub(super) struct Call {
    pub(super) card: Card,
    pub(super) stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Waiting,
    Taken,
    /// The answer that named it is over, and so is its place in the log.
    Closed,
}

pub(super) struct Running {
    pub(super) call: String,
    pub(super) id: CallId,
    pub(super) context: Arc<AgentContext>,
}

impl State {
    /// Before anything was said.
    pub(super) fn new() -> Self {
        Self {
            pieces: VecDeque::new(),
            bytes: 0,
            calls: HashMap::new(),
            running: Vec::new(),
            turn: Turn::None,
            told: false,
            said: String::new(),
            plans: 0,
            context: 0,
            tokens: 0,
            alive: Instant::now(),
            questions: 0,
            noise: Vec::new(),
        }
    }

    /// Takes in what the agent tells; of each call so many bytes of text are kept.
    pub(super) fn update(&mut self, update: schema::SessionUpdate, limit: usize) {
        use schema::SessionUpdate as Update;
        match update {
            Update::AgentMessageChunk(chunk) => self.push_text(text_of(&chunk.content), false),
            Update::AgentThoughtChunk(chunk) => self.push_text(text_of(&chunk.content), true),
            Update::ToolCall(call) => {
                let mut fields = schema::ToolCallUpdateFields::new()
                    .title(call.title)
                    .kind(call.kind)
                    .status(call.status)
                    .content(call.content)
                    .locations(call.locations);
                fields.name = call.name;
                fields.raw_input = call.raw_input;
                fields.raw_output = call.raw_output;
                self.call(&call.tool_call_id.0, fields, call.meta.as_ref(), limit);
            }
            Update::ToolCallUpdate(call) => self.note(call, limit),
            Update::Plan(plan) => self.push_plan(plan.entries.into_iter().map(plan_entry).collect()),
            Update::UsageUpdate(usage) => {
                self.tokens += usage.used.saturating_sub(self.context);
                self.context = usage.used;
            }
            _ => {}
        }
    }

    /// Text outside of a turn has no place in the log.
    pub(super) fn push_text(&mut self, text: String, is_thought: bool) {
        if text.is_empty() || !matches!(self.turn, Turn::Running) {
            return;
        }
        self.bytes += text.len();
        match (self.pieces.back_mut(), is_thought) {
            (Some(Piece::Text(last)), false) | (Some(Piece::Thought(last)), true) => last.push_str(&text),
            (_, false) => self.pieces.push_back(Piece::Text(text)),
            (_, true) => self.pieces.push_back(Piece::Thought(text)),
        }
    }

    /// Only the latest plan matters.
    pub(super) fn push_plan(&mut self, plan: Vec<PlanEntry>) {
        if plan.is_empty() || !matches!(self.turn, Turn::Running) {
            return;
        }
        self.pieces.retain(|piece| !matches!(piece, Piece::Plan(_)));
        self.pieces.push_back(Piece::Plan(plan));
    }

    pub(super) fn note(&mut self, call: schema::ToolCallUpdate, limit: usize) {
        self.call(&call.tool_call_id.0, call.fields, call.meta.as_ref(), limit);
    }

    pub(super) fn call(
        &mut self,
        id: &str,
        fields: schema::ToolCallUpdateFields,
        meta: Option<&schema::Meta>,
        limit: usize,
    ) {
        if let Some(call) = self.calls.get_mut(id) {
            // What is over stays as it was told.
            if !call.card.is_over() || call.stage == Stage::Waiting {
                call.card.apply(fields, meta);
            }
            return;
        }
        if !matches!(self.turn, Turn::Running) {
            return;
        }
        let mut card = Card::new(id, limit);
        card.apply(fields, meta);
        self.calls.insert(
            id.to_owned(),
            Call {
                card,
                stage: Stage::Waiting,
            },
        );
        self.pieces.push_back(Piece::Call(id.to_owned()));
    }
}

fn plan_entry(entry: schema::PlanEntry) -> PlanEntry {
    PlanEntry {
        content: entry.content,
        priority: match entry.priority {
            schema::PlanEntryPriority::High => PlanPriority::High,
            schema::PlanEntryPriority::Low => PlanPriority::Low,
            _ => PlanPriority::Medium,
        },
        status: match entry.status {
            schema::PlanEntryStatus::Completed => PlanStatus::Completed,
            schema::PlanEntryStatus::InProgress => PlanStatus::InProgress,
            _ => PlanStatus::Pending,
        },
    }
}
