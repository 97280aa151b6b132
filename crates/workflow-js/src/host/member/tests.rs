use serde_json::{Value, json};

use super::*;

fn result(stop: MemberStop, text: &str, structured: Option<Value>) -> End {
    End::Result(MemberResult {
        stop,
        text: text.into(),
        structured,
    })
}

#[track_caller]
fn judges(end: End, has_schema: bool, over: bool, outcome: MemberOutcome, reply: &str) {
    let judgement = judge(end, has_schema, over);
    assert_eq!(judgement.outcome, outcome);
    let found = match judgement.reply {
        Reply::Text(text) => format!("text {text}"),
        Reply::Value(value) => format!("value {value}"),
        Reply::Nothing => "nothing".into(),
        Reply::StartFailed(why) => format!("start failed: {why}"),
        Reply::Exhausted(why) => format!("exhausted: {why}"),
        Reply::ResultFailed(why) => format!("result failed: {why}"),
    };
    assert_eq!(found, reply);
    assert_eq!(judgement.problem.is_none(), outcome == MemberOutcome::Completed);
}

#[test]
fn every_end_has_its_outcome_and_its_answer() {
    use MemberOutcome::{Cancelled, Completed, Failed};
    let value = Some(json!({ "a": 1 }));
    let ok = || result(MemberStop::Completed, "said", None);
    judges(ok(), false, false, Completed, "text said");
    judges(
        result(MemberStop::Completed, "", None),
        false,
        false,
        Completed,
        "text ",
    );
    judges(
        result(MemberStop::Completed, "said", value.clone()),
        true,
        false,
        Completed,
        r#"value {"a":1}"#,
    );
    judges(
        result(MemberStop::Completed, "said", value.clone()),
        false,
        false,
        Completed,
        "text said",
    );
    judges(ok(), true, false, Failed, "nothing");
    for stop in [
        MemberStop::Aborted,
        MemberStop::Error("boom".into()),
        MemberStop::MaxTokens,
        MemberStop::Refusal,
    ] {
        judges(
            result(stop.clone(), "said", value.clone()),
            true,
            false,
            Failed,
            "nothing",
        );
        judges(result(stop, "said", value.clone()), true, true, Cancelled, "nothing");
    }
    judges(End::Broken("gone".into()), false, false, Failed, "result failed: gone");
    judges(
        End::Broken("gone".into()),
        false,
        true,
        Cancelled,
        "result failed: gone",
    );
    judges(End::Late, false, false, Failed, "nothing");
    judges(End::Gone, false, true, Cancelled, "nothing");
}

#[test]
fn g65_a_member_that_completes_as_the_run_is_cancelled_has_completed() {
    judges(
        result(MemberStop::Completed, "said", None),
        false,
        true,
        MemberOutcome::Completed,
        "text said",
    );
}
