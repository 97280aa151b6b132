//! Each rule against a transcript that breaks it and one that does not.

mod loads;

use serde_json::json;

use super::*;

fn sent(line: Value) -> Row {
    Row::Line {
        dir: Direction::Sent,
        line,
    }
}

fn got(line: Value) -> Row {
    Row::Line {
        dir: Direction::Received,
        line,
    }
}

fn ask(id: u64, method: &str, params: &Value) -> Row {
    sent(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

fn result(id: u64, result: &Value) -> Row {
    got(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn error(id: u64) -> Row {
    got(json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no"}}))
}

/// An update of session `a`; the first word of `kind` is the update, the second the status.
fn update(kind: &str, mut fields: Value) -> Row {
    let mut words = kind.split(' ');
    fields["sessionUpdate"] = json!(words.next());
    if let Some(status) = words.next() {
        fields["status"] = json!(status);
    }
    got(json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "a", "update": fields}}))
}

/// An update of call `c` in session `a`.
fn card(kind: &str, mut fields: Value) -> Row {
    fields["toolCallId"] = json!("c");
    update(kind, fields)
}

fn text(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

/// Session `a` is opened by rows 1 and 2 and given a prompt by row 3; `rows` begin with row 4.
fn in_prompt(rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let mut all = vec![
        ask(0, "session/new", &json!({})),
        result(0, &json!({"sessionId": "a"})),
        ask(1, "session/prompt", &json!({"sessionId": "a"})),
    ];
    all.extend(rows);
    all
}

/// The same, with the prompt's response at the end.
fn whole_prompt(rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let mut all = in_prompt(rows);
    all.push(result(1, &json!({"stopReason": "end_turn"})));
    all
}

#[track_caller]
fn check(rows: &[Row], expected: &[(usize, Rule)]) {
    let found = t_check(rows);
    let places: Vec<_> = found.iter().map(|violation| (violation.row, violation.rule)).collect();
    assert_eq!(places, expected, "{found:#?}");
}

#[test]
fn a_turn_with_progress_and_an_end_passes() {
    let rows = whole_prompt([
        update("agent_message_chunk", json!({})),
        card(
            "tool_call in_progress",
            json!({"title": "t", "kind": "other", "rawInput": "x"}),
        ),
        card(
            "tool_call_update in_progress",
            json!({"title": "t – A", "content": [text("1")]}),
        ),
        card("tool_call_update in_progress", json!({"content": [text("2")]})),
        card(
            "tool_call_update completed",
            json!({"title": "t", "content": [text("done")]}),
        ),
        update("agent_message_chunk", json!({})),
    ]);
    check(&rows, &[]);
}

#[test]
fn a_pending_call_may_come_first_and_an_unfinished_transcript_passes() {
    let rows = in_prompt([
        card("tool_call", json!({"title": "t"})),
        card("tool_call_update in_progress", json!({})),
    ]);
    check(&rows, &[]);
}

#[test]
fn what_is_not_json_rpc_is_found() {
    for line in [
        json!("debug: hello"),
        json!([]),
        json!({"id": 1, "result": {}}),
        json!({"jsonrpc": "1.0", "method": "m"}),
        json!({"jsonrpc": "2.0", "method": 1}),
        json!({"jsonrpc": "2.0", "method": "m", "params": "text"}),
        json!({"jsonrpc": "2.0", "method": "m", "result": {}}),
        json!({"jsonrpc": "2.0", "id": {}, "method": "m"}),
        json!({"jsonrpc": "2.0", "result": {}}),
        json!({"jsonrpc": "2.0", "id": 1}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}}),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"message": "no code"}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}, "extra": 1}),
    ] {
        check(&[got(line)], &[(1, Rule::JsonRpc)]);
    }
}

#[test]
fn a_second_response_and_one_to_nothing_are_found() {
    let rows = [
        ask(1, "initialize", &json!({})),
        result(1, &json!({})),
        result(1, &json!({})),
        error(9),
    ];
    check(&rows, &[(3, Rule::OneResponse), (4, Rule::OneResponse)]);
}

