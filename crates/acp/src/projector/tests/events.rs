//! Which events and deltas are shown, and as what.

use weft_types::{AbortCause, HeaderReason, StopReason};

use super::*;

fn answer(content: Vec<AssistantBlock>) -> EventBody {
    EventBody::AssistantMessage {
        turn: 2,
        step: 3,
        content,
        stop: Some(StopReason::EndTurn),
        usage: None,
        interrupted: false,
    }
}

fn said(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.into() }
}

fn thought(text: &str) -> AssistantBlock {
    AssistantBlock::Reasoning {
        text: text.into(),
        sealed: None,
    }
}

fn delta(kind: DeltaKind, text: &str) -> Delta {
    Delta {
        turn: 2,
        step: 3,
        kind,
        text: text.into(),
    }
}

fn chunk(kind: &str, id: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text }, "messageId": id })
}

#[test]
fn deltas_belong_to_one_message_a_step_and_kind() {
    let mut stage = Stage::new(PLAIN);
    let id = |stage: &mut Stage, delta: &Delta| {
        let message = stage.projector.delta(delta).unwrap();
        (message.id.to_string(), message.reasoning)
    };
    let text = delta(DeltaKind::Text, "a");
    assert_eq!(id(&mut stage, &text), ("message-2.3".into(), false));
    assert_eq!(
        id(&mut stage, &delta(DeltaKind::Reasoning, "b")),
        ("thought-2.3".into(), true)
    );
    assert_eq!(id(&mut stage, &text), ("message-2.3".into(), false));
    assert_eq!(
        id(&mut stage, &Delta { step: 4, ..text }),
        ("message-2.4".into(), false)
    );
    assert_eq!(stage.projector.delta(&delta(DeltaKind::Text, "")), None);
}

#[test]
fn an_assembled_message_is_shown_only_where_nothing_was_streamed() {
    let message = answer(vec![thought("hm"), said("hello"), said("")]);
    let both = [
        chunk("agent_thought_chunk", "thought-2.3", "hm"),
        chunk("agent_message_chunk", "message-2.3", "hello"),
    ];
    assert_eq!(Stage::new(PLAIN).event(&message), both);

    let mut stage = Stage::new(PLAIN);
    stage.projector.delta(&delta(DeltaKind::Text, "hello"));
    assert_eq!(stage.event(&message), both[..1]);
    stage.projector.delta(&delta(DeltaKind::Reasoning, "hm"));
    assert_eq!(stage.event(&message), [] as [Value; 0]);
}

#[test]
fn the_users_words_are_shown_in_a_replay_only() {
    let event = EventBody::UserMessage {
        turn: 1,
        content: vec![ContentBlock::text("hello")],
    };
    assert_eq!(Stage::new(PLAIN).event(&event), [] as [Value; 0]);
    let replayed = Stage::with_mode(PLAIN, Mode::Replay).event(&event);
    assert_eq!(replayed, [chunk("user_message_chunk", "prompt-1", "hello")]);
}

#[test]
fn can08_a_retry_says_why_and_for_how_long_it_waits() {
    let retry = |delay_ms| EventBody::ModelRetry {
        turn: 1,
        step: 1,
        attempt: 2,
        delay_ms,
        message: "the endpoint is rate limited".into(),
    };
    let shown = only(Stage::new(PLAIN).event(&retry(60_000)));
    assert_eq!(
        shown,
        chunk(
            "agent_message_chunk",
            "retry-1.1.2",
            "[attempt 2 of the model request failed: the endpoint is rate limited; waiting 60 s before a retry]"
        )
    );
    assert!(
        only(Stage::new(PLAIN).event(&retry(1500)))
            .to_string()
            .contains("waiting 1500 ms")
    );
}

#[test]
fn a_failed_or_interrupted_turn_leaves_a_mark() {
    let end = |reason| EventBody::TurnEnd { turn: 4, reason };
    let failed = TurnEnd::Error {
        message: "no model is configured".into(),
    };
    assert_eq!(
        Stage::new(PLAIN).event(&end(failed)),
        [chunk(
            "agent_message_chunk",
            "failure-4",
            "[the turn failed: no model is configured]"
        )]
    );
    assert_eq!(
        Stage::new(PLAIN).event(&end(TurnEnd::Interrupted)),
        [chunk(
            "agent_message_chunk",
            "failure-4",
            "[the turn was interrupted before it was finished]"
        )]
    );
    for reason in [
        TurnEnd::Completed,
        TurnEnd::Aborted { by: AbortCause::User },
        TurnEnd::MaxTokens,
        TurnEnd::Refusal,
    ] {
        assert_eq!(Stage::new(PLAIN).event(&end(reason)), [] as [Value; 0]);
    }
}

#[test]
fn a_title_is_shown_with_its_time_live_and_replayed() {
    let event = EventBody::SessionTitle {
        title: "Tidy up".into(),
    };
    let expected =
        json!({ "sessionUpdate": "session_info_update", "title": "Tidy up", "updatedAt": "1970-01-01T00:00:01.5Z" });
    for mode in [Mode::Live, Mode::Replay] {
        assert_eq!(only(Stage::with_mode(PLAIN, mode).event(&event)), expected);
    }
}

#[test]
fn everything_else_is_not_shown() {
    let events = [
        EventBody::TurnStart { turn: 1 },
        EventBody::StepStart { turn: 1, step: 1 },
        EventBody::StepEnd { turn: 1, step: 1 },
        EventBody::RequestHeader {
            reason: HeaderReason::Initial,
            model: "p/m".into(),
            system: String::new(),
            tools: Vec::new(),
        },
        EventBody::ToolContext {
            turn: 1,
            content: vec![ContentBlock::text("for the model alone")],
        },
        EventBody::WorkflowRunStart {
            run_id: "r".into(),
            name: "demo".into(),
        },
    ];
    for event in events {
        assert_eq!(
            Stage::with_mode(PLAIN, Mode::Replay).event(&event),
            [] as [Value; 0],
            "{event:?}"
        );
    }
}
