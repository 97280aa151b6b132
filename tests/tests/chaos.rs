//! `weft acp` is killed again and again, at any point of a turn with a workflow and of a load, and nothing that a client
//! was shown as done is ever lost.
//!
//! `WEFT_CHAOS_SEED` plays another game; the seed is part of every failure.

#![cfg(target_os = "linux")]

#[path = "chaos/family.rs"]
mod family;
#[path = "support/home.rs"]
mod home;
#[path = "chaos/lane.rs"]
mod lane;
#[path = "chaos/random.rs"]
mod random;

use lane::{Lane, Seen};
use random::SplitMix;

/// How often an agent is killed, all lanes together.
const KILLS: usize = 200;

/// How many agents with homes of their own there are at a time.
const LANES: usize = 2;

const SEED: u64 = 0x5eed_0003;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g54_whatever_was_acknowledged_survives_kill_9_at_any_point() {
    let seed = match std::env::var("WEFT_CHAOS_SEED") {
        Ok(text) => text.parse().expect("WEFT_CHAOS_SEED is a number"),
        Err(_) => SEED,
    };
    let mut seeds = SplitMix::new(seed);
    let lanes: Vec<_> = (0..LANES)
        .map(|_| tokio::spawn(play(SplitMix::new(seeds.next()))))
        .collect();
    let mut seen = Seen::default();
    for (at, lane) in lanes.into_iter().enumerate() {
        match lane.await.expect("no lane panics") {
            Ok(Seen { cut, parents }) => {
                seen.cut += cut;
                seen.parents += parents;
            }
            Err(error) => panic!("WEFT_CHAOS_SEED={seed}, lane {at}, {error}"),
        }
    }
    // About half of the kills, as a rule: with next to none, the game would prove nothing.
    assert!(seen.cut > KILLS / 10 && seen.parents > KILLS / 10, "{seen:?}");
}

async fn play(random: SplitMix) -> Result<Seen, String> {
    let mut lane = Lane::start(random).await.map_err(|error| format!("start: {error}"))?;
    for kill in 0..KILLS / LANES {
        let outcome = match lane.kill().await {
            Ok(()) => lane.check().await,
            Err(error) => Err(error),
        };
        outcome.map_err(|error| format!("kill {kill} ({}): {error}", lane.last_kill()))?;
    }
    lane.finish().await.map_err(|error| format!("finish: {error}"))
}