#[test]
fn a_request_is_missed_only_when_the_agent_ended_by_itself() {
    let exit = |exit| [ask(1, "initialize", &json!({})), Row::Exit { exit }];
    check(&exit(Exit::Code(0)), &[(2, Rule::OneResponse)]);
    check(&exit(Exit::Signal(9)), &[]);
    check(&[ask(1, "initialize", &json!({}))], &[]);
}

#[test]
fn the_answer_to_an_unreadable_line_answers_no_request() {
    let parse_error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no JSON"}});
    check(&[got(parse_error)], &[]);
}

#[test]
fn an_update_of_an_unknown_session_is_found() {
    let early = [
        ask(0, "session/new", &json!({})),
        update("available_commands_update", json!({})),
        result(0, &json!({"sessionId": "a"})),
        update("available_commands_update", json!({})),
    ];
    check(&early, &[(2, Rule::KnownSession)]);
    let refused = [
        ask(0, "session/load", &json!({"sessionId": "a"})),
        error(0),
        update("available_commands_update", json!({})),
    ];
    check(&refused, &[(3, Rule::KnownSession)]);
    let question =
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": {"sessionId": "x"}});
    check(&[got(question)], &[(1, Rule::KnownSession)]);
}

#[test]
fn what_belongs_to_a_turn_is_found_outside_of_prompts() {
    let question =
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": {"sessionId": "a"}});
    let mut rows = whole_prompt([]);
    rows.extend([
        update("agent_message_chunk", json!({})),
        got(question),
        update("session_info_update", json!({})),
    ]);
    check(&rows, &[(5, Rule::WithinPrompt), (6, Rule::WithinPrompt)]);
}

#[test]
fn the_refusal_of_a_second_prompt_does_not_end_the_first() {
    let rows = whole_prompt([
        card("tool_call in_progress", json!({})),
        ask(2, "session/prompt", &json!({"sessionId": "a"})),
        error(2),
        card("tool_call_update completed", json!({})),
    ]);
    check(&rows, &[]);
}

#[test]
fn a_card_without_an_end_before_the_response_of_its_prompt_is_found() {
    let rows = whole_prompt([card("tool_call in_progress", json!({}))]);
    check(&rows, &[(5, Rule::CardFinal)]);
    let failed = in_prompt([card("tool_call in_progress", json!({})), error(1)]);
    check(&failed, &[(5, Rule::CardFinal)]);
}

#[test]
fn nothing_may_follow_the_response_that_closed_a_session() {
    let close = ask(2, "session/close", &json!({"sessionId": "a"}));
    let late = in_prompt([
        close.clone(),
        result(2, &json!({})),
        update("agent_message_chunk", json!({})),
        update("session_info_update", json!({})),
        result(1, &json!({"stopReason": "cancelled"})),
    ]);
    let rule = Rule::NothingAfterClose;
    check(&late, &[(5, rule), (6, rule), (7, rule)]);
    let good = in_prompt([
        close.clone(),
        result(1, &json!({"stopReason": "cancelled"})),
        result(2, &json!({})),
        ask(3, "session/prompt", &json!({"sessionId": "a"})),
        error(3),
    ]);
    check(&good, &[]);
    let pipelined = in_prompt([
        close.clone(),
        ask(3, "session/prompt", &json!({"sessionId": "a"})),
        result(1, &json!({"stopReason": "cancelled"})),
        result(2, &json!({})),
        error(3),
    ]);
    check(&pipelined, &[]);
    let open = in_prompt([
        card("tool_call in_progress", json!({})),
        result(1, &json!({})),
        close,
        result(2, &json!({})),
    ]);
    check(&open, &[(5, Rule::CardFinal), (7, Rule::CardFinal)]);
}

#[test]
fn a_refused_close_closes_nothing() {
    let rows = whole_prompt([
        ask(2, "session/close", &json!({"sessionId": "a"})),
        error(2),
        update("agent_message_chunk", json!({})),
    ]);
    check(&rows, &[]);
}

