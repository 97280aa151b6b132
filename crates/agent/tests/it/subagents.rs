//! Agents that start agents.

use futures::future::join_all;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use weft_agent::{
    PermissionMode, Permissions, SubagentErrorCode, SubagentLimits, SubagentProvider, SubagentRequest, SubagentStop,
};
use weft_types::{EventBody, Origin, SessionHeader, UnixMillis};

use crate::support::{Family, TestTool, alive_tasks, header, hold, last_end, no_tasks_left, refused, say};

#[tokio::test]
async fn a_child_answers_with_its_last_text_from_a_session_of_its_own() {
    let script = r#"
        [[reply]]
        role = "subagent"
        label = "scout"
        step = 1
        text = "first I look"
        [[reply.tool_call]]
        name = "echo"
        [[reply]]
        role = "subagent"
        label = "scout"
        step = 2
        text = "all is well"
    "#;
    let family = Family::new(script).tool(TestTool::echo());
    let request = SubagentRequest {
        label: Some("scout".to_owned()),
        run: Some(("r1".into(), 3)),
        ..family.request("look around")
    };
    let run = family.start(request).await.expect("started");
    let result = run.result().await;
    assert_eq!((result.stop, result.structured), (SubagentStop::Completed, None));
    assert_eq!(result.output, say("all is well"));
    assert_eq!(alive_tasks(), 0, "a result means quiet");
    let child = family.child();
    let expected = SessionHeader {
        id: run.id().clone(),
        created_at: UnixMillis(7),
        origin: Origin::Subagent,
        parent: Some("main".into()),
        depth: 1,
        label: Some("scout".to_owned()),
        run_id: Some("r1".into()),
        run_seq: Some(3),
        ..header("main")
    };
    assert_eq!(child.header(), &expected);
    assert_eq!(&*family.models.requests()[0].system, "you help");
    assert_eq!(run.result().await.output, say("all is well"), "any number of times");
    assert!(family.models.scripted().report().is_clean());
}

#[tokio::test]
async fn the_last_text_that_is_not_empty_is_the_output_even_if_it_was_cut_off() {
    let script = "[[reply]]\nstep = 1\ntext = \"half an answer\"\nerror = { kind = \"network\", message = \"gone\" }\n";
    let family = Family::new(script);
    let result = family
        .start(family.request("go"))
        .await
        .expect("started")
        .result()
        .await;
    assert_eq!(result.output, say("half an answer"));
    assert_eq!(
        result.stop,
        SubagentStop::Error("the answer broke off: gone".to_owned())
    );
}

#[tokio::test]
async fn ends_of_turns_are_told_as_ends_of_the_child() {
    for (reply, stop) in [
        ("text = \"x\"\nstop = \"max_tokens\"", SubagentStop::MaxTokens),
        ("text = \"x\"\nstop = \"refusal\"", SubagentStop::Refusal),
        (
            "error = { kind = \"auth\", message = \"bad key\" }",
            SubagentStop::Error("bad key".to_owned()),
        ),
    ] {
        let family = Family::new(&format!("[[reply]]\n{reply}\n"));
        let result = family
            .start(family.request("go"))
            .await
            .expect("started")
            .result()
            .await;
        assert_eq!(result.stop, stop);
    }
    let looping = "[[reply]]\ntimes = \"any\"\n[[reply.tool_call]]\nname = \"echo\"\n";
    let mut family = Family::new(looping).tool(TestTool::echo());
    family.provider.limits = weft_agent::Limits::default().max_steps(2).expect("in range");
    let result = family
        .start(family.request("go"))
        .await
        .expect("started")
        .result()
        .await;
    let text = "the agent made 2 model requests, the limit agent.max_steps, and was not done";
    assert_eq!(result.stop, SubagentStop::Error(text.to_owned()));
}

#[tokio::test]
async fn a_child_uses_its_parents_model_unless_told_another() {
    let family = Family::new("[[reply]]\ntimes = \"any\"\ntext = \"fine\"\n");
    let model = |family: &Family| family.models.requests().last().expect("a request").model.clone();
    family
        .start(family.request("go"))
        .await
        .expect("started")
        .result()
        .await;
    assert_eq!(model(&family), "model");
    family.parent.model.set("test/parents");
    family
        .start(family.request("go"))
        .await
        .expect("started")
        .result()
        .await;
    assert_eq!(model(&family), "parents");
    let request = SubagentRequest {
        model: Some("test/own".to_owned()),
        ..family.request("go")
    };
    family.start(request).await.expect("started").result().await;
    assert_eq!(model(&family), "own");
}

const RISKY: &str = r#"
    [[reply]]
    step = 1
    [[reply.tool_call]]
    id = "c1"
    name = "risk"
    [[reply]]
    step = 2
    text = "done"
"#;

#[tokio::test]
async fn g82_a_child_asks_nobody_and_only_full_trust_is_inherited() {
    for (mode, runs) in [
        (PermissionMode::Ask, false),
        (PermissionMode::Plan, false),
        (PermissionMode::Full, true),
    ] {
        let risk = TestTool::new("risk", |_| async { Ok(json!(null)) }).risky();
        let mut family = Family::new(RISKY).tool(risk);
        family.parent.permissions = std::sync::Arc::new(Permissions::new(mode));
        let result = family
            .start(family.request("go"))
            .await
            .expect("started")
            .result()
            .await;
        assert_eq!(result.stop, SubagentStop::Completed);
        let events = family.child().events().expect("readable");
        let error = events.iter().find_map(|event| match &event.body {
            EventBody::ToolResult { error, .. } => Some(error.clone()),
            _ => None,
        });
        let denied = error.expect("a result").map(|error| error.message);
        assert_eq!(denied.is_none(), runs);
        if let Some(message) = denied {
            assert!(
                message.starts_with("permission to run tool risk was denied: "),
                "{message}"
            );
        }
        assert!(family.parent.session.is_empty(), "recorded in the child only");
    }
}

