use serde_json::json;
use weft_tools::ToolLimits;
use weft_types::UnixMillis;

use super::*;

fn apply(activity: &mut Activity, event: serde_json::Value) -> bool {
    let (kind, data) = (event["type"].clone(), event);
    let body = serde_json::from_value(json!({ "type": kind, "data": data })).expect("an event");
    let event = Event {
        seq: 0,
        time: UnixMillis(0),
        body,
    };
    activity.apply(&event, &ToolRegistry::new(ToolLimits::default()))
}

fn call(id: &str, name: &str, waits: bool) -> serde_json::Value {
    json!({ "type": "tool/call", "turn": 1, "step": 1, "callId": id, "name": name, "arguments": "{}", "needsApproval": waits })
}

fn result(id: &str, failed: bool) -> serde_json::Value {
    let mut result = json!({ "type": "tool/result", "turn": 1, "step": 1, "callId": id, "content": [] });
    if failed {
        result["error"] = json!({ "message": "no" });
    }
    result
}

#[test]
fn it_names_what_is_open_what_ended_last_and_counts() {
    let mut activity = Activity::default();
    assert_eq!(activity.now(), None);
    assert!(apply(&mut activity, call("1", "look", false)));
    assert!(apply(&mut activity, call("2", "find", false)));
    assert_eq!(activity.now().as_deref(), Some("look and 1 more"));
    assert!(apply(&mut activity, result("1", true)));
    assert_eq!(activity.now().as_deref(), Some("find"));
    assert_eq!(activity.last(), Some(("look", true)));
    assert!(!apply(&mut activity, result("1", false)), "it has its result");
    assert!(apply(&mut activity, result("2", false)));
    assert_eq!(
        (activity.now(), activity.last(), activity.calls()),
        (None, Some(("find", false)), 2)
    );
}

#[test]
fn a_call_that_waits_for_the_user_comes_first_until_it_has_started() {
    let mut activity = Activity::default();
    apply(&mut activity, call("1", "look", false));
    apply(&mut activity, call("2", "wipe", true));
    assert_eq!(
        activity.now().as_deref(),
        Some("waiting for permission: wipe and 1 more")
    );
    assert!(activity.started(&"2".into()));
    assert!(!activity.started(&"2".into()), "nothing changes");
    assert!(!activity.started(&"3".into()));
    assert_eq!(activity.now().as_deref(), Some("look and 1 more"));
}

#[test]
fn it_keeps_the_last_line_said_and_adds_up_tokens() {
    let said = |text: &str| {
        json!({ "type": "assistant/message", "turn": 1, "step": 1, "content": [{ "type": "text", "text": text }],
            "usage": { "inputTokens": 10, "outputTokens": 2 } })
    };
    let mut activity = Activity::default();
    assert!(apply(&mut activity, said("First.\nThen the rest.\n\n")));
    assert!(!apply(&mut activity, said("Then the rest.")), "nothing visible changes");
    assert!(!apply(&mut activity, said("")));
    assert_eq!((activity.said(), activity.tokens()), (Some("Then the rest."), 36));
    assert!(apply(&mut activity, said(&"x".repeat(1_000_000))));
    assert_eq!(activity.said().map(|said| said.chars().count()), Some(SAID_CHARS));
}

#[test]
fn its_size_depends_on_what_is_open_alone() {
    let mut activity = Activity::default();
    for id in 0..10_000 {
        apply(&mut activity, call(&id.to_string(), &"n".repeat(10_000), false));
        apply(&mut activity, result(&id.to_string(), false));
    }
    assert!(activity.open().is_empty());
    assert!(
        activity
            .last()
            .is_some_and(|(title, _)| title.chars().count() <= TITLE_CHARS)
    );
}

#[test]
fn counts_are_short_and_say_nothing_of_nothing() {
    let counts = |seconds| Activity::default().counts(Duration::from_secs(seconds));
    assert_eq!(counts(0), None);
    assert_eq!(counts(119).as_deref(), Some("119 s"));
    assert_eq!(counts(125).as_deref(), Some("2 min"));
    for (count, expected) in [(999, "999"), (1_000, "1.0k"), (12_345, "12.3k"), (2_050_000, "2.0M")] {
        assert_eq!(short_number(count), expected);
    }
    let activity = Activity {
        calls: 2,
        tokens: 7,
        ..Activity::default()
    };
    let counted = activity.counts(Duration::from_secs(3));
    assert_eq!(counted.as_deref(), Some("2 calls, 7 tokens, 3 s"));
}
