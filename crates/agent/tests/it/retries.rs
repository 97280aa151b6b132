//! Requests that are sent again.

use std::time::Duration;

use tokio::time::Instant;
use weft_agent::Limits;

use crate::support::{SpyModels, World, end, say};

/// A reply that fails, for this attempt of the first step: the more keys, the earlier it is used.
fn failing(turn: u32, times: u32, error: &str) -> String {
    format!("[[reply]]\nturn = {turn}\nstep = 1\ntimes = {times}\nerror = {{ {error} }}\n")
}

const FINE: &str = "[[reply]]\nstep = 1\ntext = \"fine\"\n";
const BUSY: &str = "kind = \"overloaded\", message = \"busy\"";

#[tokio::test(start_paused = true)]
async fn retryable_failures_are_logged_and_waited_for_with_growing_delays() {
    let world = World::new(&(failing(1, 4, BUSY) + FINE));
    let start = Instant::now();
    assert_eq!(end(&world.prompt("go").await), "completed");
    assert_eq!(start.elapsed(), Duration::from_millis(500 + 1_000 + 2_000 + 4_000));
    assert_eq!(
        world.watch.take()[5..],
        [
            "retry 1 500 busy",
            "retry 2 1000 busy",
            "retry 3 2000 busy",
            "retry 4 4000 busy",
            "delta text fine",
            "answer fine",
            "step/end 1",
            "turn/end completed",
        ]
    );
    assert_eq!(world.models.requests().len(), 5);
    assert_eq!(world.models.open_streams(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_fifth_failure_ends_the_turn() {
    let world = World::new(&(failing(1, 9, BUSY) + FINE));
    let expected = "error: busy (gave up after 5 attempts, the limit agent.max_attempts)";
    assert_eq!(end(&world.prompt("go").await), expected);
    assert_eq!(world.models.requests().len(), 5);
    let words = world.watch.take();
    assert_eq!(
        words[words.len() - 3..words.len() - 1],
        ["retry 4 4000 busy", "step/end 1"]
    );
}

#[tokio::test(start_paused = true)]
async fn can08_the_wait_an_endpoint_asks_for_is_seen_at_once_and_can_be_cancelled() {
    let busy = "kind = \"rate_limited\", message = \"slow down\", retry_after_ms = 60000";
    let world = World::new(&failing(1, 1, busy));
    let turn = world.agent.prompt(say("go")).expect("idle");
    let start = Instant::now();
    world.watch.until("retry 1 60000 slow down").await;
    assert_eq!(start.elapsed(), Duration::ZERO, "seen before the wait");
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
    assert_eq!(start.elapsed(), Duration::from_secs(1), "the wait ends with the cancel");
    let words = world.watch.take();
    let expected = ["retry 1 60000 slow down", "step/end 1", "turn/end aborted user"];
    assert_eq!(words[words.len() - 3..], expected);
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_limit_is_reported_instead() {
    let busy = "kind = \"rate_limited\", message = \"slow down\", retry_after_ms = 3600000";
    let world = World::new(&failing(1, 1, busy));
    let start = Instant::now();
    let expected = "error: slow down (the endpoint asks to wait 3600 s, the limit agent.max_retry_wait is 120 s)";
    assert_eq!(end(&world.prompt("go").await), expected);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_broke_off_is_kept_and_never_begun_again() {
    let cut =
        format!("[[reply]]\nturn = 1\ntext = \"half\"\nerror = {{ {BUSY} }}\n[[reply]]\nturn = 2\ntext = \"fine\"\n");
    let world = World::new(&cut);
    assert_eq!(end(&world.prompt("go").await), "error: the answer broke off: busy");
    let words = world.watch.take();
    let expected = [
        "delta text half",
        "interrupted half",
        "step/end 1",
        "turn/end error: the answer broke off: busy",
    ];
    assert_eq!(words[words.len() - 4..], expected);
    assert_eq!(end(&world.prompt("again").await), "completed");
    assert_eq!(
        world.models.last_messages(),
        ["user go", "assistant half", "user again"]
    );
}

#[tokio::test(start_paused = true)]
async fn hopeless_failures_are_not_repeated() {
    for kind in ["auth", "invalid_request", "protocol", "not_configured"] {
        let world = World::new(&failing(1, 1, &format!("kind = \"{kind}\", message = \"no\"")));
        assert_eq!(end(&world.prompt("go").await), "error: no", "{kind}");
        assert_eq!(world.models.requests().len(), 1, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_step_has_its_own_attempts() {
    let limits = Limits::default().attempts(2).expect("in range");
    let script = format!(
        "{}{}{}{}",
        failing(1, 1, BUSY),
        FINE,
        failing(2, 1, BUSY),
        "[[reply]]\ntext = \"too\"\n"
    );
    let world = World::with(SpyModels::script(&script), |options| options.limits = limits);
    assert_eq!(end(&world.prompt("one").await), "completed");
    assert_eq!(end(&world.prompt("two").await), "completed");
    assert_eq!(world.models.requests().len(), 4);
}
