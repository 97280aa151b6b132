use serde_json::json;
use weft_types::{StopReason, ToolErrorRecord};

use super::*;

fn fold(bodies: &[EventBody]) -> StoredAnswer {
    let mut answer = StoredAnswer::default();
    bodies.iter().for_each(|body| answer.push(body));
    answer
}

fn start(turn: u32) -> EventBody {
    EventBody::TurnStart { turn }
}

fn end(turn: u32, reason: TurnEnd) -> EventBody {
    EventBody::TurnEnd { turn, reason }
}

fn said(turn: u32, texts: &[&str]) -> EventBody {
    EventBody::AssistantMessage {
        turn,
        step: 1,
        content: (texts.iter().map(|text| AssistantBlock::Text {
            text: (*text).to_owned(),
        }))
        .collect(),
        stop: Some(StopReason::EndTurn),
        usage: None,
        interrupted: false,
    }
}

fn offer(id: &str, arguments: &str) -> EventBody {
    EventBody::ToolCall {
        turn: 1,
        step: 1,
        call_id: id.into(),
        name: STRUCTURED_OUTPUT.to_owned(),
        arguments: arguments.to_owned(),
        needs_approval: false,
    }
}

fn settled(id: &str, well: bool) -> EventBody {
    let error = (!well).then(|| ToolErrorRecord {
        message: "does not fit".to_owned(),
        code: None,
    });
    EventBody::ToolResult {
        turn: 1,
        step: 1,
        call_id: id.into(),
        content: Vec::new(),
        error,
        meta: None,
    }
}

#[test]
fn the_text_is_the_last_that_is_not_empty_of_the_first_turn() {
    let log = [
        start(1),
        said(1, &["old"]),
        said(1, &["a", "", "b"]),
        said(1, &[" "]),
        end(1, TurnEnd::Completed),
        start(2),
        said(2, &["what somebody asked later"]),
        end(2, TurnEnd::Refusal),
    ];
    let answer = fold(&log).finish(false).expect("it answered");
    assert_eq!(answer.output, [ContentBlock::text("a"), ContentBlock::text("b")]);
    assert_eq!((answer.stop, answer.structured), (SubagentStop::Completed, None));
}

#[test]
fn who_did_not_come_to_an_end_has_not_answered() {
    let log = [start(1), said(1, &["half"])];
    assert_eq!(fold(&log).finish(false), None);
    for reason in [TurnEnd::Interrupted, TurnEnd::MaxTokens, TurnEnd::Refusal] {
        let log = [start(1), said(1, &["half"]), end(1, reason)];
        assert_eq!(fold(&log).finish(false), None);
    }
    assert_eq!(StoredAnswer::default().finish(false), None);
}

#[test]
fn an_answer_in_a_schema_is_the_first_that_was_taken() {
    let log = [
        start(1),
        said(1, &["forgotten"]),
        end(1, TurnEnd::Completed),
        start(2),
        offer("a", r#"{"n": "one"}"#),
        settled("a", false),
        offer("b", r#"{"n": 0.1}"#),
        settled("b", true),
        end(2, TurnEnd::Completed),
    ];
    let answer = fold(&log).finish(true).expect("it answered");
    assert_eq!(answer.structured, Some(json!({ "n": 0.1 })));
    assert_eq!(fold(&log[..6]).finish(true), None, "refused");
    assert_eq!(fold(&log[..7]).finish(true), None, "not taken yet");
    let without = [start(1), said(1, &["text"]), end(1, TurnEnd::Completed)];
    assert_eq!(fold(&without).finish(true), None, "a text is no such answer");
}
