use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The text means the same to both, and what is wrong with it is told in the same words.
#[track_caller]
fn check(text: &str) {
    let ours = serde_json::from_str::<Json<'_>>(text).map(|json| json.to_value());
    let theirs = serde_json::from_str::<Value>(text);
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours.to_string(), theirs.to_string()),
        (Err(ours), Err(theirs)) => assert_eq!(ours.to_string(), theirs.to_string()),
        (ours, theirs) => panic!("{text}: {ours:?}, {theirs:?}"),
    }
}

#[test]
fn a_text_means_what_it_means_to_serde_json() {
    for text in [
        r#" {"a": [null, true, -1, 1, 18446744073709551615, 1.5e3, "x\né\ud83d\ude00"], "b\n": {}} "#,
        r#"{"a": 1, "b": 2, "a": 3}"#,
        "1e999",
        "-0",
        r#"{"a": 1"#,
        r#"{"a" 1}"#,
        r#"["\ud83d"]"#,
        "",
        "{} {}",
        &"[".repeat(200),
    ] {
        check(text);
    }
}

proptest! {
    #[test]
    fn any_text_means_what_it_means_to_serde_json(text in r#"[\[\]{}:,"a\\ntrue0-9.e ]{0,40}"#) {
        check(&text);
    }
}

#[test]
fn texts_are_borrowed_unless_they_have_escapes() {
    let text = r#"{"plain": "größer", "escaped": "a\nb"}"#;
    let json: Json<'_> = serde_json::from_str(text).expect("it is JSON");
    let is_borrowed = |name: &str| matches!(json.get(name), Some(Json::String(Cow::Borrowed(_))));
    assert!(is_borrowed("plain") && !is_borrowed("escaped"));
    assert_eq!(json.get("escaped").and_then(Json::as_str), Some("a\nb"));
}

#[test]
fn of_fields_with_one_name_the_last_counts() {
    let json: Json<'_> = serde_json::from_str(r#"{"a": 1, "b": {"c": null}, "a": 2}"#).expect("it is JSON");
    assert_eq!(json.get("a").and_then(Json::as_u64), Some(2));
    assert!(json.at(&["b", "c"]).is_some_and(Json::is_null));
    assert!(json.at(&["a", "c"]).is_none());
    assert_eq!(json.to_value(), json!({ "a": 2, "b": { "c": null } }));
}
