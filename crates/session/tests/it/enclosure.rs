//! Every rejection of the session's own invariants, live: the log is unchanged and goes on.

use weft_types::AssistantBlock;

use crate::generate::{
    answer, append_all, call, interrupted, refused, request_header, result, retry, session, step_end, step_start,
    tool_context, turn_end, turn_start, user,
};

#[test]
fn turns_are_numbered_from_one_without_holes() {
    let log = session();
    for turn in [0, 2, u32::MAX] {
        refused(&log, turn_start(turn), "turn-number");
    }
    append_all(&log, [turn_start(1), turn_end(1)]);
    for turn in [0, 1, 3] {
        refused(&log, turn_start(turn), "turn-number");
    }
    append_all(&log, [turn_start(2)]);
}

#[test]
fn one_turn_is_open_at_a_time() {
    let log = session();
    append_all(&log, [turn_start(1)]);
    refused(&log, turn_start(1), "one-open-turn");
    refused(&log, turn_start(2), "one-open-turn");
    append_all(&log, [turn_end(1), turn_start(2)]);
}

#[test]
fn everything_of_a_turn_stands_inside_of_it() {
    let log = session();
    for _ in 0..2 {
        for body in [
            user(1),
            tool_context(1),
            step_start(1, 1),
            step_end(1, 1),
            turn_end(1),
            retry(1, 1),
        ] {
            refused(&log, body, "inside-turn");
        }
        for body in [answer(1, 1, &[]), call(1, 1, "c"), result(1, 1, "c")] {
            refused(&log, body, "inside-turn");
        }
        refused(&log, request_header(), "inside-step");
        if log.is_empty() {
            append_all(&log, [turn_start(1), turn_end(1)]);
        }
    }
    append_all(&log, [turn_start(2)]);
    for body in [user(1), step_start(1, 1), turn_end(1), turn_end(3)] {
        refused(&log, body, "inside-turn");
    }
}

#[test]
fn steps_are_numbered_from_one_in_their_turn_and_do_not_overlap() {
    let log = session();
    append_all(&log, [turn_start(1), user(1)]);
    refused(&log, step_start(1, 0), "step-number");
    refused(&log, step_start(1, 2), "step-number");
    append_all(&log, [step_start(1, 1)]);
    refused(&log, step_start(1, 2), "open-step");
    refused(&log, step_end(1, 2), "inside-step");
    refused(&log, user(1), "open-step");
    append_all(&log, [step_end(1, 1), user(1)]);
    refused(&log, step_end(1, 1), "inside-step");
    refused(&log, step_start(1, 1), "step-number");
    append_all(
        &log,
        [
            step_start(1, 2),
            step_end(1, 2),
            turn_end(1),
            turn_start(2),
            step_start(2, 1),
        ],
    );
}

#[test]
fn a_turn_does_not_end_inside_of_a_step() {
    let log = session();
    append_all(&log, [turn_start(1), step_start(1, 1)]);
    refused(&log, turn_end(1), "open-step");
    append_all(&log, [step_end(1, 1), turn_end(1)]);
}

#[test]
fn a_step_has_one_answer_and_retries_and_headers_precede_it() {
    let log = session();
    append_all(&log, [turn_start(1)]);
    for body in [answer(1, 1, &[]), retry(1, 1), request_header()] {
        refused(&log, body, "inside-step");
    }
    append_all(&log, [step_start(1, 1)]);
    refused(&log, answer(1, 2, &[]), "inside-step");
    append_all(&log, [request_header(), retry(1, 1), answer(1, 1, &[])]);
    for body in [answer(1, 1, &[]), retry(1, 1), request_header()] {
        refused(&log, body, "one-answer");
    }
    append_all(&log, [step_end(1, 1)]);
}

