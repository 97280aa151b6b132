//! What is written is what is read.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;
use crate::test_support::{log, samples};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        any::<String>(),
        Just("\u{2028}\u{0}\"\\\r\n\u{10ffff}".to_owned())
    ]
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1.0e9..1.0e9).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Events with any content, of the kinds that hold free texts, numbers and JSON.
fn bodies() -> impl Strategy<Value = EventBody> {
    let texts = (text(), text(), proptest::option::of(text()));
    let numbers = (any::<u32>(), any::<u32>(), 0..=Event::MAX_NUMBER);
    (0..8, texts, numbers, proptest::option::of(json())).prop_map(|(kind, texts, numbers, json)| {
        let ((a, b, optional), (turn, step, number)) = (texts, numbers);
        match kind {
            0 => EventBody::UserMessage {
                turn,
                content: vec![ContentBlock::text(a), ContentBlock::text(b)],
            },
            1 => EventBody::AssistantMessage {
                turn,
                step,
                content: vec![
                    AssistantBlock::Text { text: a },
                    AssistantBlock::Reasoning { text: b, sealed: None },
                ],
                stop: optional.as_ref().map(|_| StopReason::EndTurn),
                usage: json.map(|_| Usage {
                    input_tokens: number,
                    reasoning_tokens: turn.into(),
                    ..Usage::default()
                }),
                interrupted: optional.is_none(),
            },
            2 => EventBody::ToolCall {
                turn,
                step,
                call_id: a.as_str().into(),
                name: b,
                arguments: optional.unwrap_or_default(),
                needs_approval: json.is_some(),
            },
            3 => EventBody::ToolResult {
                turn,
                step,
                call_id: a.as_str().into(),
                content: Vec::new(),
                error: optional.map(|message| ToolErrorRecord { message, code: Some(b) }),
                meta: json,
            },
            4 => EventBody::WorkflowAgentStart {
                run_id: a.as_str().into(),
                seq: number,
                label: b,
                phase: optional,
                child_id: "c".into(),
            },
            5 => EventBody::TurnEnd {
                turn,
                reason: optional.map_or(TurnEnd::Completed, |message| TurnEnd::Error { message }),
            },
            6 => EventBody::ModelRetry {
                turn,
                step,
                attempt: step,
                delay_ms: number,
                message: a,
            },
            _ => {
                let data = serde_json::value::to_raw_value(&json).expect("JSON");
                EventBody::Other(OtherEvent::new(format!("later/{a}"), data).expect("ignorable"))
            }
        }
    })
}

fn events() -> impl Strategy<Value = Event> {
    let numbers = (0..=Event::MAX_NUMBER, 0..=Event::MAX_NUMBER);
    (numbers, bodies()).prop_map(|((seq, time), body)| Event {
        seq,
        time: UnixMillis(time),
        body,
    })
}

proptest! {
    #[test]
    fn an_event_is_one_line_and_is_read_as_it_was_written(event in events()) {
        let line = serde_json::to_string(&event).expect("JSON");
        prop_assert!(!line.contains(['\n', '\r']));
        prop_assert_eq!(&Event::from_json(line.as_bytes()).expect("an event"), &event);
        let value: Value = serde_json::from_str(&line).expect("JSON");
        prop_assert_eq!(serde_json::from_value::<Event>(value).expect("an event"), event);
    }

    /// Also with further fields, and laid out for people.
    #[test]
    fn the_order_of_the_fields_does_not_matter(event in events(), extra in json(), swaps in vec(any::<prop::sample::Index>(), 6)) {
        let Value::Object(written) = serde_json::to_value(&event).expect("JSON") else { panic!("no object") };
        let mut fields: Vec<_> = written.into_iter().chain([("later".to_owned(), extra)]).collect();
        for (from, to) in swaps.iter().enumerate() {
            let (from, to) = (from % fields.len(), to.index(fields.len()));
            fields.swap(from, to);
        }
        let shuffled: Map<_, _> = fields.into_iter().collect();
        let json = serde_json::to_vec_pretty(&shuffled).expect("JSON");
        let read = Event::from_json(&json).expect("an event");
        // The text of foreign data is kept as it stands, so that a number may be written differently.
        prop_assert_eq!(serde_json::to_value(&read).expect("JSON"), serde_json::to_value(&event).expect("JSON"));
        prop_assert!(!serde_json::to_string(&read).expect("JSON").contains('\n'));
    }

    #[test]
    fn no_bytes_are_a_panic(bytes in vec(any::<u8>(), 0..64)) {
        drop(Event::from_json(&bytes));
    }
}

#[test]
fn every_kind_is_read_as_it_was_written() {
    let events = samples::events();
    let kinds: std::collections::HashSet<_> = events.iter().map(|event| event.body.kind()).collect();
    assert!(
        EventBody::KINDS.iter().all(|kind| kinds.contains(kind)),
        "a kind has no sample: {kinds:?}"
    );
    for event in events {
        let json = serde_json::to_string(&event).expect("JSON");
        assert_eq!(read(&json), event, "{json}");
        assert!(json.contains(&format!(r#""type":"{}""#, event.body.kind())), "{json}");
        assert!(
            !json.contains(":null") || event.body.kind() == "tool/result" || json.contains("later"),
            "{json}"
        );
    }
}

#[test]
fn no_torn_line_is_an_event() {
    for event in log([samples::other()]).into_iter().chain(samples::events()) {
        let line = serde_json::to_vec(&event).expect("JSON");
        for end in 0..line.len() {
            Event::from_json(&line[..end]).expect_err("a torn line");
        }
    }
}

/// The reader knows exactly the types that the derived one does, which lists them where it finds another.
#[test]
fn the_list_of_kinds_is_complete() {
    let unknown = json!({ "type": "?", "data": {} });
    let error = serde_json::from_value::<EventBody>(unknown)
        .expect_err("unknown")
        .to_string();
    let listed: Vec<_> = error.split('`').skip(3).step_by(2).collect();
    assert_eq!(listed, EventBody::KINDS, "{error}");
}
