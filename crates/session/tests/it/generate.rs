//! Bodies of events, single and as whole generated logs.

use std::sync::Arc;

use proptest::prelude::*;
use weft_session::{AppendError, MemoryLog, Session};
use weft_types::{
    AbortCause, AssistantBlock, CallId, ContentBlock, Event, EventBody, HeaderReason, MemberOutcome, Origin, RunStop,
    SessionHeader, StopReason, ToolErrorRecord, ToolSpec, TurnEnd, UnixMillis, Usage,
};

pub(crate) fn header() -> SessionHeader {
    SessionHeader {
        version: SessionHeader::VERSION,
        id: "s".into(),
        created_at: UnixMillis(7),
        cwd: "/tmp".to_owned(),
        origin: Origin::Subagent,
        parent: Some("p".into()),
        depth: 1,
        label: Some(String::new()),
        run_id: Some("r".into()),
        run_seq: Some(3),
    }
}

pub(crate) fn session() -> Arc<Session> {
    Session::create(
        header(),
        Box::new(MemoryLog::default()),
        Arc::new(|| UnixMillis(1)),
        Vec::new(),
    )
}

/// Appends all, which must be accepted.
#[track_caller]
pub(crate) fn append_all(session: &Session, bodies: impl IntoIterator<Item = EventBody>) {
    for body in bodies {
        session.append(body).expect("a valid event");
    }
}

/// Appends one, which must be refused by `rule` and change nothing.
#[track_caller]
pub(crate) fn refused(session: &Session, body: EventBody, rule: &str) {
    let before = session.len();
    match session.append(body) {
        Err(AppendError::Violation { seq, violation, .. }) => assert_eq!((violation.rule, seq), (rule, before)),
        other => panic!("expected a violation of {rule}, got {other:?}"),
    }
    assert_eq!(session.len(), before);
}

pub(crate) fn turn_start(turn: u32) -> EventBody {
    EventBody::TurnStart { turn }
}

pub(crate) fn turn_end(turn: u32) -> EventBody {
    EventBody::TurnEnd {
        turn,
        reason: TurnEnd::Completed,
    }
}

pub(crate) fn user(turn: u32) -> EventBody {
    EventBody::UserMessage {
        turn,
        content: vec![ContentBlock::text("hello")],
    }
}

pub(crate) fn tool_context(turn: u32) -> EventBody {
    EventBody::ToolContext {
        turn,
        content: vec![ContentBlock::text("an image")],
    }
}

pub(crate) fn step_start(turn: u32, step: u32) -> EventBody {
    EventBody::StepStart { turn, step }
}

pub(crate) fn step_end(turn: u32, step: u32) -> EventBody {
    EventBody::StepEnd { turn, step }
}

pub(crate) fn request_header() -> EventBody {
    EventBody::RequestHeader {
        reason: HeaderReason::Initial,
        model: "p/m".to_owned(),
        system: "be brief".to_owned(),
        tools: vec![ToolSpec {
            name: "read".to_owned(),
            description: String::new(),
            parameters: serde_json::json!({"type": "object"}),
        }],
    }
}

pub(crate) fn retry(turn: u32, step: u32) -> EventBody {
    EventBody::ModelRetry {
        turn,
        step,
        attempt: 1,
        delay_ms: 500,
        message: "busy".to_owned(),
    }
}

