//! Children that must answer in a schema.

use std::sync::Arc;

use serde_json::{Value, json};
use weft_agent::{STRUCTURED_OUTPUT, SubagentErrorCode, SubagentRequest, SubagentResult, SubagentStop};
use weft_tools::Verdict;
use weft_types::{EventBody, Message, text_of};

use crate::support::{Family, TestTool, no_tasks_left, refused, say};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
        "additionalProperties": false,
    })
}

fn with_schema(family: &Family) -> SubagentRequest {
    SubagentRequest {
        schema: Some(schema()),
        ..family.request("count them")
    }
}

async fn run(family: &Family) -> SubagentResult {
    let run = family.start(with_schema(family)).await.expect("started");
    let result = run.result().await;
    run.dispose().await;
    no_tasks_left().await;
    assert_eq!(family.tools.results().len(), 0, "nobody watches any more");
    result
}

#[track_caller]
fn error(result: &SubagentResult) -> &str {
    match &result.stop {
        SubagentStop::Error(message) => message,
        other => panic!("{other:?} is no error"),
    }
}

const GOOD: &str = r#"
    [[reply]]
    turn = 1
    step = 1
    text = "here it is"
    [[reply.tool_call]]
    id = "s1"
    name = "structured_output"
    arguments = { count = 3 }
"#;

#[tokio::test]
async fn the_answer_is_the_calls_arguments_and_it_concludes_the_turn() {
    let family = Family::new(GOOD).tool(TestTool::echo());
    let result = run(&family).await;
    assert_eq!(
        (result.stop, result.structured),
        (SubagentStop::Completed, Some(json!({"count": 3})))
    );
    assert_eq!(result.output, say("here it is"));
    let requests = family.models.requests();
    assert_eq!(requests.len(), 1, "no request after the answer");
    assert!(requests[0].system.starts_with("you help\n\n") && requests[0].system.contains(STRUCTURED_OUTPUT));
    let tools: Vec<_> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["echo", STRUCTURED_OUTPUT]);
    assert_eq!(requests[0].tools[1].parameters, schema());
    assert!(family.tools.specs().len() == 1, "the tool is the child's own");
}

#[tokio::test]
async fn without_a_schema_there_is_neither_tool_nor_instruction() {
    let family = Family::new("[[reply]]\ntext = \"fine\"\n");
    let result = family
        .start(family.request("go"))
        .await
        .expect("started")
        .result()
        .await;
    assert_eq!((result.stop, result.structured), (SubagentStop::Completed, None));
    let requests = family.models.requests();
    assert!(requests[0].tools.is_empty() && !requests[0].system.contains(STRUCTURED_OUTPUT));
}

#[tokio::test]
async fn arguments_that_do_not_fit_go_back_to_the_model_which_may_mend_them() {
    let script = format!(
        "{}{}",
        "[[reply]]\nturn = 1\nstep = 1\n[[reply.tool_call]]\nname = \"structured_output\"\narguments = { count = \"three\", x = 1 }\n",
        GOOD.replace("step = 1", "step = 2"),
    );
    let family = Family::new(&script);
    assert_eq!(run(&family).await.structured, Some(json!({"count": 3})));
    let requests = family.models.requests();
    let Some(Message::Tool {
        content,
        is_error: true,
        ..
    }) = requests[1].messages.last()
    else {
        panic!("the failure stands last");
    };
    let told = text_of(content);
    assert!(
        told.contains("/count") && told.contains("'x'"),
        "every violation: {told}"
    );
}

