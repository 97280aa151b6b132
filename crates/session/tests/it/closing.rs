//! What closes a log that was left open.

use weft_session::closing_events;
use weft_types::{EventBody, TurnEnd};

use crate::generate::{answer, append_all, call, result, session, step_start, turn_end, turn_start, user};

/// One word per event: its kind, the call, and the code of a failed result.
fn words(bodies: &[EventBody]) -> Vec<String> {
    let word = |body: &EventBody| match body {
        EventBody::ToolCall { call_id, .. } => format!("call {call_id}"),
        EventBody::ToolResult { call_id, error, .. } => {
            let code = error.as_ref().and_then(|error| error.code.as_deref());
            format!("result {call_id} {}", code.unwrap_or("ok"))
        }
        EventBody::StepEnd { step, .. } => format!("step/end {step}"),
        EventBody::TurnEnd { turn, reason } => format!("turn/end {turn} {reason:?}"),
        other => panic!("{other:?} closes nothing"),
    };
    bodies.iter().map(word).collect()
}

#[track_caller]
fn check(log: impl IntoIterator<Item = EventBody>, expected: &[&str]) {
    let session = session();
    append_all(&session, log);
    let closing = closing_events(&session.last_turn(), TurnEnd::Interrupted);
    assert_eq!(words(&closing), expected);
    append_all(&session, closing);
    assert!(closing_events(&session.last_turn(), TurnEnd::Interrupted).is_empty());
}

#[test]
fn a_closed_log_needs_nothing() {
    check([], &[]);
    check([turn_start(1), user(1), turn_end(1)], &[]);
}

#[test]
fn an_open_turn_or_step_is_ended() {
    check([turn_start(1)], &["turn/end 1 Interrupted"]);
    let open_step = [turn_start(1), turn_end(1), turn_start(2), step_start(2, 1)];
    check(open_step, &["step/end 1", "turn/end 2 Interrupted"]);
}

#[test]
fn log03_every_call_without_a_result_gets_one_that_says_what_is_known() {
    check(
        [
            turn_start(1),
            step_start(1, 1),
            answer(1, 1, &["a", "b", "c", "d"]),
            call(1, 1, "a"),
            result(1, 1, "a"),
            call(1, 1, "b"),
            call(1, 1, "c"),
            result(1, 1, "c"),
        ],
        &[
            "result b TOOL_OUTCOME_UNKNOWN",
            "call d",
            "result d TOOL_NOT_STARTED",
            "step/end 1",
            "turn/end 1 Interrupted",
        ],
    );
}
