//! Events of every kind.

use serde_json::json;
use serde_json::value::RawValue;

use super::{agent_end, agent_start, log, run_end, run_start};
use crate::{
    AbortCause, AssistantBlock, CompactionReason, ContentBlock, Event, EventBody, HeaderReason, MemberOutcome,
    OtherEvent, RuleEffect, RunStop, StopReason, ToolErrorRecord, ToolSpec, TurnEnd, Usage,
};

/// At least one event of every kind, and every optional field once absent and once present.
pub(crate) fn events() -> Vec<Event> {
    log(turns()
        .into_iter()
        .chain(answers())
        .chain(calls())
        .chain(records())
        .chain([other()]))
}

/// An event of a type that nobody knows.
pub(crate) fn other() -> EventBody {
    let data = RawValue::from_string(r#"{"any": [1.0, null]}"#.to_owned()).expect("JSON");
    EventBody::Other(OtherEvent::new("later/fact", data).expect("ignorable"))
}

fn picture() -> ContentBlock {
    ContentBlock::Image {
        mime_type: "image/png".into(),
        data: "AAAA".into(),
    }
}

fn turns() -> Vec<EventBody> {
    let ends = [
        TurnEnd::Completed,
        TurnEnd::Aborted { by: AbortCause::User },
        TurnEnd::Aborted { by: AbortCause::Parent },
        TurnEnd::Aborted { by: AbortCause::Closed },
        TurnEnd::Error { message: "m".into() },
        TurnEnd::MaxTokens,
        TurnEnd::MaxSteps,
        TurnEnd::Refusal,
        TurnEnd::Interrupted,
    ];
    let content = vec![
        ContentBlock::text("line\n\u{2028}\u{1f980}"),
        ContentBlock::text(""),
        picture(),
    ];
    let mut bodies = vec![
        EventBody::TurnStart { turn: 1 },
        EventBody::UserMessage {
            turn: 1,
            content: content.clone(),
        },
        EventBody::SessionTitle { title: "t".into() },
        EventBody::SessionMode { mode: "plan".into() },
        EventBody::SessionModel { model: "p/m".into() },
        EventBody::SessionRule {
            rule: "bash(git status)".into(),
            effect: RuleEffect::Allow,
        },
        EventBody::SessionNotice { message: "n".into() },
        EventBody::SessionCompaction {
            turn: 1,
            reason: CompactionReason::Overflow,
            summary: "s".into(),
            kept_from: Event::MAX_NUMBER,
            tokens_before: Some(7),
            usage: Some(Usage::default()),
        },
        EventBody::ToolContext { turn: 1, content },
        EventBody::StepStart {
            turn: 1,
            step: u32::MAX,
        },
        EventBody::StepEnd { turn: 1, step: 1 },
    ];
    bodies.extend(ends.map(|reason| EventBody::TurnEnd { turn: 1, reason }));
    bodies
}

fn answers() -> Vec<EventBody> {
    let blocks = vec![
        AssistantBlock::Text { text: "t".into() },
        AssistantBlock::Reasoning {
            text: "r".into(),
            sealed: None,
        },
        AssistantBlock::Reasoning {
            text: String::new(),
            sealed: Some(serde_json::json!({ "signature": "s" })),
        },
        AssistantBlock::ToolCall {
            id: "c".into(),
            name: "n".into(),
            arguments: "{\"broken\"".into(),
        },
    ];
    let answer = |stop, usage| EventBody::AssistantMessage {
        turn: 1,
        step: 1,
        content: blocks.clone(),
        stop,
        usage,
        interrupted: stop.is_none(),
    };
    let small = Usage::default();
    let usage = Usage {
        input_tokens: Event::MAX_NUMBER,
        output_tokens: 1,
        cached_input_tokens: 2,
        reasoning_tokens: 3,
    };
    vec![
        EventBody::RequestHeader {
            reason: HeaderReason::Initial,
            model: "p/m".into(),
            system: String::new(),
            tools: vec![ToolSpec {
                name: "n".into(),
                description: "d".into(),
                parameters: json!({ "type": "object", "properties": {} }),
            }],
        },
        EventBody::RequestHeader {
            reason: HeaderReason::Changed,
            model: "p/m".into(),
            system: "s".into(),
            tools: Vec::new(),
        },
        EventBody::ModelRetry {
            turn: 1,
            step: 1,
            attempt: 1,
            delay_ms: 500,
            message: "m".into(),
        },
        answer(Some(StopReason::EndTurn), None),
        answer(Some(StopReason::ToolUse), Some(small)),
        answer(Some(StopReason::MaxTokens), Some(usage)),
        answer(Some(StopReason::Refusal), None),
        answer(None, None),
    ]
}

fn calls() -> Vec<EventBody> {
    let call = |needs_approval| EventBody::ToolCall {
        turn: 1,
        step: 1,
        call_id: "c".into(),
        name: "n".into(),
        arguments: "{}".into(),
        needs_approval,
    };
    let result = |error, meta| EventBody::ToolResult {
        turn: 1,
        step: 1,
        call_id: "c".into(),
        content: vec![ContentBlock::text("x")],
        error,
        meta,
    };
    let error = |code: Option<&str>| {
        Some(ToolErrorRecord {
            message: "m".into(),
            code: code.map(str::to_owned),
        })
    };
    vec![
        call(false),
        call(true),
        result(None, None),
        result(error(None), Some(json!(null))),
        result(
            error(Some("INVALID_ARGS")),
            Some(json!({ "a": [1, -2.5, "x", null, true] })),
        ),
    ]
}

fn records() -> Vec<EventBody> {
    let outcomes = [
        MemberOutcome::Completed,
        MemberOutcome::Failed,
        MemberOutcome::Cancelled,
    ];
    let stops = [RunStop::Completed, RunStop::Error, RunStop::Cancelled];
    let starts = [None, Some(""), Some("p")].map(|phase| agent_start("r", 1, phase));
    let mut bodies = vec![run_start("r")];
    bodies.extend(starts);
    bodies.extend(outcomes.map(|outcome| agent_end("r", 1, outcome)));
    bodies.extend(stops.map(|stop| run_end("r", stop)));
    bodies
}
