//! A child that a tool of its parent has started.

use std::sync::Arc;

use serde_json::json;
use weft_agent::{AgentContext, SubagentRequest, Subagents, Turn};

use crate::support::{Family, TestTool, World, alive_tasks, end, last_end, no_tasks_left, say};

/// Starts a child and waits for it; notes when all of it is quiet.
fn delegate(note: impl Fn(&str) + Send + Sync + 'static) -> TestTool {
    let note = Arc::new(note);
    TestTool::new("delegate", move |execution| {
        let note = Arc::clone(&note);
        async move {
            let parent = execution.extension::<AgentContext>().expect("lent by the agent");
            let request = SubagentRequest {
                prompt: say("go"),
                label: None,
                schema: None,
                model: None,
                tools: None,
                run: None,
                run_name: None,
                call: None,
                activity: None,
                spending: None,
                cancel: execution.signal().clone(),
                parent: Arc::clone(&parent),
            };
            let run = parent.subagents.start(None, request).await.expect("started");
            let result = run.result().await;
            run.dispose().await;
            note("the child is quiet");
            Ok(json!(format!("{:?}", result.stop)))
        }
    })
}

/// A main agent whose one call has started a child that thinks for ever.
async fn delegating() -> (World, Family, Turn) {
    let script = r#"
        [[reply]]
        role = "main"
        [[reply.tool_call]]
        id = "c1"
        name = "delegate"
        [[reply]]
        role = "subagent"
        hang = true
        text = "thinking"
    "#;
    let family = Family::new(script);
    let subagents = Arc::new(Subagents::new());
    subagents.register(Subagents::DEFAULT_PROVIDER, Arc::new(family.provider.clone()));
    let world = World::with(family.models.clone(), |options| options.subagents = subagents);
    let note = world.watch.note();
    let world = world.tool(delegate(note));
    let turn = world.agent.prompt(say("delegate it")).expect("idle");
    while family.children() == 0 || family.models.open_streams() == 0 {
        tokio::task::yield_now().await;
    }
    (world, family, turn)
}

const ENDS: [&str; 4] = [
    "call c1 delegate",
    "the child is quiet",
    "result c1 ABORTED",
    "step/end 1",
];

#[tokio::test]
async fn a_cancel_of_the_parent_ends_the_child_before_the_call() {
    let (world, family, turn) = delegating().await;
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
    let words = world.watch.take();
    assert_eq!(words[words.len() - 5..words.len() - 1], ENDS);
    let child = family.child();
    assert_eq!(last_end(&child), "aborted parent");
    assert_eq!(child.header().parent.as_ref(), Some(world.agent.session().id()));
    assert_eq!(alive_tasks(), 1, "only the parent's actor");
}

#[tokio::test]
async fn g79_closing_the_parent_ends_its_children_first() {
    let (world, family, turn) = delegating().await;
    world.agent.close().await;
    assert_eq!(alive_tasks(), 0);
    assert_eq!(end(&turn.ended().await), "aborted closed");
    let words = world.watch.take();
    assert_eq!(words[words.len() - 5..words.len() - 1], ENDS);
    assert_eq!(last_end(&family.child()), "aborted parent");
}

#[tokio::test]
async fn dropping_the_parent_leaves_no_child() {
    let (world, family, turn) = delegating().await;
    drop((world, turn));
    no_tasks_left().await;
    assert_eq!(last_end(&family.child()), "aborted parent");
    assert_eq!(family.models.open_streams(), 0);
}
