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
fn a_load_of_an_open_session_replays_its_cards_and_one_that_is_refused_changes_nothing() {
    let cards = [
        card("tool_call in_progress", json!({})),
        card("tool_call_update completed", json!({})),
    ];
    let mut rows = whole_prompt(cards.clone());
    let load = |id| ask(id, "session/load", &json!({"sessionId": "a"}));
    rows.push(load(2));
    rows.extend(cards.clone());
    rows.push(result(2, &json!({})));
    check(&rows, &[]);
    rows.push(load(3));
    rows.push(error(3));
    rows.push(ask(4, "session/prompt", &json!({"sessionId": "a"})));
    rows.extend(cards);
    check(&rows, &[(14, Rule::CardOrder), (15, Rule::CardOrder)]);
}

#[test]
fn a_load_during_a_turn_does_not_announce_its_cards_again() {
    let mut rows = in_prompt([card("tool_call in_progress", json!({}))]);
    rows.push(ask(2, "session/load", &json!({"sessionId": "a"})));
    rows.push(card("tool_call in_progress", json!({})));
    let again = rows.len();
    check(&rows, &[(again, Rule::CardOrder)]);
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
