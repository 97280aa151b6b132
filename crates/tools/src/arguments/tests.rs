//! Hostile and merely careless arguments.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{excerpt, parse};
use crate::ErrorCode;

#[track_caller]
fn refused(raw: &str) -> (Value, String) {
    let arguments = parse("read", raw);
    let problem = arguments.problem.expect("unusable arguments");
    assert_eq!(problem.code(), Some(ErrorCode::InvalidArgs));
    (arguments.value, problem.to_string())
}

#[test]
fn empty_text_means_no_arguments() {
    for raw in ["", " \n\t"] {
        let arguments = parse("read", raw);
        assert_eq!((arguments.value, arguments.problem), (json!({}), None));
    }
}

#[test]
fn text_that_is_not_json_stays_text_and_the_error_shows_where_it_breaks() {
    let (value, message) = refused(r#"{"path": "a"#);
    assert_eq!(value, json!(r#"{"path": "a"#));
    let expected =
        r#"arguments of tool read are not valid JSON: EOF while parsing a string at line 1 column 11: {"path": "a"#;
    assert_eq!(message, expected);
}

#[test]
fn an_error_shows_only_the_beginning_of_long_text() {
    let (value, message) = refused(&"é".repeat(100_000));
    assert_eq!(value.as_str().map(str::len), Some(200_000));
    assert!(message.len() < 400, "{} bytes", message.len());
    assert!(message.ends_with("é…"));
}

#[test]
fn json_that_is_no_object_is_refused_by_its_kind() {
    let kinds = [
        ("null", "null"),
        ("true", "a boolean"),
        ("1", "a number"),
        ("\"a\"", "a string"),
        ("[]", "an array"),
    ];
    for (raw, kind) in kinds {
        let (value, message) = refused(raw);
        assert_eq!(value, serde_json::from_str::<Value>(raw).expect("JSON"));
        assert_eq!(
            message,
            format!("arguments of tool read must be a JSON object, found {kind}")
        );
    }
}

#[test]
fn json_nested_too_deeply_is_refused_before_and_after_the_parser_gives_up() {
    let nested = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    assert_eq!(parse("read", &nested(120)).problem, None);
    for depth in [121, 127, 128, 100_000] {
        let (value, message) = refused(&nested(depth));
        assert_eq!(message, "arguments of tool read are nested deeper than 120 levels");
        assert!(value.is_string());
    }
}

#[test]
fn numbers_beyond_json_are_refused() {
    refused(r#"{"a": NaN}"#);
    refused(r#"{"a": 1e999}"#);
}

proptest! {
    #[test]
    fn whatever_a_model_writes_is_read_or_refused_with_a_short_error(raw in ".{0,2000}") {
        let arguments = parse("read", &raw);
        match arguments.problem {
            None => prop_assert!(arguments.value.is_object()),
            Some(problem) => prop_assert!(problem.message().len() < 500),
        }
    }

    #[test]
    fn an_excerpt_is_a_beginning_within_its_bound(text in ".{0,100}", bytes in 0_usize..120) {
        let short = excerpt(&text, bytes);
        match short.strip_suffix('…').filter(|_| text.len() > bytes) {
            Some(beginning) => prop_assert!(text.starts_with(beginning) && beginning.len() <= bytes),
            None => prop_assert_eq!(short, text),
        }
    }
}