#[test]
fn a_card_out_of_order_is_found() {
    let order = |row| [(row, Rule::CardOrder)];
    check(&in_prompt([card("tool_call_update in_progress", json!({}))]), &order(4));
    check(&in_prompt([card("tool_call completed", json!({}))]), &order(4));
    check(
        &in_prompt([update("tool_call in_progress", json!({"title": "no id"}))]),
        &order(4),
    );
    for second in [
        "tool_call in_progress",
        "tool_call_update",
        "tool_call_update pending",
        "tool_call_update cancelled",
    ] {
        let rows = in_prompt([card("tool_call in_progress", json!({})), card(second, json!({}))]);
        check(&rows, &order(5));
    }
    for late in [
        "tool_call_update in_progress",
        "tool_call_update completed",
        "tool_call in_progress",
    ] {
        let rows = in_prompt([
            card("tool_call in_progress", json!({})),
            card("tool_call_update failed", json!({})),
            card(late, json!({})),
        ]);
        check(&rows, &order(6));
    }
}

#[test]
fn equal_call_ids_of_two_sessions_are_two_cards() {
    let of_b = |row: Row| match row {
        Row::Line { dir, mut line } => {
            line["params"]["sessionId"] = json!("b");
            Row::Line { dir, line }
        }
        exit @ Row::Exit { .. } => exit,
    };
    let [open, end] = [
        card("tool_call in_progress", json!({})),
        card("tool_call_update completed", json!({})),
    ];
    let rows = whole_prompt([
        open.clone(),
        ask(10, "session/new", &json!({})),
        result(10, &json!({"sessionId": "b"})),
        ask(11, "session/prompt", &json!({"sessionId": "b"})),
        of_b(open),
        of_b(end.clone()),
        result(11, &json!({})),
        end,
    ]);
    check(&rows, &[]);
}

#[test]
fn progress_that_touches_what_the_call_decided_is_found() {
    for field in ["kind", "rawInput", "locations", "name"] {
        let rows = in_prompt([
            card("tool_call in_progress", json!({})),
            card("tool_call_update in_progress", json!({field: "x"})),
        ]);
        check(&rows, &[(5, Rule::ProgressFields)]);
    }
}

#[test]
fn progress_that_hides_the_blocks_of_a_terminal_or_diff_card_is_found() {
    let blocks = [
        json!({"type": "terminal", "terminalId": "c"}),
        json!({"type": "diff", "path": "/f", "oldText": null, "newText": "x"}),
    ];
    for block in blocks {
        let call = json!([text("why"), block]);
        let rows = |progress: Value| {
            in_prompt([
                card("tool_call in_progress", json!({"content": call})),
                card("tool_call_update in_progress", json!({"content": progress})),
            ])
        };
        check(&rows(json!([text("1")])), &[(5, Rule::CardBlocks)]);
        check(&rows(json!([text("why"), block, text("1")])), &[]);
    }
}

#[test]
fn an_end_that_takes_the_terminal_away_is_found() {
    let terminal = json!({"type": "terminal", "terminalId": "c"});
    let rows = |end: Value| {
        whole_prompt([
            card("tool_call in_progress", json!({"content": [terminal]})),
            card("tool_call_update completed", end),
        ])
    };
    check(&rows(json!({"content": [text("out")]})), &[(5, Rule::CardBlocks)]);
    check(&rows(json!({"content": [terminal]})), &[]);
    check(&rows(json!({})), &[]);
}

#[test]
fn a_card_that_ends_with_what_progress_had_put_there_is_found() {
    let rows = |progress: Value, end: Value| {
        whole_prompt([
            card("tool_call in_progress", json!({"title": "t"})),
            card("tool_call_update in_progress", progress),
            card("tool_call_update completed", end),
        ])
    };
    let restored = [(6, Rule::CardRestored)];
    check(&rows(json!({"title": "t – A"}), json!({})), &restored);
    check(&rows(json!({"content": [text("1")]}), json!({})), &restored);
    check(&rows(json!({"title": "t – A"}), json!({"title": "t"})), &[]);
    check(&rows(json!({"content": [text("1")]}), json!({"content": []})), &[]);
}

#[test]
fn a_violation_reads_as_a_sentence_with_its_row() {
    let found = t_check(&whole_prompt([card("tool_call in_progress", json!({}))]));
    assert_eq!(
        found[0].to_string(),
        "row 5: CardFinal: session a: card c was still open when its prompt was answered"
    );
}
