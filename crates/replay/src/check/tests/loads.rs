//! Sessions that are loaded or resumed, by the same agent or by the next one.

use super::*;

#[test]
fn a_load_replays_cards_before_its_response_and_after_a_close() {
    let replay = [
        card("tool_call in_progress", json!({})),
        card("tool_call_update failed", json!({})),
    ];
    let mut rows = whole_prompt(replay.clone());
    rows.extend([
        ask(2, "session/close", &json!({"sessionId": "a"})),
        result(2, &json!({})),
    ]);
    rows.push(ask(3, "session/load", &json!({"sessionId": "a"})));
    rows.extend(replay);
    rows.push(result(3, &json!({})));
    check(&rows, &[]);
    rows.push(update("agent_message_chunk", json!({})));
    check(&rows, &[(rows.len(), Rule::WithinPrompt)]);
}

#[test]
fn g14_a_load_that_shows_progress_or_leaves_a_card_open_is_found() {
    let load = |update: Row| {
        vec![
            ask(0, "session/load", &json!({"sessionId": "a"})),
            card("tool_call in_progress", json!({})),
            update,
            result(0, &json!({})),
        ]
    };
    check(&load(card("tool_call_update completed", json!({}))), &[]);
    let progress = load(card("tool_call_update in_progress", json!({})));
    check(&progress, &[(3, Rule::ReplayFinal), (4, Rule::CardFinal)]);
}

#[test]
fn a_resume_that_shows_what_was_before_is_found() {
    let resume = |update: Row| {
        vec![
            ask(0, "session/resume", &json!({"sessionId": "a"})),
            update,
            result(0, &json!({})),
        ]
    };
    check(&resume(update("session_info_update", json!({}))), &[]);
    let shown = resume(update("agent_message_chunk", json!({})));
    check(&shown, &[(2, Rule::WithinPrompt)]);
}

#[test]
fn the_next_agent_has_no_session_open_and_owes_no_answer() {
    let killed = Row::Exit { exit: Exit::Signal(9) };
    let mut rows = in_prompt([card("tool_call in_progress", json!({})), killed]);
    rows.push(update("session_info_update", json!({})));
    rows.push(ask(0, "session/load", &json!({"sessionId": "a"})));
    rows.push(card("tool_call in_progress", json!({})));
    rows.push(card("tool_call_update failed", json!({})));
    rows.push(result(0, &json!({})));
    rows.push(result(1, &json!({})));
    rows.push(Row::Exit { exit: Exit::Code(0) });
    check(&rows, &[(6, Rule::KnownSession), (11, Rule::OneResponse)]);
}
