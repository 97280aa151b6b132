//! Events that this version passes over.

use serde_json::value::RawValue;

use super::*;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("JSON")
}

#[test]
fn a_type_that_must_be_understood_cannot_be_passed_over() {
    for kind in [
        "turn/start",
        "tool-workflow/run-start",
        "tool-workflow/later",
        "tool-workflow/",
    ] {
        let error = OtherEvent::new(kind, raw("{}")).expect_err("must be understood");
        assert_eq!(error, OtherEventError::Kind { kind: kind.into() });
    }
    for kind in ["", "tool-workflow", "later/tool-workflow/x"] {
        OtherEvent::new(kind, raw("{}")).expect("anybody's");
    }
}

#[test]
fn data_that_other_readers_cannot_get_through_are_not_written_but_read() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    OtherEvent::new("later/fact", raw(&nested(120))).expect("deep, but readable");
    OtherEvent::new("later/fact", raw(r#"{"text":"[[\"[[\\","more":[[]]}"#)).expect("texts do not nest");
    let line = |depth| {
        format!(
            r#"{{"seq":0,"time":0,"type":"later/fact","ignorable":true,"data":{}}}"#,
            nested(depth)
        )
    };
    for depth in [120, 121, 100_000] {
        let error = OtherEvent::new("later/fact", raw(&nested(depth))).err();
        assert_eq!(error.is_some(), depth > 120, "{error:?}");
        let event = read(&line(depth));
        assert_eq!(event.body.kind(), "later/fact");
        assert_eq!(read(&serde_json::to_string(&event).expect("written back")), event);
    }
}

#[test]
fn line_breaks_between_tokens_are_dropped() {
    let other = OtherEvent::new("later/fact", raw("{\r\n  \"a\":\n\"b\\n\"\r}")).expect("ignorable");
    assert_eq!(other.data().get(), r#"{  "a":"b\n"}"#);
}
