//! What is compared, and what a killed agent may leave out.

use serde_json::{Value, json};

use super::*;
use crate::{Direction, Exit, Row};

fn sent(id: u64, method: &str, session: &str, more: &Value) -> Row {
    let mut params = more.clone();
    params["sessionId"] = json!(session);
    Row::Line {
        dir: Direction::Sent,
        line: json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
    }
}

fn prompt(id: u64, text: &str) -> Row {
    sent(
        id,
        "session/prompt",
        "a",
        &json!({"prompt": [{"type": "text", "text": text}]}),
    )
}

fn got(line: Value) -> Row {
    Row::Line {
        dir: Direction::Received,
        line,
    }
}

fn result(id: u64) -> Row {
    got(json!({"jsonrpc": "2.0", "id": id, "result": {}}))
}

fn error(id: u64, code: i64) -> Row {
    got(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}}))
}

fn update(update: &Value) -> Row {
    got(json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "a", "update": update}}))
}

fn says(kind: &str, text: &str) -> Row {
    update(&json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}, "messageId": "m"}))
}

fn call(id: &str, title: &str) -> Row {
    update(&json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "status": "in_progress"}))
}

fn end(id: &str, fields: &Value) -> Row {
    let mut fields = fields.clone();
    fields["sessionUpdate"] = json!("tool_call_update");
    fields["toolCallId"] = json!(id);
    update(&fields)
}

fn killed() -> Row {
    Row::Exit { exit: Exit::Signal(9) }
}

/// What is shown of session `a`.
fn shown(rows: &[Row]) -> Conversation {
    conversations(rows).into_iter().find(|(id, _)| id == "a").unwrap().1
}

