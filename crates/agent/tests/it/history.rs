//! The messages that follow from a log.

use weft_agent::history;
use weft_types::{AssistantBlock, Event, EventBody, Message, StopReason, TurnEnd, UnixMillis};

use crate::support::{TestTool, World, say, well_formed};

fn event(body: EventBody) -> Event {
    Event {
        seq: 0,
        time: UnixMillis(0),
        body,
    }
}

fn text(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.to_owned() }
}

fn call(id: &str) -> AssistantBlock {
    AssistantBlock::ToolCall {
        id: id.into(),
        name: "echo".to_owned(),
        arguments: "{}".to_owned(),
    }
}

fn answer(content: Vec<AssistantBlock>, interrupted: bool) -> Event {
    event(EventBody::AssistantMessage {
        turn: 1,
        step: 1,
        content,
        stop: (!interrupted).then_some(StopReason::EndTurn),
        usage: None,
        interrupted,
    })
}

fn user() -> Event {
    event(EventBody::UserMessage {
        turn: 1,
        content: say("hello"),
    })
}

#[test]
fn answers_without_text_and_calls_are_no_messages() {
    let reasoning = AssistantBlock::Reasoning {
        text: "hm".to_owned(),
        sealed: None,
    };
    for content in [vec![], vec![text("")], vec![reasoning.clone()]] {
        assert_eq!(history::messages(&[user(), answer(content, true)]).len(), 1);
    }
    let kept = history::messages(&[answer(vec![reasoning.clone(), text("so")], true)]);
    let content = vec![reasoning, text("so")];
    assert_eq!(
        kept,
        [Message::Assistant { content }],
        "cut-off text stays, with its reasoning"
    );
}

#[test]
fn an_open_call_gets_a_result_that_says_so() {
    let messages = history::messages(&[user(), answer(vec![call("a"), call("b")], false)]);
    let failed: Vec<_> = messages
        .iter()
        .skip(2)
        .map(|message| matches!(message, Message::Tool { is_error: true, .. }))
        .collect();
    assert_eq!(failed, [true, true]);
    assert!(well_formed(&messages));
}

#[tokio::test]
async fn log03_every_prefix_of_a_log_gives_a_well_formed_history() {
    let script = r#"
        [[reply]]
        turn = 1
        step = 1
        text = "looking"
        [[reply.tool_call]]
        name = "echo"
        [[reply.tool_call]]
        name = "echo"
        [[reply]]
        turn = 1
        step = 2
        [[reply.tool_call]]
        name = "echo"
        [[reply]]
        turn = 1
        step = 3
        text = "half"
        error = { kind = "network", message = "gone" }
        [[reply]]
        turn = 2
        text = "fine"
    "#;
    let world = World::new(script).tool(TestTool::echo().safe());
    assert!(matches!(world.prompt("one").await, TurnEnd::Error { .. }));
    assert_eq!(world.prompt("two").await, TurnEnd::Completed);
    let events = world.agent.session().events().expect("readable");
    for end in 0..=events.len() {
        let messages = history::messages(events[..end].iter().map(|event| &**event));
        assert!(well_formed(&messages), "{end}: {messages:?}");
    }
    // What the agent sent, built event by event, is what the whole log gives.
    let requests = world.models.requests();
    let last_answer = events
        .iter()
        .rposition(|event| matches!(event.body, EventBody::AssistantMessage { .. }));
    let before = &events[..last_answer.expect("an answer")];
    assert_eq!(
        requests.last().expect("a request").messages,
        history::messages(before.iter().map(|event| &**event))
    );
}
