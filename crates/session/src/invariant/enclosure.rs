//! The invariants of every log: turns hold steps, steps hold calls, calls have results.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use weft_types::{AssistantBlock, CallId, Event, EventBody, StopReason};

use super::{Invariant, Violation};

/// In how many levels an event's free JSON may be nested. Readers commonly stop at 128, of which the
/// event around it takes up to 4.
const MAX_JSON_DEPTH: usize = 120;

/// The fold of all events so far, as far as their enclosure needs it.
#[derive(Debug, Default)]
pub(crate) struct Enclosure {
    next_seq: u64,
    last_turn: u32,
    turn: Option<OpenTurn>,
    /// Every call id that a message of this log has named.
    call_ids: HashSet<CallId>,
}

#[derive(Debug, Default)]
struct OpenTurn {
    last_step: u32,
    step: Option<OpenStep>,
}

#[derive(Debug, Default)]
struct OpenStep {
    answered: bool,
    /// The calls that its message names and that have no result yet.
    open: HashMap<CallId, OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    name: String,
    called: bool,
}

type Check = Result<(), Violation>;

fn refuse<T>(rule: &'static str, message: impl Into<String>) -> Result<T, Violation> {
    Err(Violation::new(rule, message))
}

impl Invariant for Enclosure {
    fn check(&self, next: &Event) -> Check {
        if next.seq != self.next_seq {
            return refuse("seq", format!("seq is {}, expected {}", next.seq, self.next_seq));
        }
        match &next.body {
            EventBody::TurnStart { turn } => self.check_turn_start(*turn),
            EventBody::UserMessage { turn, .. } => self.check_between_steps("user/message", *turn),
            EventBody::ToolContext { turn, .. } => self.check_between_steps("tool/context", *turn),
            EventBody::StepStart { turn, step } => self.check_step_start(*turn, *step),
            EventBody::RequestHeader { tools, .. } => {
                self.check_before_answer("request/header", None)?;
                tools.iter().try_for_each(|tool| check_depth(&tool.parameters))
            }
            EventBody::ModelRetry { turn, step, .. } => self.check_before_answer("model/retry", Some((*turn, *step))),
            EventBody::AssistantMessage {
                turn,
                step,
                content,
                stop,
                interrupted,
                ..
            } => {
                self.check_before_answer("assistant/message", Some((*turn, *step)))?;
                self.check_message(content, *stop, *interrupted)
            }
            EventBody::ToolCall {
                turn,
                step,
                call_id,
                name,
                ..
            } => check_call(self.open_step("tool/call", *turn, *step)?, call_id, name),
            EventBody::ToolResult {
                turn,
                step,
                call_id,
                meta,
                ..
            } => {
                check_result(self.open_step("tool/result", *turn, *step)?, call_id)?;
                meta.iter().try_for_each(check_depth)
            }
            EventBody::StepEnd { turn, step } => check_step_end(self.open_step("step/end", *turn, *step)?, *step),
            EventBody::TurnEnd { turn, .. } => self.check_between_steps("turn/end", *turn),
            EventBody::SessionCompaction { turn, kept_from, .. } => self.check_compaction(*turn, *kept_from),
            EventBody::SessionTitle { .. }
            | EventBody::SessionMode { .. }
            | EventBody::SessionModel { .. }
            | EventBody::SessionRule { .. }
            | EventBody::SessionNotice { .. }
            | EventBody::WorkflowRunStart { .. }
            | EventBody::WorkflowAgentStart { .. }
            | EventBody::WorkflowAgentEnd { .. }
            | EventBody::WorkflowRunEnd { .. }
            | EventBody::Other(_) => Ok(()),
        }
    }

