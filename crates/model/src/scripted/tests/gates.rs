//! Replies that are held until somebody says so.

use super::*;

const GATED: &str = "[[reply]]\ntext = [\"a\", \"b\"]\ngate = \"go\"\ntimes = \"any\"\n";

/// Polls once; nothing must come.
#[track_caller]
fn held(stream: &mut ModelStream) {
    assert_eq!(stream.next().now_or_never(), None);
}

#[tokio::test]
async fn a_gate_holds_a_reply_until_it_is_opened() {
    let model = script(GATED);
    let mut stream = model.stream(ask("go"));
    assert!(model.wait_gate("go").now_or_never().is_none(), "nobody is there yet");
    held(&mut stream);
    model.wait_gate("go").await.unwrap();
    model.open_gate("go").unwrap();
    let text: Vec<_> = stream.collect().await;
    assert_eq!(text.len(), 3);
    assert!(model.report().is_clean());
}

#[tokio::test]
async fn a_gate_opened_before_anyone_arrives_lets_them_pass() {
    let model = script(GATED);
    model.open_gate("go").unwrap();
    assert_eq!(text(&model, ask("go")).await.as_deref(), Ok("ab"));
    model.wait_gate("go").await.unwrap();
    assert_eq!(text(&model, ask("go")).await.as_deref(), Ok("ab"));
}

#[tokio::test]
async fn the_second_gate_stands_between_text_and_end() {
    let model = script("[[reply]]\ntext = \"half\"\ngate_after = \"rest\"\n[[reply.tool_call]]\nname = \"read\"\n");
    let mut stream = model.stream(ask("go"));
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::TextDelta("half".into()))));
    held(&mut stream);
    model.open_gate("rest").unwrap();
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::ToolCall { .. }))));
}

#[tokio::test]
async fn all_those_held_at_a_gate_are_counted_and_released_together() {
    let model = script(GATED);
    let waiter = tokio::spawn({
        let model = model.clone();
        async move { model.wait_gate_arrivals("go", 3).await.unwrap() }
    });
    let members: Vec<_> = (0..3)
        .map(|n| {
            let model = model.clone();
            tokio::spawn(async move { text(&model, member(&n.to_string(), "go")).await })
        })
        .collect();
    waiter.await.unwrap();
    assert!(members.iter().all(|member| !member.is_finished()));
    model.open_gate("go").unwrap();
    for member in join_all(members).await {
        assert_eq!(member.unwrap().as_deref(), Ok("ab"));
    }
}

#[tokio::test]
async fn passing_a_gate_counts_once() {
    let model = script(GATED);
    let mut first = model.stream(ask("go"));
    held(&mut first);
    let mut two = Box::pin(model.wait_gate_arrivals("go", 2));
    assert!(two.as_mut().now_or_never().is_none());
    model.open_gate("go").unwrap();
    assert!(first.next().await.is_some());
    assert!(
        two.as_mut().now_or_never().is_none(),
        "one request has arrived, not two"
    );
    assert_eq!(text(&model, ask("go")).await.as_deref(), Ok("ab"));
    two.await.unwrap();
}

#[tokio::test]
async fn a_stream_dropped_at_a_gate_leaves_nothing_behind() {
    let model = script(GATED);
    let mut dropped = model.stream(ask("go"));
    held(&mut dropped);
    drop(dropped);
    assert!(
        model.wait_gate("go").now_or_never().is_none(),
        "nobody is held any more"
    );
    let mut stream = model.stream(ask("go"));
    held(&mut stream);
    model.wait_gate("go").await.unwrap();
    model.open_gate("go").unwrap();
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::TextDelta("a".into()))));
}

#[tokio::test]
async fn gates_that_were_not_used_are_reported() {
    let model = script(
        r#"
        [[reply]]
        step = 1
        text = "a"
        gate = "reached"
        [[reply]]
        step = 2
        text = "b"
        gate = "opened"
        [[reply]]
        step = 3
        text = "c"
        gate = "untouched"
        [[reply]]
        step = 4
        text = "d"
        gate = "watched"
        "#,
    );
    let mut reached = model.stream(ask("go"));
    held(&mut reached);
    model.open_gate("opened").unwrap();
    let mut watched = model.stream(at(ask("go"), 1, 4));
    held(&mut watched);
    model.wait_gate("watched").await.unwrap();
    drop((reached, watched));
    let expected = [
        "gate \"opened\" was opened or waited for, but no request reached it",
        "gate \"reached\" was reached, but nobody opened it or waited for it",
        "gate \"untouched\" was never reached and never opened",
    ];
    assert_eq!(model.report().unmatched_gates, expected);
}

#[tokio::test]
async fn an_unknown_gate_is_refused_at_once() {
    let model = script(GATED);
    let expected = "no reply has a gate \"gone\", expected one of go";
    assert_eq!(model.open_gate("gone").unwrap_err().to_string(), expected);
    assert_eq!(model.wait_gate("gone").await.unwrap_err().to_string(), expected);
    let none = script("[[reply]]\ntext = \"a\"\n").open_gate("gone").unwrap_err();
    assert_eq!(
        none.to_string(),
        "no reply has a gate \"gone\", the script has no gates"
    );
}
