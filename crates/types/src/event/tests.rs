//! Reading and writing of events.

use serde_json::json;

use super::*;

#[track_caller]
fn read(json: &str) -> Event {
    Event::from_json(json.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refused(json: &str) -> String {
    let error = Event::from_json(json.as_bytes()).expect_err("no event");
    error.to_string()
}

#[test]
fn fields_are_read_in_any_order_and_further_ones_are_passed_over() {
    let expected = Event {
        seq: 3,
        time: UnixMillis(7),
        body: EventBody::TurnStart { turn: 2 },
    };
    for json in [
        r#"{"seq":3,"time":7,"type":"turn/start","data":{"turn":2}}"#,
        r#" {"data":{"turn":2,"later":[1]},"type":"turn/start","crc":9,"time":7,"seq":3} "#,
        r#"{"type":"turn\/start","ignorable":true,"data":{"turn":2},"seq":3,"time":7,"later":{"seq":1}}"#,
    ] {
        assert_eq!(read(json), expected, "{json}");
        let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
        assert_eq!(serde_json::from_value::<Event>(value).expect("an event"), expected);
    }
}

#[test]
fn what_is_no_event_is_refused_with_the_reason() {
    for (json, reason) in [
        (
            "[]",
            "invalid type: sequence, expected an event: an object of seq, time, type and data",
        ),
        (r#"{"seq":0,"time":0,"type":"turn/start"}"#, "missing field `data`"),
        (r#"{"seq":0,"time":0,"data":{"turn":2}}"#, "missing field `type`"),
        (
            r#"{"seq":0,"type":"turn/start","data":{"turn":2}}"#,
            "missing field `time`",
        ),
        (
            r#"{"time":0,"type":"turn/start","data":{"turn":2}}"#,
            "missing field `seq`",
        ),
        (
            r#"{"seq":0,"seq":0,"time":0,"type":"turn/start","data":{"turn":2}}"#,
            "duplicate field `seq`",
        ),
        (
            r#"{"seq":0,"time":0,"type":"turn/start","data":{}}"#,
            "turn/start: missing field `turn`",
        ),
        (
            r#"{"seq":0,"time":0,"data":{},"type":"turn/start"}"#,
            "turn/start: missing field `turn`",
        ),
        (
            r#"{"seq":0,"time":0,"type":"turn/start","data":[1]}"#,
            "turn/start: invalid type: sequence",
        ),
        (
            r#"{"seq":0,"time":0,"type":"turn/start","data":null}"#,
            "turn/start: invalid type: null",
        ),
        (
            r#"{"seq":0,"time":0,"type":"turn/start","data":{"turn":1}} {}"#,
            "trailing characters",
        ),
        (
            r#"{"seq":-1,"time":0,"type":"turn/start","data":{"turn":1}}"#,
            "invalid value: integer `-1`",
        ),
        (
            r#"{"seq":9007199254740992,"time":0,"type":"turn/start","data":{"turn":1}}"#,
            "seq is 9007199254740992, expected at most 9007199254740991",
        ),
        (
            r#"{"seq":0,"time":9007199254740992,"type":"turn/start","data":{"turn":1}}"#,
            "time is 9007199254740992, expected at most 9007199254740991",
        ),
    ] {
        let text = refused(json);
        assert!(
            text.starts_with("failed to read an event: ") && text.contains(reason),
            "{json}: {text}"
        );
    }
    let text = refused(r#"{"seq":0,"time":0,"type":"turn/start","data":{"turn":-1}}"#);
    assert_eq!(text.matches("line 1 column").count(), 1, "{text}");
}

#[test]
fn an_unknown_type_is_told_apart_unless_it_may_be_passed_over() {
    for json in [
        r#"{"seq":4,"time":0,"type":"later/fact","data":{}}"#,
        r#"{"seq":4,"time":0,"type":"later/fact","data":{},"ignorable":false}"#,
    ] {
        let error = Event::from_json(json.as_bytes()).expect_err("unknown");
        let EventParseError::UnknownType { seq: 4, kind } = error else {
            panic!("{error}")
        };
        assert_eq!(kind, "later/fact");
    }
    let json =
        json!({ "seq": 4, "time": 0, "type": "tool-workflow/pause", "data": { "runId": "r" }, "ignorable": true });
    let error = Event::from_json(json.to_string().as_bytes()).expect_err("never ignorable");
    assert!(matches!(error, EventParseError::UnknownType { seq: 4, .. }), "{error}");
    serde_json::from_value::<Event>(json).expect_err("never ignorable");
}

#[test]
fn an_ignorable_event_is_written_back_as_it_was_read() {
    let line = r#"{"seq":4,"time":5,"type":"later/fact","data":{"a": 1.0,"b":1e2,"b":"\u00e9\n"},"ignorable":true}"#;
    let event = read(line);
    assert_eq!(serde_json::to_string(&event).expect("JSON"), line);
    assert_eq!(event.body.kind(), "later/fact");
    let other = r#"{"ignorable":true,"data":{"a": 1.0,"b":1e2,"b":"\u00e9\n"},"type":"later/fact","time":5,"seq":4}"#;
    assert_eq!(read(other), event);
}

mod other;
mod records;
mod round_trip;