/// A conversation in short: one word an item.
fn brief(rows: &[Row]) -> String {
    let item = |item: &Item| match item {
        Item::Text(message) => format!("{:?}:{}", message.from, message.text),
        Item::Call(call) => format!("{}:{}", call.id, call.card.status),
        Item::Cut => "cut".to_owned(),
    };
    shown(rows).items.iter().map(item).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn differences(live: &[Row], loaded: &[Row], expected: &[&str]) {
    let found = shown(live).differences(&shown(loaded));
    let found: Vec<_> = found.iter().map(Difference::to_string).collect();
    assert_eq!(found, expected);
}

/// A whole turn, live.
fn turn() -> Vec<Row> {
    vec![
        prompt(1, "go"),
        says("agent_thought_chunk", "hm"),
        says("agent_message_chunk", "I "),
        says("agent_message_chunk", "go."),
        call("c", "t"),
        end("c", &json!({"status": "in_progress", "title": "t – A"})),
        end("c", &json!({"status": "completed", "title": "t"})),
        result(1),
    ]
}

/// The same from a load.
fn replay() -> Vec<Row> {
    vec![
        sent(1, "session/load", "a", &json!({})),
        says("user_message_chunk", "go"),
        says("agent_thought_chunk", "hm"),
        says("agent_message_chunk", "I go."),
        call("c", "t"),
        end("c", &json!({"status": "completed", "title": "t"})),
        result(1),
    ]
}

#[test]
fn a_load_shows_what_was_shown_live() {
    assert_eq!(brief(&turn()), "User:go Thought:hm Agent:I go. c:completed");
    differences(&turn(), &replay(), &[]);
}

#[test]
fn each_field_of_a_card_is_compared() {
    for (field, value, shown) in [
        ("title", json!("u"), r#"live "t", loaded "u""#),
        ("kind", json!("read"), r#"live "other", loaded "read""#),
        ("status", json!("failed"), r#"live "completed", loaded "failed""#),
        ("rawInput", json!(1), "live null, loaded 1"),
        ("locations", json!([1]), "live [], loaded [1]"),
        ("content", json!([1]), "live [], loaded [1]"),
    ] {
        let mut loaded = replay();
        loaded[5] = end("c", &json!({"status": "completed", field: value}));
        differences(&turn(), &loaded, &[&format!("call c, {field}: {shown}")]);
    }
}

#[test]
fn texts_titles_and_places_are_compared() {
    let mut loaded = replay();
    loaded[3] = says("agent_message_chunk", "I stay.");
    let text = r#"item 3: live "Agent says \"I go.\"", loaded "Agent says \"I stay.\"""#;
    differences(&turn(), &loaded, &[text]);
    let mut loaded = replay();
    loaded.swap(3, 4);
    loaded.swap(4, 5);
    differences(
        &turn(),
        &loaded,
        &[r#"item 3: live "Agent says \"I go.\"", loaded "call c""#],
    );
    let mut loaded = replay();
    loaded.insert(6, says("agent_message_chunk", "more"));
    let surplus = r#"after the end: live null, loaded "Agent says \"more\"""#;
    differences(&turn(), &loaded, &[surplus]);
    let mut loaded = replay();
    loaded.drain(4..6);
    differences(&turn(), &loaded, &[r#"item 4: live "call c", loaded null"#]);
    let mut loaded = replay();
    loaded.insert(
        1,
        update(&json!({"sessionUpdate": "session_info_update", "title": "T"})),
    );
    differences(&turn(), &loaded, &[r#"title: live null, loaded "T""#]);
}

#[test]
fn a_prompt_that_was_not_taken_is_not_part_of_the_session() {
    for code in [-32602, -32002] {
        let rows = [prompt(1, "one"), prompt(2, "two"), error(2, code), result(1)];
        assert_eq!(brief(&rows), "User:one");
    }
    // The model failed: the turn is.
    let rows = [prompt(1, "one"), error(1, -32603)];
    assert_eq!(brief(&rows), "User:one");
}

#[test]
fn a_load_begins_anew_and_a_refused_one_and_a_resume_do_not() {
    let both = |between: &[Row]| brief(&[&turn()[..], between].concat());
    let load = |answer: Row| [sent(2, "session/load", "a", &json!({})), answer];
    let resume = [sent(2, "session/resume", "a", &json!({})), result(2)];
    let whole = "User:go Thought:hm Agent:I go. c:completed";
    assert_eq!(both(&load(result(2))), "");
    assert_eq!(both(&load(error(2, -32602))), whole);
    assert_eq!(both(&resume), whole);
}

#[test]
fn g80_a_call_whose_agent_was_killed_must_have_ended_after_a_load() {
    let live = [prompt(1, "go"), call("c", "t"), killed()];
    let loaded = |fields: Value| vec![says("user_message_chunk", "go"), call("c", "t"), end("c", &fields)];
    differences(&live, &loaded(json!({"status": "failed", "content": ["why"]})), &[]);
    // Its result was written down, and the client not told any more.
    differences(&live, &loaded(json!({"status": "completed"})), &[]);
    let open = [r#"call c, status: live "failed", loaded "in_progress""#];
    differences(&live, &loaded(json!({})), &open);
    let other = [r#"call c, kind: live "other", loaded "read""#];
    differences(&live, &loaded(json!({"status": "failed", "kind": "read"})), &other);
    let missing = [r#"item 2: live "call c", loaded null"#];
    differences(&live, &loaded(json!({}))[..1], &missing);
}

#[test]
fn what_was_said_last_before_a_kill_may_be_missing_or_whole_but_nothing_before_it() {
    let live = [
        prompt(1, "go"),
        says("agent_message_chunk", "I go."),
        call("c", "t"),
        end("c", &json!({"status": "completed"})),
        says("agent_thought_chunk", "and"),
        says("agent_message_chunk", "now"),
        killed(),
    ];
    let up_to_call = || {
        vec![
            says("user_message_chunk", "go"),
            says("agent_message_chunk", "I go."),
            call("c", "t"),
            end("c", &json!({"status": "completed"})),
        ]
    };
    differences(&live, &up_to_call(), &[]);
    let mut whole = up_to_call();
    whole.push(says("agent_thought_chunk", "and then"));
    whole.push(says("agent_message_chunk", "now what"));
    whole.push(call("d", "more"));
    differences(&live, &whole, &[]);
    let mut other = up_to_call();
    other.remove(1);
    let lost = [r#"item 2: live "Agent says \"I go.\"", loaded "call c""#];
    differences(&live, &other, &lost);
}

#[test]
fn what_goes_on_after_a_kill_without_a_load_finds_its_place() {
    let live = [
        prompt(1, "one"),
        says("agent_message_chunk", "h"),
        killed(),
        sent(1, "session/resume", "a", &json!({})),
        result(1),
        prompt(2, "two"),
        says("agent_message_chunk", "yes"),
        result(2),
    ];
    assert_eq!(brief(&live), "User:one Agent:h cut User:two Agent:yes");
    let loaded = |between: Option<Row>| {
        let mut rows = vec![says("user_message_chunk", "one")];
        rows.extend(between);
        rows.push(says("user_message_chunk", "two"));
        rows.push(says("agent_message_chunk", "yes"));
        rows
    };
    differences(&live, &loaded(Some(call("c", "t"))), &[]);
    let mut short = loaded(Some(call("c", "t")));
    short.pop();
    differences(&live, &short, &[r#"item 5: live "Agent says \"yes\"", loaded null"#]);
}

#[test]
fn pieces_with_one_id_are_one_message_and_others_are_not() {
    let says = |id: &str, text: &str| {
        update(&json!({"sessionUpdate": "user_message_chunk", "content": {"text": text}, "messageId": id}))
    };
    let loaded = [says("1", "o"), says("1", "ne"), says("2", "two")];
    assert_eq!(brief(&loaded), "User:one User:two");
    differences(
        &[prompt(1, "one"), result(1), prompt(2, "two"), result(2)],
        &loaded,
        &[],
    );
}

#[test]
fn an_end_in_good_order_cuts_nothing() {
    let rows = [prompt(1, "go"), Row::Exit { exit: Exit::Code(0) }];
    assert_eq!(brief(&rows), "User:go");
}
