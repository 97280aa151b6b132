//! Cancels and closes at any moment, on several threads.

use weft_session::closing_events;
use weft_types::TurnEnd;

use crate::support::{TestTool, World, end, hold, no_tasks_left, say, well_formed};

const BUSY: &str = r#"
    [[reply]]
    times = "any"
    reasoning = "hm"
    text = ["let ", "me ", "see"]
    [[reply.tool_call]]
    name = "echo"
    [[reply.tool_call]]
    name = "echo"
    [[reply]]
    step = 2
    times = "any"
    text = ["one ", "more"]
    [[reply.tool_call]]
    name = "hold"
"#;

/// Lets others go on, a little.
async fn pause(turns: usize) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn can01_a_cancel_at_any_moment_ends_the_turn_and_leaves_a_good_log() {
    let world = World::new(BUSY).tool(TestTool::echo().safe()).tool(hold());
    for moment in 0..200 {
        let turn = world.agent.prompt(say("go")).expect("the turn before has ended");
        let agent = world.agent.clone();
        let cancel = tokio::spawn(async move {
            pause(moment % 40).await;
            agent.cancel();
        });
        assert_eq!(end(&turn.ended().await), "aborted user");
        cancel.await.expect("no panic");
    }
    let events = world.agent.session().events().expect("readable");
    assert!(closing_events(&events, TurnEnd::Interrupted).is_empty());
    assert!(well_formed(&weft_agent::history::messages(
        events.iter().map(|event| &**event)
    )));
    world.agent.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_close_or_drop_at_any_moment_ends_everything() {
    for moment in 0..100 {
        let World {
            agent, tools, watch, ..
        } = World::new(BUSY).tool(TestTool::echo()).tool(hold());
        let prompted = agent.prompt(say("go")).expect("idle");
        pause(moment % 25).await;
        if moment % 2 == 0 {
            drop(agent);
        } else {
            agent.close().await;
        }
        assert_eq!(end(&prompted.ended().await), "aborted closed");
        assert!(watch.take().contains(&"turn/end aborted closed".to_owned()));
        no_tasks_left().await;
        assert_eq!(tools.results().len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn prompts_that_race_a_close_are_refused_or_told_their_end() {
    for _ in 0..100 {
        let world = World::new(BUSY).tool(TestTool::echo()).tool(hold());
        let agent = world.agent.clone();
        let prompting = tokio::spawn(async move { agent.prompt(say("go")).map(weft_agent::Turn::ended) });
        world.agent.close().await;
        match prompting.await.expect("no panic") {
            Ok(ended) => assert_eq!(end(&ended.await), "aborted closed"),
            Err(refused) => assert_eq!(refused, weft_agent::PromptRefused::Closed),
        }
    }
}