#[tokio::test]
async fn wfs19_an_answer_that_never_fits_ends_after_a_bounded_number_of_requests() {
    let script = "[[reply]]\ntimes = \"any\"\n[[reply.tool_call]]\nname = \"structured_output\"\narguments = {}\n";
    let family = Family::new(script);
    let result = run(&family).await;
    let message = error(&result);
    assert!(
        message.contains("gave 5 answers that do not fit its schema, the limit subagents.schema_tries"),
        "{message}"
    );
    assert!(
        message.contains("last problem: ") && message.contains("\"count\" is a required property"),
        "{message}"
    );
    assert!(message.contains(r#"schema: {"type":"object""#), "{message}");
    assert_eq!(family.models.requests().len(), 5);
    assert_eq!(result.structured, None);
    let events = family.child().events().expect("readable");
    assert!(
        matches!(events.last().expect("events").body, EventBody::TurnEnd { .. }),
        "the log is closed"
    );
}

#[tokio::test]
async fn wfs19_even_one_that_alternates_between_wrong_and_missing_is_bounded() {
    let script = r#"
        [[reply]]
        step = 1
        times = "any"
        [[reply.tool_call]]
        name = "structured_output"
        arguments = {}
        [[reply]]
        step = 2
        times = "any"
        text = "there you are"
    "#;
    let family = Family::new(script);
    let result = run(&family).await;
    assert!(error(&result).contains("finished without an answer in its schema, after 2 reminders"));
    assert!(
        error(&result).contains("\"count\" is a required property"),
        "the last problem it had"
    );
    assert_eq!(family.models.requests().len(), 6);
}

#[tokio::test]
async fn one_that_finishes_without_an_answer_is_reminded_and_may_give_it_then() {
    let script = format!(
        "[[reply]]\nturn = 1\ntext = \"3\"\n{}",
        GOOD.replace("turn = 1", "turn = 2")
    );
    let family = Family::new(&script);
    let result = run(&family).await;
    assert_eq!(
        (result.stop, result.structured),
        (SubagentStop::Completed, Some(json!({"count": 3})))
    );
    let requests = family.models.requests();
    let Some(Message::User { content }) = requests[1].messages.last() else {
        panic!("the reminder stands last");
    };
    assert!(text_of(content).contains("without calling `structured_output`"));
}

#[tokio::test]
async fn one_that_never_answers_fails_after_its_reminders_and_its_text_is_kept() {
    let family = Family::new("[[reply]]\ntimes = \"any\"\ntext = \"it is three\"\n");
    let result = run(&family).await;
    assert!(error(&result).contains("after 2 reminders; last problem: structured_output was never called"));
    assert_eq!(result.output, say("it is three"));
    assert_eq!(family.models.requests().len(), 3);
}

#[tokio::test]
async fn failures_of_the_turn_are_not_answered_with_reminders() {
    let family = Family::new("[[reply]]\nerror = { kind = \"auth\", message = \"bad key\" }\n");
    assert_eq!(error(&run(&family).await), "bad key");
    assert_eq!(family.models.requests().len(), 1);
}

#[tokio::test]
async fn a_second_answer_in_the_same_step_is_refused() {
    let script = format!(
        "{GOOD}\n[[reply.tool_call]]\nid = \"s2\"\nname = \"structured_output\"\narguments = {{ count = 4 }}\n"
    );
    let family = Family::new(&script);
    assert_eq!(run(&family).await.structured, Some(json!({"count": 3})));
    let events = family.child().events().expect("readable");
    let second = events.iter().find_map(|event| match &event.body {
        EventBody::ToolResult { call_id, error, .. } if call_id.as_str() == "s2" => error.clone(),
        _ => None,
    });
    assert_eq!(
        second.expect("it failed").message,
        "the answer was given before; it cannot be changed"
    );
}

#[tokio::test]
async fn an_answer_counts_only_once_its_call_has_its_final_result() {
    // A policy blocks the first call after its body has run.
    let script = format!(
        "{GOOD}{}",
        GOOD.replace("step = 1", "step = 2").replace("count = 3", "count = 4")
    );
    let family = Family::new(&script);
    let calls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let _blocks = family.tools.after_execute(move |_, _| {
        let first = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        Box::pin(async move {
            match first {
                true => Verdict::Block {
                    feedback: "not yet".to_owned(),
                },
                false => Verdict::accept(),
            }
        })
    });
    assert_eq!(run(&family).await.structured, Some(json!({"count": 4})));
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_starts_nothing() {
    let family = Family::new("[[reply]]\ntext = \"fine\"\n");
    for schema in [
        json!({"type": "array"}),
        json!({"type": "object", "properties": 7}),
        json!(true),
    ] {
        let request = SubagentRequest {
            schema: Some(schema),
            ..family.request("go")
        };
        let (code, text) = refused(family.start(request).await);
        assert_eq!(code, SubagentErrorCode::UnsupportedSchema, "{text}");
    }
    assert_eq!(family.children(), 0);
}
