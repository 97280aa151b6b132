//! What must be appended to a log so that nothing in it stays open.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weft_types::{AssistantBlock, CallId, ContentBlock, Event, EventBody, RunId, ToolErrorRecord, TurnEnd};

/// The events that close an open turn: a result for every call without one, `step/end`, `turn/end`
/// with `reason`. Empty if no turn is open.
///
/// A call that was never recorded gets both its records and the code `TOOL_NOT_STARTED`; one that was
/// gets a result with `TOOL_OUTCOME_UNKNOWN`, for its body may have had effects; it names the workflow runs that began
/// after it and have no end, since they can be resumed. Workflow records are left alone: readers derive that their run
/// was interrupted.
///
/// `events` must be a valid log; only its last turn is looked at.
pub fn closing_events(events: &[Arc<Event>], reason: TurnEnd) -> Vec<EventBody> {
    let Some(open) = OpenTail::of(events) else {
        return Vec::new();
    };
    let turn = open.turn;
    let mut closing = Vec::new();
    if let Some(step) = open.step {
        for call in open.named.iter().filter(|call| !open.settled.contains(call.id)) {
            let runs = open.called.get(call.id);
            close_call(&mut closing, (turn, step), call, runs.map(Vec::as_slice));
        }
        closing.push(EventBody::StepEnd { turn, step });
    }
    closing.push(EventBody::TurnEnd { turn, reason });
    closing
}

/// What is open at the end of a log.
struct OpenTail<'a> {
    turn: u32,
    step: Option<u32>,
    /// The calls that the answer names, in its order.
    named: Vec<NamedCall<'a>>,
    /// Those that began, with the open runs that began while each of them was the last to have begun.
    called: HashMap<&'a CallId, Vec<&'a RunId>>,
    last_called: Option<&'a CallId>,
    settled: HashSet<&'a CallId>,
}

struct NamedCall<'a> {
    id: &'a CallId,
    name: &'a str,
    arguments: &'a str,
}

impl<'a> OpenTail<'a> {
    fn of(events: &'a [Arc<Event>]) -> Option<Self> {
        let start = events
            .iter()
            .rposition(|event| matches!(event.body, EventBody::TurnStart { .. }))?;
        let mut open = None;
        for event in &events[start..] {
            match &event.body {
                EventBody::TurnStart { turn } => open = Some(Self::turn(*turn)),
                EventBody::TurnEnd { .. } => open = None,
                body => open.iter_mut().for_each(|tail: &mut Self| tail.take(body)),
            }
        }
        open
    }

    fn turn(turn: u32) -> Self {
        Self {
            turn,
            step: None,
            named: Vec::new(),
            called: HashMap::new(),
            last_called: None,
            settled: HashSet::new(),
        }
    }

    fn take(&mut self, body: &'a EventBody) {
        match body {
            EventBody::StepStart { step, .. } => self.step = Some(*step),
            EventBody::StepEnd { .. } => {
                self.step = None;
                self.named.clear();
            }
            EventBody::AssistantMessage { content, .. } => self.named = content.iter().filter_map(named).collect(),
            EventBody::ToolCall { call_id, .. } => {
                self.called.insert(call_id, Vec::new());
                self.last_called = Some(call_id);
            }
            EventBody::WorkflowRunStart { run_id, .. } => {
                let call = self.last_called.and_then(|call| self.called.get_mut(call));
                call.into_iter().for_each(|runs| runs.push(run_id));
            }
            EventBody::WorkflowRunEnd { run_id, .. } => {
                self.called
                    .values_mut()
                    .for_each(|runs| runs.retain(|run| *run != run_id));
            }
            EventBody::ToolResult { call_id, .. } => drop(self.settled.insert(call_id)),
            _ => {}
        }
    }
}

fn named(block: &AssistantBlock) -> Option<NamedCall<'_>> {
    match block {
        AssistantBlock::ToolCall { id, name, arguments } => Some(NamedCall { id, name, arguments }),
        AssistantBlock::Text { .. } | AssistantBlock::Reasoning { .. } => None,
    }
}

/// `runs` are those of a call that began.
fn close_call(closing: &mut Vec<EventBody>, (turn, step): (u32, u32), call: &NamedCall<'_>, runs: Option<&[&RunId]>) {
    let (message, code) = if let Some(runs) = runs {
        let mut message = "the tool was interrupted; what it did until then is unknown".to_owned();
        for run in runs {
            message.push_str("\nA workflow run was under way, run id: ");
            message.push_str(run.as_str());
        }
        (message, "TOOL_OUTCOME_UNKNOWN")
    } else {
        closing.push(EventBody::ToolCall {
            turn,
            step,
            call_id: call.id.clone(),
            name: call.name.to_owned(),
            arguments: call.arguments.to_owned(),
            needs_approval: false,
        });
        ("the tool was not started".to_owned(), "TOOL_NOT_STARTED")
    };
    closing.push(EventBody::ToolResult {
        turn,
        step,
        call_id: call.id.clone(),
        content: vec![ContentBlock::text(format!("Error: {message}"))],
        error: Some(ToolErrorRecord {
            message,
            code: Some(code.to_owned()),
        }),
        meta: None,
    });
}
