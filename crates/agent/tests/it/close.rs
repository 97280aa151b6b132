//! The end of agents.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;
use weft_agent::{Companion, PromptRefused};
use weft_types::EventBody;

use crate::support::{SpyModels, World, alive_tasks, end, hold, no_tasks_left, say};

const HOLD: &str = "[[reply]]\n[[reply.tool_call]]\nid = \"c1\"\nname = \"hold\"\n";

#[tokio::test]
async fn closing_stops_the_turn_waits_for_quiet_and_refuses_what_comes_after() {
    let world = World::new(HOLD).tool(hold());
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("call c1 hold").await;
    world.agent.close().await;
    assert_eq!(alive_tasks(), 0, "the actor and the tool's body are gone");
    assert_eq!(end(&turn.ended().await), "aborted closed");
    let words = world.watch.take();
    let expected = [
        "result c1 stopped when told to",
        "step/end 1",
        "turn/end aborted closed",
    ];
    assert_eq!(words[words.len() - 3..], expected);
    assert_eq!(
        world.agent.prompt(say("more")).expect_err("closed"),
        PromptRefused::Closed
    );
    world.agent.close().await;
    world.agent.cancel();
    assert_eq!(world.watch.take().len(), 0);
}

/// A companion that says when it is ended.
struct Loud(Box<dyn Fn(&str) + Send + Sync>);

impl Companion for Loud {
    fn end(&self) -> BoxFuture<'_, ()> {
        async move {
            tokio::task::yield_now().await;
            (self.0)("companion ended");
        }
        .boxed()
    }
}

#[tokio::test]
async fn companions_end_after_the_last_turn_and_before_the_close_is_over() {
    let heard = Arc::new(OnceLock::<Box<dyn Fn(&str) + Send + Sync>>::new());
    let told = Arc::clone(&heard);
    let companion = Loud(Box::new(move |word| told.get().expect("set below")(word)));
    let world = World::with(SpyModels::script(HOLD), |options| {
        options.companions.push(Arc::new(companion));
    });
    let world = world.tool(hold());
    assert!(heard.set(Box::new(world.watch.note())).is_ok());
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("call c1 hold").await;
    world.agent.close().await;
    assert_eq!(end(&turn.ended().await), "aborted closed");
    let words = world.watch.take();
    assert_eq!(words[words.len() - 2..], ["turn/end aborted closed", "companion ended"]);
}

#[tokio::test]
async fn companions_end_with_an_agent_that_is_dropped() {
    let ended = Arc::new(tokio::sync::Notify::new());
    let told = Arc::clone(&ended);
    let companion = Loud(Box::new(move |_| told.notify_one()));
    let world = World::with(SpyModels::script(HOLD), |options| {
        options.companions.push(Arc::new(companion));
    });
    drop(world);
    ended.notified().await;
}

#[tokio::test]
async fn notices_are_said_once_when_the_first_turn_begins() {
    let script = "[[reply]]\ntext = \"done\"\n";
    let world = World::with(SpyModels::script(script), |options| {
        options.notices = vec!["one".into(), "two".into()];
    });
    assert!(world.agent.session().is_empty());
    world.prompt("a").await;
    world.prompt("b").await;
    let events = world.agent.session().events().expect("a log in memory");
    let notices: Vec<(u64, String)> = events
        .iter()
        .filter_map(|event| match &event.body {
            EventBody::SessionNotice { message } => Some((event.seq, message.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(notices, [(3, "one".to_owned()), (4, "two".to_owned())]);
}

#[tokio::test]
async fn closing_an_idle_agent_ends_it_at_once_from_any_number_of_handles() {
    let world = World::new(HOLD);
    let (one, two) = (world.agent.clone(), world.agent.clone());
    tokio::join!(one.close(), two.close(), world.agent.close());
    assert_eq!(alive_tasks(), 0);
    assert!(world.agent.session().is_empty());
}

#[tokio::test]
async fn a_prompt_that_was_accepted_before_the_close_is_told_its_end() {
    let world = World::new(HOLD);
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.agent.close().await;
    assert_eq!(end(&turn.ended().await), "aborted closed");
    assert_eq!(
        world.watch.take(),
        ["turn/start 1", "user go", "title go", "turn/end aborted closed"]
    );
}

#[tokio::test]
async fn the_users_cancel_stays_the_cause_when_the_agent_is_closed_after_it() {
    let world = World::new(HOLD).tool(hold());
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("call c1 hold").await;
    world.agent.cancel();
    world.agent.close().await;
    assert_eq!(end(&turn.ended().await), "aborted user");
}

#[tokio::test]
async fn an_agent_dropped_mid_turn_leaves_no_task_and_a_closed_log() {
    let World {
        agent, watch, tools, ..
    } = World::new(HOLD).tool(hold());
    let session = Arc::clone(agent.session());
    let turn = agent.prompt(say("go")).expect("idle");
    watch.until("call c1 hold").await;
    drop((agent, turn));
    no_tasks_left().await;
    assert!(watch.take().contains(&"turn/end aborted closed".to_owned()));
    assert!(weft_session::closing_events(&session.last_turn(), weft_types::TurnEnd::Interrupted).is_empty());
    assert_eq!(tools.results().len(), 0);
}

#[tokio::test]
async fn a_dropped_turn_goes_on_by_itself() {
    let world = World::new("[[reply]]\ntext = \"fine\"\n");
    drop(world.agent.prompt(say("go")).expect("idle"));
    world.watch.until("turn/end completed").await;
}

#[tokio::test(start_paused = true)]
async fn closing_is_bounded_by_the_grace_of_a_stubborn_tool() {
    let world = World::new(HOLD).tool(crate::support::TestTool::new("hold", |_| std::future::pending()));
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("call c1 hold").await;
    let start = Instant::now();
    world.agent.close().await;
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    turn.ended().await;
    assert!(world.watch.take().contains(&"result c1 DID_NOT_STOP".to_owned()));
    no_tasks_left().await;
}

#[test]
fn an_actor_that_dies_with_its_runtime_hangs_nobody() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime")
    };
    let first = runtime();
    let (world, turn) = first.block_on(async {
        let world = World::new("[[reply]]\nhang = true\n");
        let turn = world.agent.prompt(say("go")).expect("idle");
        world.watch.until("step/start 1").await;
        (world, turn)
    });
    drop(first);
    runtime().block_on(async {
        let expected = "error: the agent's task was ended from outside during the turn";
        assert_eq!(end(&turn.ended().await), expected);
        assert_eq!(
            world.agent.prompt(say("more")).expect_err("dead"),
            PromptRefused::Closed
        );
        world.agent.close().await;
    });
}
