//! Legal logs by choices.

use weft_types::{MemberOutcome, RunStop};

use super::*;

/// A source of choices that shrinks to few and small ones.
pub(super) struct Choices<'a>(std::slice::Iter<'a, u8>);

impl<'a> Choices<'a> {
    pub(super) fn new(choices: &'a [u8]) -> Self {
        Self(choices.iter())
    }

    /// One of `0..count`; 0 when the choices are used up.
    pub(super) fn of(&mut self, count: u8) -> u8 {
        self.0.next().map_or(0, |choice| choice % count)
    }

    pub(super) fn maybe(&mut self) -> bool {
        self.of(2) == 1
    }
}

/// A log of closed turns.
pub(super) fn legal_log(choices: &[u8]) -> Vec<EventBody> {
    let mut choices = Choices::new(choices);
    let mut log = Vec::new();
    let mut calls = 0;
    for turn in 1..=u32::from(choices.of(4)) + 1 {
        log.push(EventBody::TurnStart { turn });
        let content = vec![ContentBlock::text("please"), ContentBlock::text("now")];
        log.push(EventBody::UserMessage { turn, content });
        if choices.maybe() {
            let title = format!("title {turn}");
            log.push(EventBody::SessionTitle { title });
        }
        for step in 1..=u32::from(choices.of(3)) + 1 {
            push_step(&mut log, &mut choices, (turn, step), &mut calls);
        }
        let reason = match choices.of(4) {
            0 => TurnEnd::Completed,
            1 => TurnEnd::Interrupted,
            2 => TurnEnd::MaxTokens,
            _ => TurnEnd::Error { message: "why".into() },
        };
        log.push(EventBody::TurnEnd { turn, reason });
    }
    log
}

fn push_step(log: &mut Vec<EventBody>, choices: &mut Choices<'_>, (turn, step): (u32, u32), calls: &mut u32) {
    log.push(EventBody::StepStart { turn, step });
    if choices.maybe() {
        log.push(EventBody::ModelRetry {
            turn,
            step,
            attempt: 1,
            delay_ms: 10,
            message: "busy".into(),
        });
    }
    let mut content = Vec::new();
    for number in 0..choices.of(4) {
        let text = format!("{number} ");
        content.push(if choices.maybe() {
            AssistantBlock::Text { text }
        } else {
            AssistantBlock::Reasoning { text, sealed: None }
        });
    }
    log.push(EventBody::AssistantMessage {
        turn,
        step,
        content,
        stop: None,
        usage: None,
        interrupted: false,
    });
    let mut open = Vec::new();
    for _ in 0..choices.of(4) {
        *calls += 1;
        open.push(push_call(log, choices, (turn, step), *calls));
        while !open.is_empty() && choices.maybe() {
            let call = open.remove(usize::from(choices.of(4)) % open.len());
            push_result(log, choices, (turn, step), call);
        }
    }
    for call in open {
        push_result(log, choices, (turn, step), call);
    }
    log.push(EventBody::StepEnd { turn, step });
    if choices.maybe() {
        let content = vec![ContentBlock::text("for the model alone")];
        log.push(EventBody::ToolContext { turn, content });
    }
}

fn push_call(log: &mut Vec<EventBody>, choices: &mut Choices<'_>, (turn, step): (u32, u32), number: u32) -> CallId {
    let call_id = CallId::new(format!("c{number}"));
    let argument = choices.of(16);
    log.push(EventBody::ToolCall {
        turn,
        step,
        call_id: call_id.clone(),
        name: if choices.of(8) == 1 { "gone" } else { "drawn" }.into(),
        arguments: match choices.of(6) {
            1 => "{\"a\": \"no number\"}".into(),
            2 => "not JSON".into(),
            _ => format!("{{\"a\":{argument}}}"),
        },
        needs_approval: choices.maybe(),
    });
    call_id
}

fn push_result(log: &mut Vec<EventBody>, choices: &mut Choices<'_>, (turn, step): (u32, u32), call_id: CallId) {
    if choices.maybe() {
        push_run(log, choices, &call_id);
    }
    let failed = choices.maybe().then(|| ToolErrorRecord {
        message: "broken".into(),
        code: None,
    });
    log.push(EventBody::ToolResult {
        turn,
        step,
        call_id,
        content: vec![ContentBlock::text("raw")],
        error: failed,
        meta: None,
    });
}

/// A beginning of the records of a run.
fn push_run(log: &mut Vec<EventBody>, choices: &mut Choices<'_>, call: &CallId) {
    let run_id = || weft_types::RunId::new(format!("run of {call}"));
    let records = [
        EventBody::WorkflowRunStart {
            run_id: run_id(),
            name: "demo".into(),
        },
        EventBody::WorkflowAgentStart {
            run_id: run_id(),
            seq: 1,
            label: "a".into(),
            phase: choices.maybe().then(String::new),
            child_id: "s".into(),
        },
        EventBody::WorkflowAgentEnd {
            run_id: run_id(),
            seq: 1,
            outcome: MemberOutcome::Completed,
        },
        EventBody::WorkflowRunEnd {
            run_id: run_id(),
            stop_reason: RunStop::Completed,
        },
    ];
    let count = usize::from(choices.of(4)) + 1;
    log.extend(records.into_iter().take(count));
}
