//! Subagents that are kept to some of their tools.

use std::sync::{Arc, Mutex};

use serde_json::json;
use weft_agent::{AgentContext, SubagentErrorCode, SubagentRequest, SubagentStop, Subagents};

use crate::support::{Family, TestTool, hold, refused};

/// Starts an agent below, which is to have these tools, and tells how that went.
fn delegate(tools: Option<Vec<String>>, told: &Arc<Mutex<String>>) -> TestTool {
    let told = Arc::clone(told);
    TestTool::new("delegate", move |execution| {
        let (tools, told) = (tools.clone(), Arc::clone(&told));
        async move {
            let parent = execution.extension::<AgentContext>().expect("lent by the agent");
            let request = SubagentRequest {
                parent: Arc::clone(&parent),
                prompt: crate::support::say("go"),
                label: Some("inner".into()),
                schema: None,
                model: None,
                tools,
                run: None,
                run_name: None,
                call: None,
                activity: None,
                spending: None,
                cancel: execution.signal().clone(),
            };
            let outcome = match parent.subagents.start(None, request).await {
                Ok(run) => format!("{:?}", run.result().await.stop),
                Err(error) => error.to_string(),
            };
            *told.lock().expect("not poisoned") = outcome;
            Ok(json!(null))
        }
    })
}

fn names(tools: &[&str]) -> Option<Vec<String>> {
    Some(tools.iter().map(|name| (*name).to_owned()).collect())
}

/// The names of the tools that each request to the model had.
fn offered(family: &Family) -> Vec<Vec<String>> {
    let of = |tools: &[weft_types::ToolSpec]| tools.iter().map(|tool| tool.name.clone()).collect();
    family
        .models
        .requests()
        .iter()
        .map(|request| of(&request.tools))
        .collect()
}

#[tokio::test]
async fn an_agent_has_only_the_tools_that_it_is_kept_to() {
    let family = Family::new("[[reply]]\ntimes = 3\ntext = \"fine\"\n")
        .tool(TestTool::echo())
        .tool(hold());
    for tools in [names(&["echo"]), names(&[]), None] {
        let request = SubagentRequest {
            tools,
            ..family.request("go")
        };
        let run = family.start(request).await.expect("started");
        assert_eq!(run.result().await.stop, SubagentStop::Completed);
    }
    assert_eq!(offered(&family), [vec!["echo"], vec![], vec!["echo", "hold"]]);
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_refused_by_its_name() {
    let family = Family::new("[[reply]]\ntext = \"fine\"\n").tool(TestTool::echo());
    let request = SubagentRequest {
        tools: names(&["echo", "reed"]),
        ..family.request("go")
    };
    let (code, text) = refused(family.start(request).await);
    assert_eq!(code, SubagentErrorCode::UnknownTool);
    assert!(text.contains("no outer layer has reed; there are echo"), "{text}");
    assert_eq!(family.children(), 0);
}

async fn below(tools: Option<Vec<String>>) -> (Family, String) {
    let script = r#"
        [[reply]]
        label = "outer"
        step = 1
        [[reply.tool_call]]
        name = "delegate"
        [[reply]]
        times = "any"
        text = "fine"
    "#;
    let told = Arc::default();
    let family = Family::new(script).tool(TestTool::echo()).tool(delegate(tools, &told));
    let subagents = Arc::new(Subagents::new());
    subagents.register(Subagents::DEFAULT_PROVIDER, Arc::new(family.provider.clone()));
    let mut parent = family.parent.clone();
    parent.subagents = subagents;
    let request = SubagentRequest {
        parent: Arc::new(parent),
        label: Some("outer".into()),
        tools: names(&["delegate"]),
        ..family.request("go")
    };
    let run = family.start(request).await.expect("started");
    assert_eq!(run.result().await.stop, SubagentStop::Completed);
    let told = told.lock().expect("not poisoned").clone();
    (family, told)
}

#[tokio::test]
async fn whoever_stands_below_it_has_no_others() {
    let (family, told) = below(None).await;
    assert_eq!(told, "Completed");
    assert_eq!(offered(&family), vec![vec!["delegate"]; 3]);
    let (family, told) = below(names(&["echo"])).await;
    assert!(told.contains("may not use the tool \"echo\" itself"), "{told}");
    assert_eq!(offered(&family).len(), 2, "nobody was started");
}
