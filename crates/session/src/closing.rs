//! What must be appended to a log so that nothing in it stays open.

use std::sync::Arc;

use weft_types::{AssistantBlock, CallId, ContentBlock, Event, EventBody, ToolErrorRecord, TurnEnd};

/// The events that close an open turn: a result for every call without one, `step/end`, `turn/end`
/// with `reason`. Empty if no turn is open.
///
/// A call that was never recorded gets both its records and the code `TOOL_NOT_STARTED`; one that was
/// gets a result with `TOOL_OUTCOME_UNKNOWN`, for its body may have had effects. Workflow records are
/// left alone: readers derive that their run was interrupted.
///
/// `events` must be a valid log; only its last turn is looked at.
pub fn closing_events(events: &[Arc<Event>], reason: TurnEnd) -> Vec<EventBody> {
    let Some(open) = OpenTail::of(events) else {
        return Vec::new();
    };
    let turn = open.turn;
    let mut closing = Vec::new();
    if let Some(step) = open.step {
        for call in &open.calls {
            close_call(&mut closing, turn, step, call);
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
    /// In the order in which the answer names them.
    calls: Vec<OpenCall<'a>>,
}

struct OpenCall<'a> {
    id: &'a CallId,
    name: &'a str,
    arguments: &'a str,
    called: bool,
    settled: bool,
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
            calls: Vec::new(),
        }
    }

    fn take(&mut self, body: &'a EventBody) {
        match body {
            EventBody::StepStart { step, .. } => self.step = Some(*step),
            EventBody::StepEnd { .. } => {
                self.step = None;
                self.calls.clear();
            }
            EventBody::AssistantMessage { content, .. } => self.calls = content.iter().filter_map(named).collect(),
            EventBody::ToolCall { call_id, .. } => self.mark(call_id, |call| call.called = true),
            EventBody::ToolResult { call_id, .. } => self.mark(call_id, |call| call.settled = true),
            _ => {}
        }
    }

    fn mark(&mut self, id: &CallId, mark: impl FnOnce(&mut OpenCall<'a>)) {
        self.calls.iter_mut().find(|call| call.id == id).map(mark);
    }
}

fn named(block: &AssistantBlock) -> Option<OpenCall<'_>> {
    match block {
        AssistantBlock::ToolCall { id, name, arguments } => Some(OpenCall {
            id,
            name,
            arguments,
            called: false,
            settled: false,
        }),
        AssistantBlock::Text { .. } | AssistantBlock::Reasoning { .. } => None,
    }
}

fn close_call(closing: &mut Vec<EventBody>, turn: u32, step: u32, call: &OpenCall<'_>) {
    if call.settled {
        return;
    }
    let (message, code) = if call.called {
        (
            "the tool was interrupted; what it did until then is unknown",
            "TOOL_OUTCOME_UNKNOWN",
        )
    } else {
        closing.push(EventBody::ToolCall {
            turn,
            step,
            call_id: call.id.clone(),
            name: call.name.to_owned(),
            arguments: call.arguments.to_owned(),
            needs_approval: false,
        });
        ("the tool was not started", "TOOL_NOT_STARTED")
    };
    closing.push(EventBody::ToolResult {
        turn,
        step,
        call_id: call.id.clone(),
        content: vec![ContentBlock::text(format!("Error: {message}"))],
        error: Some(ToolErrorRecord {
            message: message.to_owned(),
            code: Some(code.to_owned()),
        }),
        meta: None,
    });
}
