//! The reference for users against the code.

use super::super::parse::{CALL_KEYS, ERROR_KEYS, REPLY_KEYS, USAGE_KEYS};
use super::*;

const REFERENCE: &str = include_str!("../../../../../docs/scenario-model.md");

#[test]
fn every_key_and_kind_of_error_is_documented() {
    let keys = [REPLY_KEYS, CALL_KEYS, USAGE_KEYS, ERROR_KEYS].concat();
    let missing: Vec<_> = keys
        .into_iter()
        .filter(|key| !REFERENCE.contains(&format!("`{key}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let kinds = ModelErrorKind::ALL.map(|kind| format!("`\"{}\"`", kind.as_str()));
    let missing: Vec<_> = kinds.iter().filter(|kind| !REFERENCE.contains(kind.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_kinds_said_to_be_tried_again_are_those() {
    let (_, after) = REFERENCE
        .split_once("Kinds that the agent may try again are ")
        .expect("the sentence");
    let (retryable, _) = after.split_once("; the others are").expect("its other half");
    for kind in ModelErrorKind::ALL {
        assert_eq!(
            retryable.contains(&format!("\"{}\"", kind.as_str())),
            kind.is_retryable(),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn the_example_plays() {
    let example = REFERENCE
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("an example");
    let read = |name: &str| Ok(format!("// {name}"));
    let model = ScriptedModel::from_parts(Path::new("model.toml"), example, read).expect("a good script");
    model.open_gate("a").expect("a gate");
    let call = answer(&model, ask("review it")).await.into_iter().nth(2);
    let expected = r#"{"args":{"files":["a.rs","b.rs"]},"script":"// review.js"}"#;
    assert!(matches!(call, Some(Ok(ModelEvent::ToolCall { arguments, .. })) if arguments == expected));
    assert_eq!(
        text(&model, member("a.rs", "read a.rs")).await.as_deref(),
        Ok("nothing found")
    );
    assert_eq!(
        text(&model, member("b.rs", "read b.rs")).await.unwrap_err(),
        "no such model"
    );
    let mut last = at(ask("review it"), 1, 2);
    let content = vec![ContentBlock::text("{\"findings\":3}")];
    last.messages.push(Message::Tool {
        call_id: CallId::new("c"),
        content,
        is_error: false,
    });
    assert_eq!(text(&model, last).await.as_deref(), Ok("Found: 3"));
    assert!(model.report().is_clean(), "{:?}", model.report());
}