#[test]
fn an_interrupted_answer_names_no_calls_and_no_stop_reason() {
    let log = session();
    append_all(&log, [turn_start(1), step_start(1, 1)]);
    let named = AssistantBlock::ToolCall {
        id: "c".into(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
    };
    refused(&log, interrupted(1, 1, vec![named]), "interrupted-call");
    let mut both = answer(1, 1, &[]);
    if let weft_types::EventBody::AssistantMessage { interrupted, .. } = &mut both {
        *interrupted = true;
    }
    refused(&log, both, "stop-reason");
    let mut neither = answer(1, 1, &[]);
    if let weft_types::EventBody::AssistantMessage { stop, .. } = &mut neither {
        *stop = None;
    }
    refused(&log, neither, "stop-reason");
    append_all(&log, [interrupted(1, 1, Vec::new()), step_end(1, 1)]);
}

#[test]
fn a_call_is_named_by_the_answer_of_its_step_and_recorded_once() {
    let log = session();
    append_all(&log, [turn_start(1)]);
    refused(&log, call(1, 1, "a"), "inside-step");
    append_all(&log, [step_start(1, 1)]);
    refused(&log, call(1, 1, "a"), "named-call");
    append_all(&log, [answer(1, 1, &["a", "b"])]);
    refused(&log, call(1, 1, "c"), "named-call");
    let mut other_name = call(1, 1, "a");
    if let weft_types::EventBody::ToolCall { name, .. } = &mut other_name {
        *name = "write".to_owned();
    }
    refused(&log, other_name, "named-call");
    append_all(&log, [call(1, 1, "a")]);
    refused(&log, call(1, 1, "a"), "call-once");
    append_all(&log, [result(1, 1, "a")]);
    refused(&log, call(1, 1, "a"), "named-call");
    append_all(&log, [call(1, 1, "b"), result(1, 1, "b"), step_end(1, 1)]);
}

#[test]
fn call_ids_are_used_once_in_a_session() {
    let log = session();
    append_all(&log, [turn_start(1), step_start(1, 1)]);
    refused(&log, answer(1, 1, &["a", "a"]), "call-id");
    append_all(
        &log,
        [answer(1, 1, &["a"]), call(1, 1, "a"), result(1, 1, "a"), step_end(1, 1)],
    );
    append_all(&log, [step_start(1, 2)]);
    refused(&log, answer(1, 2, &["b", "a"]), "call-id");
    append_all(&log, [answer(1, 2, &["b"])]);
}

#[test]
fn a_result_has_a_call_and_a_call_one_result() {
    let log = session();
    append_all(&log, [turn_start(1), step_start(1, 1), answer(1, 1, &["a"])]);
    refused(&log, result(1, 1, "a"), "result-of-call");
    refused(&log, result(1, 1, "x"), "result-of-call");
    append_all(&log, [call(1, 1, "a"), result(1, 1, "a")]);
    refused(&log, result(1, 1, "a"), "result-of-call");
    append_all(&log, [step_end(1, 1)]);
}

#[test]
fn a_step_ends_only_when_every_named_call_has_its_result() {
    let log = session();
    append_all(&log, [turn_start(1), step_start(1, 1), answer(1, 1, &["a", "b"])]);
    refused(&log, step_end(1, 1), "open-calls");
    append_all(&log, [call(1, 1, "a"), call(1, 1, "b"), result(1, 1, "b")]);
    refused(&log, step_end(1, 1), "open-calls");
    append_all(&log, [result(1, 1, "a"), step_end(1, 1)]);
}

#[test]
fn json_too_deep_to_be_read_back_is_refused() {
    let nested = |levels: usize| (0..levels).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    let with_meta = |levels| {
        let mut body = result(1, 1, "a");
        if let weft_types::EventBody::ToolResult { meta, .. } = &mut body {
            *meta = Some(nested(levels));
        }
        body
    };
    let log = session();
    append_all(
        &log,
        [turn_start(1), step_start(1, 1), answer(1, 1, &["a"]), call(1, 1, "a")],
    );
    refused(&log, with_meta(121), "json-depth");
    refused(&log, with_meta(1_000), "json-depth");
    append_all(&log, [with_meta(120)]);
    let mut text = Vec::new();
    log.export(&mut text).expect("a vector takes all");
    weft_session::read_lines(&*text).expect("the deepest log allowed can be read");
}