    fn commit(&mut self, event: &Event) {
        self.next_seq += 1;
        match &event.body {
            EventBody::TurnStart { turn } => {
                self.last_turn = *turn;
                self.turn = Some(OpenTurn::default());
            }
            EventBody::TurnEnd { .. } => self.turn = None,
            EventBody::StepStart { step, .. } => {
                if let Some(turn) = &mut self.turn {
                    turn.last_step = *step;
                    turn.step = Some(OpenStep::default());
                }
            }
            EventBody::StepEnd { .. } => {
                if let Some(turn) = &mut self.turn {
                    turn.step = None;
                }
            }
            EventBody::AssistantMessage { content, .. } => self.commit_message(content),
            EventBody::ToolCall { call_id, .. } => {
                if let Some(call) = self.step_mut().and_then(|step| step.open.get_mut(call_id)) {
                    call.called = true;
                }
            }
            EventBody::ToolResult { call_id, .. } => {
                if let Some(step) = self.step_mut() {
                    step.open.remove(call_id);
                }
            }
            EventBody::UserMessage { .. }
            | EventBody::SessionTitle { .. }
            | EventBody::SessionMode { .. }
            | EventBody::SessionModel { .. }
            | EventBody::SessionRule { .. }
            | EventBody::SessionNotice { .. }
            | EventBody::SessionCompaction { .. }
            | EventBody::ToolContext { .. }
            | EventBody::RequestHeader { .. }
            | EventBody::ModelRetry { .. }
            | EventBody::WorkflowRunStart { .. }
            | EventBody::WorkflowAgentStart { .. }
            | EventBody::WorkflowAgentEnd { .. }
            | EventBody::WorkflowRunEnd { .. }
            | EventBody::Other(_) => {}
        }
    }
}

impl Enclosure {
    fn check_turn_start(&self, turn: u32) -> Check {
        if self.turn.is_some() {
            return refuse("one-open-turn", format!("turn {} is still open", self.last_turn));
        }
        if self.last_turn.checked_add(1) != Some(turn) {
            let last = self.last_turn;
            return refuse(
                "turn-number",
                format!("turn {turn} follows turn {last}, expected one more"),
            );
        }
        Ok(())
    }

    fn check_step_start(&self, turn: u32, step: u32) -> Check {
        let last = self.open_turn("step/start", turn)?.last_step;
        self.check_between_steps("step/start", turn)?;
        if last.checked_add(1) != Some(step) {
            return refuse(
                "step-number",
                format!("step {step} follows step {last}, expected one more"),
            );
        }
        Ok(())
    }

    fn check_between_steps(&self, what: &str, turn: u32) -> Check {
        let open = self.open_turn(what, turn)?;
        if open.step.is_some() {
            return refuse("open-step", format!("{what} while step {} is open", open.last_step));
        }
        Ok(())
    }

    /// A summary is made between two steps, or in one before its answer, and keeps from what has happened already.
    fn check_compaction(&self, turn: u32, kept_from: u64) -> Check {
        let open = self.open_turn("session/compaction", turn)?;
        if open.step.as_ref().is_some_and(|step| step.answered) {
            return refuse("one-answer", "session/compaction after the answer of its step");
        }
        if kept_from > self.next_seq {
            let next = self.next_seq;
            return refuse(
                "kept-from",
                format!("event {kept_from} is kept, but the next one is {next}"),
            );
        }
        Ok(())
    }

    fn check_before_answer(&self, what: &str, place: Option<(u32, u32)>) -> Check {
        let step = match place {
            Some((turn, step)) => Some(self.open_step(what, turn, step)?),
            None => self.turn.as_ref().and_then(|turn| turn.step.as_ref()),
        };
        match step {
            None => refuse("inside-step", format!("{what} outside of a step")),
            Some(step) if step.answered => refuse("one-answer", format!("{what} after the answer of its step")),
            Some(_) => Ok(()),
        }
    }