pub(crate) fn answer(turn: u32, step: u32, calls: &[&str]) -> EventBody {
    let call = |id: &&str| AssistantBlock::ToolCall {
        id: (*id).into(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
    };
    EventBody::AssistantMessage {
        turn,
        step,
        content: calls.iter().map(call).collect(),
        stop: Some(StopReason::ToolUse),
        usage: Some(Usage::default()),
        interrupted: false,
    }
}

pub(crate) fn interrupted(turn: u32, step: u32, content: Vec<AssistantBlock>) -> EventBody {
    EventBody::AssistantMessage {
        turn,
        step,
        content,
        stop: None,
        usage: None,
        interrupted: true,
    }
}

pub(crate) fn call(turn: u32, step: u32, id: &str) -> EventBody {
    EventBody::ToolCall {
        turn,
        step,
        call_id: id.into(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
        needs_approval: false,
    }
}

pub(crate) fn result(turn: u32, step: u32, id: &str) -> EventBody {
    EventBody::ToolResult {
        turn,
        step,
        call_id: id.into(),
        content: vec![ContentBlock::text("ok")],
        error: None,
        meta: None,
    }
}

/// What one generated step holds.
#[derive(Clone, Debug)]
struct StepPlan {
    header: bool,
    retries: u32,
    text: String,
    answered: bool,
    /// The calls; `true` for those that fail.
    calls: Vec<bool>,
    /// Whether all calls are recorded before the first result.
    pooled: bool,
    meta: serde_json::Value,
    run_records: bool,
}

fn step_plan() -> impl Strategy<Value = StepPlan> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let calls = proptest::collection::vec(any::<bool>(), 0..4);
    (flags, 0_u32..3, any::<String>(), calls, any::<f64>()).prop_map(|(flags, retries, text, calls, number)| StepPlan {
        header: flags.0,
        retries,
        meta: serde_json::json!({"number": number, "text": text, "nested": [[], {}, null]}),
        text,
        answered: flags.1,
        calls,
        pooled: flags.2,
        run_records: flags.3,
    })
}

fn reason() -> impl Strategy<Value = TurnEnd> {
    prop_oneof![
        Just(TurnEnd::Completed),
        Just(TurnEnd::Aborted { by: AbortCause::Parent }),
        any::<String>().prop_map(|message| TurnEnd::Error { message }),
        Just(TurnEnd::MaxSteps),
    ]
}

/// The bodies of a valid log of one to three turns.
pub(crate) fn log() -> impl Strategy<Value = Vec<EventBody>> {
    let steps = proptest::collection::vec((step_plan(), any::<bool>()), 0..4);
    let title = proptest::option::of(any::<String>());
    let turns = proptest::collection::vec((steps, title, reason()), 1..4);
    turns.prop_map(|turns| {
        let mut bodies = Vec::new();
        for (turn, (steps, title, reason)) in (1..).zip(turns) {
            bodies.extend([turn_start(turn), user(turn)]);
            bodies.extend(title.map(|title| EventBody::SessionTitle { title }));
            for (step, (plan, context)) in (1..).zip(steps) {
                write_step(&mut bodies, turn, step, &plan);
                bodies.extend(context.then(|| tool_context(turn)));
            }
            bodies.push(EventBody::TurnEnd { turn, reason });
        }
        bodies
    })
}

fn write_step(bodies: &mut Vec<EventBody>, turn: u32, step: u32, plan: &StepPlan) {
    bodies.push(step_start(turn, step));
    if plan.header {
        bodies.push(request_header());
    }
    bodies.extend((0..plan.retries).map(|_| retry(turn, step)));
    let text = AssistantBlock::Text {
        text: plan.text.clone(),
    };
    if !plan.answered {
        bodies.extend([interrupted(turn, step, vec![text]), step_end(turn, step)]);
        return;
    }
    let ids: Vec<String> = (0..plan.calls.len()).map(|n| format!("{turn}.{step}.{n}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    bodies.push(answer(turn, step, &names));
    if plan.pooled {
        bodies.extend(ids.iter().map(|id| call(turn, step, id)));
    }
    for (id, failed) in ids.iter().zip(&plan.calls) {
        if !plan.pooled {
            bodies.push(call(turn, step, id));
        }
        if plan.run_records {
            bodies.extend(run_records(id));
        }
        bodies.push(outcome(turn, step, id, *failed, &plan.meta));
    }
    bodies.push(step_end(turn, step));
}

fn outcome(turn: u32, step: u32, id: &str, failed: bool, meta: &serde_json::Value) -> EventBody {
    EventBody::ToolResult {
        turn,
        step,
        call_id: CallId::new(id),
        content: vec![ContentBlock::text("ok")],
        error: failed.then(|| ToolErrorRecord {
            message: "no such file".to_owned(),
            code: Some("INVALID_ARGS".to_owned()),
        }),
        meta: Some(meta.clone()),
    }
}

fn run_records(id: &str) -> Vec<EventBody> {
    let run_id = weft_types::RunId::new(id);
    vec![
        EventBody::WorkflowRunStart {
            run_id: run_id.clone(),
            name: "demo".to_owned(),
        },
        EventBody::WorkflowAgentStart {
            run_id: run_id.clone(),
            seq: 1,
            label: String::new(),
            phase: Some(String::new()),
            child_id: "c".into(),
        },
        EventBody::WorkflowAgentEnd {
            run_id: run_id.clone(),
            seq: 1,
            outcome: MemberOutcome::Failed,
        },
        EventBody::WorkflowRunEnd {
            run_id,
            stop_reason: RunStop::Completed,
        },
    ]
}

/// Copies of a session's events.
pub(crate) fn events_of(session: &Session) -> Vec<Event> {
    let events = session.events().expect("in memory");
    events.iter().map(|event| Event::clone(event)).collect()
}
