//! Questions of subagents.

use std::sync::Arc;

use weft_agent::{SubagentRequest, SubagentStop};
use weft_tools::Approval;
use weft_types::EventBody;

use super::{Answers, answers};
use crate::support::{Family, TestTool, no_tasks_left};

const ONE_CALL: &str = r#"
    [[reply]]
    times = "any"
    step = 1
    [[reply.tool_call]]
    id = "c9"
    name = "risk"
    [[reply]]
    times = "any"
    step = 2
    text = "done"
"#;

/// A family whose parent is in mode ask and asks so.
fn family(approver: Option<&Arc<Answers>>) -> Family {
    let risk = TestTool::new("risk", |_| async { Ok(serde_json::json!("done")) }).risky();
    let mut family = Family::new(ONE_CALL).tool(risk);
    family.parent.approver = approver.map(|approver| Arc::clone(approver) as _);
    family
}

fn failures(family: &Family) -> Vec<String> {
    let events = family.child().last_turn();
    let failure = |body: &EventBody| match body {
        EventBody::ToolResult { error, .. } => error.as_ref().map(|error| error.message.clone()),
        _ => None,
    };
    events.iter().filter_map(|event| failure(&event.body)).collect()
}

#[tokio::test]
async fn prm03_a_question_reaches_whom_the_parent_asks_and_says_who_asks() {
    let approver = answers(Some(Approval::AllowedOnce));
    let family = family(Some(&approver));
    let request = SubagentRequest {
        label: Some("scout".to_owned()),
        run: Some(("r1".into(), 1)),
        run_name: Some("demo".to_owned()),
        call: Some("outer".into()),
        ..family.request("go")
    };
    let run = family.start(request).await.expect("started");
    assert_eq!(run.result().await.stop, SubagentStop::Completed);
    assert_eq!(failures(&family), Vec::<String>::new());
    let asked = approver.asked.lock().expect("not poisoned");
    let asker = asked[0].asker.as_ref().expect("somebody else asks");
    assert_eq!(asker.session, *run.id());
    assert_eq!(asker.name, "member `scout` of workflow `demo`");
    assert_eq!(asker.within, Some("outer".into()));
    assert_eq!((asked.len(), asked[0].call_id.as_str()), (1, "c9"));
}

#[tokio::test]
async fn a_subagent_without_a_run_is_named_by_its_label() {
    let approver = answers(Some(Approval::Rejected));
    let family = family(Some(&approver));
    for (label, name) in [(Some("scout"), "subagent `scout`"), (None, "a subagent")] {
        let request = SubagentRequest {
            label: label.map(str::to_owned),
            ..family.request("go")
        };
        let run = family.start(request).await.expect("started");
        assert_eq!(
            run.result().await.stop,
            SubagentStop::Completed,
            "a refusal is the call's alone"
        );
        let asked = approver.asked.lock().expect("not poisoned").pop().expect("asked");
        assert_eq!(asked.asker.expect("somebody else asks").name, name);
    }
}

#[tokio::test]
async fn g82_without_anybody_to_ask_a_subagents_call_is_denied_and_says_so() {
    let family = family(None);
    let run = family.start(family.request("go")).await.expect("started");
    assert_eq!(run.result().await.stop, SubagentStop::Completed);
    assert!(
        failures(&family)[0].contains("nobody could be asked"),
        "{:?}",
        failures(&family)
    );
}

#[tokio::test]
async fn a_subagent_that_is_stopped_asks_no_more() {
    let approver = answers(None);
    let family = family(Some(&approver));
    let run = family.start(family.request("go")).await.expect("started");
    approver.until_asked().await;
    run.dispose().await;
    assert_eq!(run.result().await.stop, SubagentStop::Aborted);
    drop(run);
    no_tasks_left().await;
}
