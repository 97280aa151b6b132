//! Turns that are stopped.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;
use weft_model::ModelEvent;
use weft_tools::ProgressView;
use weft_types::ContentBlock;

use crate::support::{SpyModels, TestTool, World, end, events, hold, say, take_signal};

#[tokio::test]
async fn can01_cancel_while_the_model_stalls_keeps_the_partial_text_and_the_session() {
    let script = "[[reply]]\nturn = 1\nreasoning = \"hm\"\ntext = [\"par\", \"tial\"]\nhang = true\n\
                  [[reply]]\nturn = 2\ntext = \"fine\"\n";
    let world = World::new(script);
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("delta text tial").await;
    assert_eq!(world.models.open_streams(), 1);
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
    assert_eq!(world.models.open_streams(), 0, "the request is dropped");
    let words = world.watch.take();
    let expected = ["interrupted (hm) partial", "step/end 1", "turn/end aborted user"];
    assert_eq!(words[words.len() - 3..], expected);
    assert_eq!(end(&world.prompt("again").await), "completed");
    assert_eq!(
        world.models.last_messages(),
        ["user go", "assistant (hm) partial", "user again"]
    );
}

#[tokio::test]
async fn cancel_before_anything_was_said_leaves_no_empty_answer() {
    let world = World::new("[[reply]]\nturn = 1\nhang = true\n[[reply]]\nturn = 2\ntext = \"fine\"\n");
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("header initial test/model").await;
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
    let words = world.watch.take();
    let expected = ["header initial test/model", "step/end 1", "turn/end aborted user"];
    assert_eq!(words[words.len() - 3..], expected);
    assert_eq!(end(&world.prompt("again").await), "completed");
    assert_eq!(world.models.last_messages(), ["user go", "user again"]);
}

#[tokio::test]
async fn calls_of_a_cancelled_answer_never_happened() {
    let call = ModelEvent::ToolCall {
        id: "c1".into(),
        name: "echo".to_owned(),
        arguments: "{}".to_owned(),
    };
    let models = SpyModels::from_fn(move |request| match request.origin.turn {
        1 => events(vec![call.clone(), ModelEvent::TextDelta("so".to_owned())]),
        _ => events(vec![
            ModelEvent::TextDelta("fine".to_owned()),
            ModelEvent::Finish(weft_types::StopReason::EndTurn),
        ]),
    });
    let world = World::with(models, |_| {}).tool(TestTool::echo());
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("delta text so").await;
    world.agent.cancel();
    turn.ended().await;
    let words = world.watch.take();
    assert!(words.contains(&"interrupted so".to_owned()) && !words.iter().any(|word| word.starts_with("call")));
    world.prompt("again").await;
    assert_eq!(world.models.last_messages(), ["user go", "assistant so", "user again"]);
}

#[tokio::test]
async fn a_cancel_right_after_the_prompt_reaches_the_turn() {
    let world = World::new("[[reply]]\ntext = \"fine\"\n");
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
    assert_eq!(
        world.watch.take(),
        ["turn/start 1", "user go", "title go", "turn/end aborted user"]
    );
    assert!(world.models.requests().is_empty());
    assert_eq!(end(&world.prompt("again").await), "completed");
}

#[tokio::test]
async fn g77_cancels_beside_a_turn_do_nothing_and_never_reach_the_next_one() {
    let world = World::new("[[reply]]\ntimes = \"any\"\ntext = \"fine\"\n");
    world.agent.cancel();
    world.agent.cancel();
    assert_eq!(end(&world.prompt("one").await), "completed");
    world.agent.cancel();
    assert_eq!(end(&world.prompt("two").await), "completed");
}

#[tokio::test]
async fn g77_two_pipelined_cancels_end_the_turn_once() {
    let world = World::new("[[reply]]\nturn = 1\nhang = true\n[[reply]]\nturn = 2\ntext = \"fine\"\n");
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("step/start 1").await;
    world.agent.cancel();
    world.agent.cancel();
    turn.ended().await;
    let ends = world
        .watch
        .take()
        .into_iter()
        .filter(|word| word.starts_with("turn/end"))
        .count();
    assert_eq!(ends, 1);
    assert_eq!(end(&world.prompt("again").await), "completed");
}

#[tokio::test]
async fn can06_g78_a_second_prompt_is_refused_at_once_and_the_first_is_unaffected() {
    let world = World::new("[[reply]]\ntext = \"fine\"\ngate = \"go\"\n");
    let turn = world.agent.prompt(say("one")).expect("idle");
    let refused = world
        .agent
        .prompt(say("too early"))
        .expect_err("before the actor has begun");
    let text = "failed to prompt the agent: a turn is in flight; wait for its end or cancel it";
    assert_eq!(refused.to_string(), text);
    world.models.scripted().wait_gate("go").await.expect("a gate");
    world
        .agent
        .clone()
        .prompt(say("still too early"))
        .expect_err("a turn is in flight");
    world.models.scripted().open_gate("go").expect("a gate");
    assert_eq!(end(&turn.ended().await), "completed");
    let users: Vec<_> = world
        .watch
        .take()
        .into_iter()
        .filter(|word| word.starts_with("user"))
        .collect();
    assert_eq!(users, ["user one"]);
}

