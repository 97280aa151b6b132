use super::*;
use serde_json::json;
use weft_tools::ToolLimits;
use weft_types::{Event, UnixMillis};

/// Events of a log, from its start, as they stand in it.
pub(in super::super) fn log(lines: &[serde_json::Value]) -> Vec<Event> {
    let event = |(seq, line): (usize, &serde_json::Value)| {
        let mut line = line.clone();
        line["seq"] = seq.into();
        line["time"] = 0.into();
        Event::from_json(line.to_string().as_bytes()).expect("an event")
    };
    lines.iter().enumerate().map(event).collect()
}

/// A turn that calls a workflow; cut off before its last `cut` events.
pub(in super::super) fn turn(cut: usize) -> Vec<Event> {
    let lines = [
        json!({"type": "turn/start", "data": {"turn": 1}}),
        json!({"type": "user/message", "data": {"turn": 1, "content": [{"type": "text", "text": "review\u{1b}[2J it"}]}}),
        json!({"type": "step/start", "data": {"turn": 1, "step": 1}}),
        json!({"type": "assistant/message", "data": {"turn": 1, "step": 1, "content": [
            {"type": "text", "text": "I look."}, {"type": "tool_call", "id": "c1", "name": "workflow", "arguments": "{}"}]}}),
        json!({"type": "tool/call", "data": {"turn": 1, "step": 1, "callId": "c1", "name": "workflow", "arguments": "{}"}}),
        json!({"type": "tool-workflow/run-start", "data": {"runId": "r", "name": "review"}}),
        json!({"type": "tool-workflow/agent-start", "data":
            {"runId": "r", "seq": 1, "label": "one", "phase": "Read", "childId": "k1"}}),
        json!({"type": "tool-workflow/agent-end", "data": {"runId": "r", "seq": 1, "outcome": "completed"}}),
        json!({"type": "tool-workflow/run-end", "data": {"runId": "r", "stopReason": "completed"}}),
        json!({"type": "tool/result", "data":
            {"turn": 1, "step": 1, "callId": "c1", "content": [{"type": "text", "text": "all good"}]}}),
        json!({"type": "step/end", "data": {"turn": 1, "step": 1}}),
        json!({"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}}),
    ];
    log(&lines[..lines.len() - cut])
}

/// A conversation whose tools have nothing to say of themselves.
pub(in super::super) fn conversation() -> Conversation {
    Conversation::new(ToolRegistry::new(ToolLimits::default()))
}

fn after(events: &[Event]) -> Conversation {
    let mut conversation = conversation();
    events
        .iter()
        .for_each(|event| conversation.apply(event).expect("in order"));
    conversation
}

fn status(item: &Item) -> String {
    match item {
        Item::Turn(at) => format!("at {}", at.0),
        Item::Said { who, text } => format!("{who:?}: {text}"),
        Item::Call(call) => format!("{} {:?} {}", call.title, call.status, call.output),
        Item::Run(run) => format!("{} {:?} {}", run.name, run.status, run.phases.len()),
        Item::Model(text) | Item::Note(text) => text.clone(),
    }
}

#[track_caller]
fn check(events: &[Event], settled: &[&str], pending: &[&str]) {
    let mut conversation = after(events);
    let taken: Vec<_> = conversation.take_settled().iter().map(status).collect();
    assert_eq!(taken, settled);
    let left: Vec<_> = conversation.pending().iter().map(status).collect();
    assert_eq!(left, pending);
}

#[test]
fn a_run_stands_behind_its_call_and_settles_with_it() {
    let said = ["at 0", "User: review\x1b[2J it", "Model: I look."];
    check(&turn(7), &said, &["workflow Running "]);
    check(&turn(5), &said, &["workflow Running ", "review Running 1"]);
    check(&turn(3), &said, &["workflow Running ", "review Completed 1"]);
    let all = [
        said[0],
        said[1],
        said[2],
        "workflow Completed all good",
        "review Completed 1",
    ];
    check(&turn(0), &all, &[]);
}

#[test]
fn a_run_without_an_end_is_interrupted_once_its_turn_is_over() {
    let mut events = turn(5);
    let lines = [
        json!({"type": "tool/result", "data": {"turn": 1, "step": 1, "callId": "c1", "content": [],
            "error": {"message": "nobody knows", "code": "TOOL_OUTCOME_UNKNOWN"}}}),
        json!({"type": "step/end", "data": {"turn": 1, "step": 1}}),
        json!({"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "interrupted"}}}),
    ];
    for mut event in log(&lines) {
        event.seq = events.len() as u64;
        events.push(event);
    }
    check(
        &events,
        &[
            "at 0",
            "User: review\x1b[2J it",
            "Model: I look.",
            "workflow Failed nobody knows",
            "review Interrupted 1",
            "interrupted: this turn was not finished",
        ],
        &[],
    );
}

#[test]
fn a_call_that_never_began_is_shown_by_its_result() {
    let mut events = turn(8);
    let mut result = log(&[
        json!({"type": "tool/result", "data": {"turn": 1, "step": 1, "callId": "c1", "content": [],
        "error": {"message": "not started", "code": "TOOL_NOT_STARTED"}}}),
    ]);
    result[0].seq = events.len() as u64;
    events.extend(result);
    let said = [
        "at 0",
        "User: review\x1b[2J it",
        "Model: I look.",
        "workflow Failed not started",
    ];
    check(&events, &said, &[]);
}

#[test]
fn a_run_that_goes_on_without_a_call_is_not_settled() {
    let lines = [
        json!({"type": "turn/start", "data": {"turn": 1}}),
        json!({"type": "tool-workflow/run-start", "data": {"runId": "r", "name": "review"}}),
    ];
    check(&log(&lines), &[], &["review Running 0"]);
}

#[test]
fn what_was_taken_is_not_held() {
    let mut conversation = conversation();
    let mut seq = 0;
    for turn_number in 0..3 {
        for mut event in turn(0) {
            event.seq = seq;
            seq += 1;
            if let EventBody::WorkflowRunStart { run_id, .. } = &mut event.body {
                *run_id = format!("r{turn_number}").as_str().into();
            }
            conversation.apply(&event).expect("in order");
        }
        assert_eq!(conversation.take_settled().len(), 5);
        assert_eq!(conversation.runs.runs().count(), 1);
    }
}

#[test]
fn an_event_out_of_order_is_refused() {
    let mut conversation = after(&turn(0));
    let event = Event {
        seq: 99,
        time: UnixMillis(0),
        body: EventBody::TurnStart { turn: 2 },
    };
    conversation.items.push_back(Item::Note(String::new()));
    assert!(conversation.apply(&event).is_err());
}
