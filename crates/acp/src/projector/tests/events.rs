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

fn notice(message: &str) -> EventBody {
    EventBody::SessionNotice {
        message: message.into(),
    }
}

fn prompt(text: &str) -> EventBody {
    EventBody::UserMessage {
        turn: 1,
        content: vec![ContentBlock::text(text)],
    }
}

#[test]
fn a_notice_waits_for_a_turn_and_stands_behind_its_prompt() {
    let said = |text: &str| chunk("agent_message_chunk", "notice-0", text);
    let mut live = Stage::new(PLAIN);
    let mut replay = Stage::with_mode(PLAIN, Mode::Replay);
    for stage in [&mut live, &mut replay] {
        assert_eq!(stage.event(&notice("before")), [] as [Value; 0]);
        assert_eq!(stage.event(&EventBody::TurnStart { turn: 1 }), [] as [Value; 0]);
        let shown = stage.event(&prompt("hi"));
        assert_eq!(shown.last(), Some(&said("[before]\n\n")));
        assert_eq!(stage.event(&notice("within")), [said("[within]\n\n")]);
        let reason = TurnEnd::Completed;
        stage.event(&EventBody::TurnEnd { turn: 1, reason });
        assert_eq!(stage.event(&notice("after")), [] as [Value; 0]);
    }
    assert_eq!(
        replay.projector.into_notes().len(),
        1,
        "the live projection goes on with it"
    );
}

#[test]
fn a_client_with_notices_gets_them_as_such_and_none_of_them_again() {
    let client = ClientProfile { notices: true, ..PLAIN };
    let mut live = Stage::new(client);
    live.event(&EventBody::TurnStart { turn: 1 });
    assert_eq!(
        live.event(&notice("mind this")),
        [json!({ "sessionUpdate": "notice", "severity": "info", "title": "mind this" })]
    );
    let mut replay = Stage::with_mode(client, Mode::Replay);
    replay.event(&EventBody::TurnStart { turn: 1 });
    assert_eq!(replay.event(&notice("mind this")), [] as [Value; 0]);
}

#[test]
fn a_compaction_is_an_update_of_its_own_or_a_line() {
    let compaction = EventBody::SessionCompaction {
        turn: 1,
        reason: weft_types::CompactionReason::Command,
        summary: "they greeted".into(),
        kept_from: 0,
        tokens_before: None,
        usage: None,
    };
    let client = ClientProfile {
        compaction: true,
        ..PLAIN
    };
    assert_eq!(
        Stage::new(client).event(&compaction),
        [json!({
            "sessionUpdate": "compaction_update", "compactionId": "compaction-0", "status": "completed",
            "summary": [{ "type": "text", "text": "they greeted" }],
        })]
    );
    assert_eq!(
        Stage::new(PLAIN).event(&compaction),
        [chunk(
            "agent_message_chunk",
            "compaction-0",
            "[the conversation so far was summed up, to make room for more]\n\n"
        )]
    );
}

#[test]
fn pictures_of_prompts_and_results_are_shown_as_pictures() {
    let picture = || ContentBlock::Image {
        mime_type: "image/png".into(),
        data: "AAAA".into(),
    };
    let wire = json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" });
    let mut replay = Stage::with_mode(PLAIN, Mode::Replay);
    let prompt = EventBody::UserMessage {
        turn: 1,
        content: vec![ContentBlock::text("what is it?"), picture()],
    };
    let shown = replay.event(&prompt);
    assert_eq!(shown.len(), 2);
    assert_eq!(shown[1]["content"], wire);
    assert_eq!(shown[0]["messageId"], shown[1]["messageId"]);
    replay.event(&tool_call("unknown", "{}", false));
    let result = EventBody::ToolResult {
        turn: 1,
        step: 1,
        call_id: ID.into(),
        content: vec![picture()],
        error: None,
        meta: None,
    };
    assert_eq!(
        only(replay.event(&result))["content"],
        json!([{ "type": "content", "content": wire }])
    );
}