/// Three calls, then an answer in the next turn.
fn three_calls(first: &str, second: &str, third: &str) -> String {
    let call = |id: &str, name: &str| format!("[[reply.tool_call]]\nid = \"{id}\"\nname = \"{name}\"\n");
    let calls = [call("a", first), call("b", second), call("c", third)].concat();
    format!("[[reply]]\nturn = 1\n{calls}[[reply]]\nturn = 2\ntext = \"fine\"\n")
}

#[tokio::test]
async fn cancel_during_tools_drains_what_runs_and_records_what_never_started() {
    let world = World::new(&three_calls("echo", "hold", "echo"))
        .tool(TestTool::echo())
        .tool(hold());
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("call b hold").await;
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
    let words = world.watch.take();
    let from = words.iter().position(|word| word == "call a echo").expect("it ran");
    assert_eq!(
        words[from..],
        [
            "call a echo",
            "result a ok",
            "call b hold",
            "result b stopped when told to",
            "call c echo",
            "result c ABORTED_BEFORE_DISPATCH",
            "step/end 1",
            "turn/end aborted user",
        ]
    );
}

#[tokio::test]
async fn log03_after_a_cancel_among_parallel_calls_the_next_request_is_well_formed() {
    for (second, result) in [("hold", "stopped when told to"), ("take_signal", "ABORTED")] {
        let world = World::new(&three_calls("echo", second, "echo"))
            .tool(TestTool::echo().safe())
            .tool(hold().safe())
            .tool(take_signal().safe());
        let turn = world.agent.prompt(say("go")).expect("idle");
        world.watch.until("result a ok").await;
        world.agent.cancel();
        assert_eq!(end(&turn.ended().await), "aborted user");
        assert!(world.watch.take().contains(&format!("result b {result}")));
        assert_eq!(end(&world.prompt("again").await), "completed");
        let messages = world.models.last_messages();
        assert_eq!(
            messages[..4],
            ["user go", "assistant [a] [b] [c]", "tool a", "tool b failed"]
        );
        assert_eq!((messages.len(), messages[5].as_str()), (6, "user again"));
    }
}

#[tokio::test(start_paused = true)]
async fn g31_the_turn_ends_only_when_a_late_body_is_quiet_and_its_reports_precede_its_result() {
    let started = Arc::new(Notify::new());
    let running = Arc::clone(&started);
    let late = TestTool::new("late", move |execution| {
        running.notify_one();
        async move {
            execution.signal().cancelled().await;
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let content = vec![ContentBlock::text("still at it")];
                assert_eq!(
                    execution.report_progress(ProgressView { title: None, content }),
                    Ok(true)
                );
            }
            Ok(json!(null))
        }
    });
    let world = World::new(&three_calls("late", "late", "late")).tool(late);
    let note = world.watch.note();
    let _progress = world
        .tools
        .progress()
        .subscribe(Some(world.agent.id()), move |_| note("progress"));
    let turn = world.agent.prompt(say("go")).expect("idle");
    started.notified().await;
    world.watch.take();
    let cancelled = Instant::now();
    world.agent.cancel();
    let ended = turn.ended().await;
    assert_eq!(
        (end(&ended).as_str(), cancelled.elapsed().as_millis()),
        ("aborted user", 200)
    );
    assert_eq!(
        world.watch.take(),
        [
            "progress",
            "progress",
            "progress",
            "progress",
            "result a ABORTED",
            "call b late",
            "result b ABORTED_BEFORE_DISPATCH",
            "call c late",
            "result c ABORTED_BEFORE_DISPATCH",
            "step/end 1",
            "turn/end aborted user",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn h18_a_body_that_ignores_its_signal_ends_with_the_grace() {
    let stubborn = TestTool::new("stubborn", |_| std::future::pending());
    let world = World::new(&three_calls("stubborn", "stubborn", "stubborn")).tool(stubborn);
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("call a stubborn").await;
    let cancelled = Instant::now();
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
    assert_eq!(cancelled.elapsed(), Duration::from_secs(10));
    assert!(world.watch.take().contains(&"result a DID_NOT_STOP".to_owned()));
    assert_eq!(end(&world.prompt("again").await), "completed");
}

#[tokio::test]
async fn e5_everything_of_a_turn_is_published_before_its_end_resolves() {
    let world = World::new(&three_calls("hold", "hold", "hold")).tool(hold());
    let note = world.watch.note();
    let turn = world.agent.prompt(say("go")).expect("idle");
    let ended = tokio::spawn(async move {
        turn.ended().await;
        note("ended");
    });
    world.watch.until("call a hold").await;
    world.agent.cancel();
    ended.await.expect("no panic");
    let words = world.watch.take();
    assert_eq!(words[words.len() - 2..], ["turn/end aborted user", "ended"]);
    let results = words.iter().filter(|word| word.starts_with("result")).count();
    assert_eq!(results, 3);
}

#[tokio::test]
async fn a_tool_cannot_stop_the_turn_with_its_signal() {
    let script = "[[reply]]\nstep = 1\n[[reply.tool_call]]\nname = \"rogue\"\n[[reply]]\nstep = 2\ntext = \"fine\"\n";
    let world = World::new(script).tool(TestTool::new("rogue", |execution| async move {
        execution.signal().cancel();
        Ok(json!(null))
    }));
    assert_eq!(end(&world.prompt("go").await), "completed");
}