#[tokio::test]
async fn children_nest_up_to_their_limit() {
    let mut family = Family::new("[[reply]]\ntimes = \"any\"\ntext = \"fine\"\n");
    family.parent.depth = 2;
    family
        .start(family.request("go"))
        .await
        .expect("the third level")
        .result()
        .await;
    assert_eq!(family.child().header().depth, 3);
    family.parent.depth = 3;
    let (code, text) = refused(family.start(family.request("go")).await);
    assert_eq!(code, SubagentErrorCode::DepthLimit);
    let expected = "failed to start a subagent: it would stand 4 levels below the user's agent, the limit \
                    agent.max_depth is 3";
    assert_eq!(text, expected);
    assert_eq!(family.children(), 1);
    family.provider.bounds = SubagentLimits::default().max_depth(4).expect("in range");
    family
        .start(family.request("go"))
        .await
        .expect("the fourth level")
        .result()
        .await;
}

#[tokio::test]
async fn a_start_that_was_cancelled_before_creates_nothing() {
    let family = Family::new("[[reply]]\ntext = \"fine\"\n");
    let request = family.request("go");
    request.cancel.cancel();
    assert_eq!(refused(family.start(request).await).0, SubagentErrorCode::Cancelled);
    assert_eq!((family.children(), alive_tasks()), (0, 0));
}

#[tokio::test]
async fn g76_a_dropped_start_leaves_nothing() {
    let family = Family::new("[[reply]]\ntext = \"fine\"\n");
    drop(family.provider.start(family.request("go")));
    no_tasks_left().await;
    assert!(family.models.requests().is_empty());
}

const HOLD: &str = "[[reply]]\n[[reply.tool_call]]\nid = \"c1\"\nname = \"hold\"\n";

/// Waits until the child's call is in its log.
async fn held(family: &Family) {
    let child = family.child();
    let has_call = || {
        child
            .events()
            .expect("readable")
            .iter()
            .any(|event| matches!(event.body, EventBody::ToolCall { .. }))
    };
    while !has_call() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_requests_cancel_stops_the_child_and_its_result_says_so() {
    let family = Family::new(HOLD).tool(hold());
    let request = family.request("go");
    let cancel = request.cancel.clone();
    let run = family.start(request).await.expect("started");
    held(&family).await;
    cancel.cancel();
    assert_eq!(run.result().await.stop, SubagentStop::Aborted);
    assert_eq!(last_end(&family.child()), "aborted parent");
    assert_eq!(alive_tasks(), 0);
}

#[tokio::test]
async fn dispose_stops_the_child_waits_for_quiet_and_may_be_repeated() {
    let family = Family::new(HOLD).tool(hold());
    let run = family.start(family.request("go")).await.expect("started");
    held(&family).await;
    let pending = run.result();
    tokio::join!(run.dispose(), run.dispose());
    assert_eq!(alive_tasks(), 0);
    run.dispose().await;
    assert_eq!(last_end(&family.child()), "aborted parent");
    assert_eq!(pending.await.stop, SubagentStop::Aborted);
    drop(run);
}

#[tokio::test]
async fn dropping_a_run_stops_the_child() {
    let family = Family::new(HOLD).tool(hold());
    let run = family.start(family.request("go")).await.expect("started");
    held(&family).await;
    let result = run.result();
    drop(run);
    no_tasks_left().await;
    assert_eq!(
        result.await.stop,
        SubagentStop::Aborted,
        "who waits for the result is told"
    );
    assert_eq!(last_end(&family.child()), "aborted parent");
}

#[tokio::test]
async fn one_requests_end_leaves_its_siblings_alone() {
    let family = Family::new("[[reply]]\ntimes = \"any\"\ngate = \"go\"\ntext = \"fine\"\n");
    let shared = CancellationToken::new();
    let request = || SubagentRequest {
        cancel: shared.clone(),
        ..family.request("go")
    };
    let (one, two) = (
        family.start(request()).await.expect("started"),
        family.start(request()).await.expect("started"),
    );
    family
        .models
        .scripted()
        .wait_gate_arrivals("go", 2)
        .await
        .expect("a gate");
    one.dispose().await;
    family.models.scripted().open_gate("go").expect("a gate");
    assert_eq!(two.result().await.stop, SubagentStop::Completed);
}

#[tokio::test]
async fn a_thousand_short_lived_children_leave_nothing_behind() {
    let family = Family::new("[[reply]]\ntimes = \"any\"\ntext = \"fine\"\n").tool(TestTool::echo());
    let runs = (0..1_000).map(async |n| {
        let run = family.start(family.request(&n.to_string())).await.expect("started");
        run.result().await.stop
    });
    let stops = join_all(runs).await;
    assert!(stops.iter().all(|stop| *stop == SubagentStop::Completed));
    no_tasks_left().await;
    assert_eq!((family.children(), family.tools.results().len()), (1_000, 0));
}
