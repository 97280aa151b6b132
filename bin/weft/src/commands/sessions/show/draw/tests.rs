use super::super::fold::Conversation;
use super::super::fold::tests::log;
use super::*;
use serde_json::json;
use weft_tools::{ToolLimits, ToolRegistry};

const PLAIN: Style = Style {
    ink: Palette::PLAIN,
    columns: None,
    full: false,
};

#[test]
fn the_model_stands_in_a_line_of_its_own_and_again_only_when_it_changes() {
    let header = |model: &str| {
        json!({"type": "request/header", "data":
            {"reason": "changed", "model": model, "system": "", "tools": []}})
    };
    let events = log(&[
        json!({"type": "turn/start", "data": {"turn": 1}}),
        json!({"type": "user/message", "data": {"turn": 1, "content": [{"type": "text", "text": "hi"}]}}),
        header("a/one"),
        header("a/one"),
        header("a/two"),
    ]);
    let mut conversation = Conversation::new(ToolRegistry::new(ToolLimits::default()));
    events
        .iter()
        .for_each(|event| conversation.apply(event).expect("in order"));
    let items = conversation.take_settled();
    let lines: Vec<_> = items.iter().flat_map(|item| PLAIN.item(item)).collect();
    assert_eq!(
        lines,
        [
            "",
            "         1970-01-01T00:00:00Z",
            "    you  hi",
            "  model  a/one",
            "  model  a/two"
        ]
    );
}

#[test]
fn an_output_is_cut_in_its_middle_only_where_that_saves_lines() {
    let text = |n: usize| (1..=n).map(|n| format!("{n}\n")).collect::<String>();
    assert_eq!(PLAIN.output(&text(9)).len(), 9);
    let cut = PLAIN.output(&text(10));
    assert_eq!(cut.len(), 9);
    assert_eq!(cut[4], "           … 2 more lines (--full shows them)");
    assert_eq!((cut[3].trim(), cut[5].trim()), ("4", "7"));
    let full = Style { full: true, ..PLAIN };
    assert_eq!(full.output(&text(100)).len(), 100);
}