    fn check_message(&self, content: &[AssistantBlock], stop: Option<StopReason>, interrupted: bool) -> Check {
        if interrupted == stop.is_some() {
            return refuse(
                "stop-reason",
                "an answer has a stop reason, or was interrupted, not both or neither",
            );
        }
        let mut named = HashSet::new();
        for (id, _) in calls_of(content) {
            if interrupted {
                return refuse("interrupted-call", format!("an interrupted answer names call {id}"));
            }
            if self.call_ids.contains(id) || !named.insert(id) {
                return refuse("call-id", format!("call id {id} was used before in this session"));
            }
        }
        Ok(())
    }

    fn commit_message(&mut self, content: &[AssistantBlock]) {
        self.call_ids.extend(calls_of(content).map(|(id, _)| id.clone()));
        if let Some(step) = self.step_mut() {
            step.answered = true;
            step.open = calls_of(content)
                .map(|(id, name)| (id.clone(), OpenCall::new(name)))
                .collect();
        }
    }

    fn open_turn(&self, what: &str, turn: u32) -> Result<&OpenTurn, Violation> {
        match &self.turn {
            None => refuse("inside-turn", format!("{what} of turn {turn} while no turn is open")),
            Some(_) if turn != self.last_turn => {
                let open = self.last_turn;
                refuse(
                    "inside-turn",
                    format!("{what} of turn {turn} while turn {open} is open"),
                )
            }
            Some(open) => Ok(open),
        }
    }

    fn open_step(&self, what: &str, turn: u32, step: u32) -> Result<&OpenStep, Violation> {
        let open = self.open_turn(what, turn)?;
        match &open.step {
            None => refuse("inside-step", format!("{what} of step {step} while no step is open")),
            Some(_) if step != open.last_step => {
                let last = open.last_step;
                refuse(
                    "inside-step",
                    format!("{what} of step {step} while step {last} is open"),
                )
            }
            Some(open) => Ok(open),
        }
    }

    fn step_mut(&mut self) -> Option<&mut OpenStep> {
        self.turn.as_mut()?.step.as_mut()
    }
}

impl OpenCall {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            called: false,
        }
    }
}

fn calls_of(content: &[AssistantBlock]) -> impl Iterator<Item = (&CallId, &str)> {
    content.iter().filter_map(|block| match block {
        AssistantBlock::ToolCall { id, name, .. } => Some((id, name.as_str())),
        AssistantBlock::Text { .. } | AssistantBlock::Reasoning { .. } => None,
    })
}

fn check_call(step: &OpenStep, id: &CallId, name: &str) -> Check {
    match step.open.get(id) {
        None => refuse(
            "named-call",
            format!("call {id} is not an open call of the step's answer"),
        ),
        Some(call) if call.called => refuse("call-once", format!("call {id} was recorded before")),
        Some(call) if call.name != name => {
            let named = &call.name;
            refuse(
                "named-call",
                format!("call {id} is of {name:?}, the answer names {named:?}"),
            )
        }
        Some(_) => Ok(()),
    }
}

fn check_result(step: &OpenStep, id: &CallId) -> Check {
    match step.open.get(id) {
        Some(call) if call.called => Ok(()),
        Some(_) => refuse("result-of-call", format!("result of call {id} before the call")),
        None => refuse(
            "result-of-call",
            format!("result of {id}, which is no open call of the step"),
        ),
    }
}

fn check_step_end(open: &OpenStep, step: u32) -> Check {
    if open.open.is_empty() {
        return Ok(());
    }
    let mut ids: Vec<&str> = open.open.keys().map(CallId::as_str).collect();
    ids.sort_unstable();
    let shown = ids[..ids.len().min(8)].join(", ");
    refuse(
        "open-calls",
        format!("step {step} ends while {} calls have no result: {shown}", ids.len()),
    )
}

fn check_depth(value: &Value) -> Check {
    let mut level = vec![value];
    for _ in 0..=MAX_JSON_DEPTH {
        level = level.into_iter().flat_map(children).collect();
        if level.is_empty() {
            return Ok(());
        }
    }
    refuse(
        "json-depth",
        format!("JSON is nested more than {MAX_JSON_DEPTH} levels deep"),
    )
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Box::new(std::iter::empty()),
    }
}
