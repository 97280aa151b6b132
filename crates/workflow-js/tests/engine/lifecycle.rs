//! Members: their slots, their starts and ends, and what their provider may do wrong.

use serde_json::{Value, json};
use weft_types::RunStop;

use super::harness::{Harness, config, error_of, value_of};

fn started(harness: &Harness) -> Vec<String> {
    harness.seen().into_iter().filter(|line| line.contains('"')).collect()
}

#[tokio::test]
async fn members_get_slots_first_in_first_out_and_never_more_than_allowed() {
    let mut config = config();
    config.max_concurrent_agents = 2;
    config.max_calls_in_flight = 3;
    let harness = Harness::with(config);
    let prompts = "Array.from({ length: 30 }, (_, i) => 'gate:g m' + i)";
    let run = harness.start(&format!(
        "return (await parallel({prompts}.map(p => () => agent(p)))).length"
    ));
    harness.members.wait(|counts| counts.at_work >= 2).await;
    harness.members.open("g");
    let result = harness.finish(&*run).await;
    assert_eq!((value_of(&result), result.agents_started), (json!(30), 30));
    let expected: Vec<_> = (0..30).map(|i| format!("agent {} \"gate:g m{i}\"", i + 1)).collect();
    assert_eq!(started(&harness), expected);
    assert_eq!(harness.members.counts().most_at_work, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn members_whose_start_takes_no_time_start_in_the_order_of_their_calls() {
    let mut config = config();
    config.max_concurrent_agents = 64;
    config.max_calls_in_flight = 64;
    let harness = Harness::with(config);
    let run = harness.start("return (await parallel(Array.from({ length: 64 }, () => () => agent('gate:g')))).length");
    harness.members.wait(|counts| counts.at_work >= 64).await;
    harness.members.open("g");
    assert_eq!(value_of(&*harness.finish(&*run).await), json!(64));
    let expected: Vec<_> = (1..=64).map(|seq| format!("agent {seq} \"gate:g\"")).collect();
    assert_eq!(started(&harness), expected);
}

#[tokio::test]
async fn sixteen_members_work_at_once_by_default() {
    let harness = Harness::new();
    let run = harness.start("return (await parallel(Array.from({ length: 40 }, () => () => agent('gate:g')))).length");
    harness.members.wait(|counts| counts.at_work >= 16).await;
    harness.members.open("g");
    assert_eq!(value_of(&*harness.finish(&*run).await), json!(40));
    assert_eq!(harness.members.counts().most_at_work, 16);
}

#[tokio::test]
async fn a_slot_is_free_at_the_result_not_at_the_disposal() {
    let mut config = config();
    config.max_concurrent_agents = 1;
    let harness = Harness::with(config);
    let result = harness.start("return [await agent('a dispose-gate:d'), await agent('b')]");
    let ended = result.result().await;
    assert_eq!(value_of(&ended), json!(["a dispose-gate:d", "b"]));
    harness.members.open("d");
    harness.finish(&*result).await;
    let counts = harness.members.counts();
    assert_eq!((counts.disposals_begun, counts.disposals_done), (2, 2));
}

#[tokio::test]
async fn g62_a_refused_start_leaves_a_hole_in_the_numbers() {
    let harness = Harness::new();
    let script = "await agent('a'); try { await agent('start-fails') } catch (e) {} await agent('c'); return 1";
    let result = harness.run(script).await;
    assert_eq!(result.agents_started, 3);
    assert_eq!(started(&harness), ["agent 1 \"a\"", "agent 3 \"c\""]);
}

#[tokio::test]
async fn g63_members_start_in_the_order_of_their_publication() {
    let harness = Harness::new();
    let run = harness
        .start("return await parallel([() => agent('start-gate:late gate:end'), () => agent('early gate:end')])");
    harness.wait_for("agent 2 \"early gate:end\"").await;
    harness.members.open("late");
    harness.wait_for("agent 1 \"start-gate:late gate:end\"").await;
    harness.members.open("end");
    let result = harness.finish(&*run).await;
    assert_eq!(value_of(&result), json!(["start-gate:late gate:end", "early gate:end"]));
}

#[tokio::test]
async fn failures_of_members_are_null_and_noted() {
    let harness = Harness::new();
    let result = harness
        .run("return await parallel(Array.from({ length: 8 }, (_, i) => () => agent('fails ' + i)))")
        .await;
    assert_eq!(value_of(&result), json!(vec![Value::Null; 8]));
    assert_eq!(result.notes.len(), 6);
    assert_eq!(result.notes[0], "agent \"fails 0\" failed: it went wrong");
    assert_eq!(result.notes[5], "3 more agents failed");
    let failed = harness.seen().iter().filter(|line| line.ends_with(" Failed")).count();
    assert_eq!(failed, 8);
}

#[tokio::test]
async fn a_member_without_an_answer_to_its_schema_is_named() {
    let harness = Harness::new();
    let result = harness
        .run("return await agent('unstructured', { schema: { type: 'object' } })")
        .await;
    assert_eq!(value_of(&result), Value::Null);
    assert_eq!(
        result.notes,
        ["agent \"unstructured\" failed: it gave no structured answer to its schema"]
    );
}

#[tokio::test]
async fn a_provider_may_panic_wherever_it_likes() {
    for (prompt, part) in [
        (
            "start-panics-at-once",
            "the provider panicked: a start panics on purpose",
        ),
        ("start-panics", "the provider panicked: a start panics on purpose"),
        ("panics", "the provider panicked: a member panics on purpose"),
    ] {
        let harness = Harness::new();
        let result = harness.run(&format!("await agent('{prompt}')")).await;
        assert!(error_of(&result).contains(part), "{:?}", result.error);
    }
    let harness = Harness::new();
    let result = harness.run("return await agent('x dispose-panics')").await;
    assert_eq!(result.stop, RunStop::Completed);
    assert_eq!(harness.members.counts().disposals_begun, 1);
}

#[tokio::test]
async fn every_member_is_disposed_of_exactly_once() {
    let harness = Harness::new();
    let run = harness.start(
        "agent('hangs'); agent('deaf'); await agent('fails'); await agent('ok'); try { await agent('breaks') } catch {} return 1",
    );
    harness.finish(&*run).await;
    let counts = harness.members.counts();
    assert_eq!(
        (counts.started, counts.disposals_begun, counts.disposals_done),
        (5, 5, 5)
    );
}

#[tokio::test]
async fn an_answer_that_does_not_fit_into_a_message_is_an_error_of_that_call() {
    let mut config = config();
    config.max_frame_bytes = 10 << 20;
    config.max_prompt_bytes = 5 << 20;
    config.max_args_bytes = 1 << 20;
    let harness = Harness::with(config);
    // Each character takes six bytes in a message.
    let script = "try { await agent('\\u0001'.repeat(2 << 20)) } catch (e) { return [e.code, await agent('next')] }";
    let value = value_of(&*harness.run(script).await);
    assert_eq!(value, json!(["INVALID_ARGUMENT", "next"]));
}
