//! A workflow of 40 members is killed again and again: its worker, its agent, or both, at any point. It is resumed until it
//! is done. No member that had answered is ever paid for twice, and what comes out is what comes out without a kill.
//!
//! `WEFT_RESUME_KILLS` says how often something is killed, `WEFT_RESUME_SEED` plays another game; the seed is part of every
//! failure.

#![cfg(target_os = "linux")]

#[path = "resume/endpoint.rs"]
mod endpoint;
#[path = "resume/game.rs"]
mod game;
#[path = "support/home.rs"]
mod home;
#[path = "chaos/random.rs"]
mod random;

use game::{Game, Seen};
use random::SplitMix;

/// How often something is killed, unless the environment says otherwise.
const KILLS: u64 = 40;

/// How many homes are played in at a time.
const LANES: u64 = 2;

const SEED: u64 = 0x5eed_0005;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wfr01_wfr03_a_run_is_killed_anywhere_and_resumed_until_it_is_done() {
    let (kills, seed) = (number("WEFT_RESUME_KILLS", KILLS), number("WEFT_RESUME_SEED", SEED));
    let mut seeds = SplitMix::new(seed);
    let lanes: Vec<_> = (0..LANES)
        .map(|_| tokio::spawn(play(SplitMix::new(seeds.next()), kills.div_ceil(LANES))))
        .collect();
    let mut seen = Seen::default();
    for (at, lane) in lanes.into_iter().enumerate() {
        match lane.await.expect("no lane panics") {
            Ok(found) => seen.add(&found),
            Err(error) => panic!("WEFT_RESUME_SEED={seed} WEFT_RESUME_KILLS={kills}, lane {at}, {error}"),
        }
    }
    // A game in which nothing was cut off, or everything was, would prove nothing.
    assert!(
        seen.kills >= kills && seen.in_flight > 0 && seen.answered_again > 0,
        "{seen:?}"
    );
    println!("seed {seed}: {seen:?}");
}

async fn play(random: SplitMix, kills: u64) -> Result<Seen, String> {
    let mut game = Game::start(random).await.map_err(|error| format!("start: {error}"))?;
    while game.seen().kills < kills {
        let round = game.seen().rounds;
        game.round().await.map_err(|error| format!("round {round}: {error}"))?;
    }
    game.finish().await.map_err(|error| format!("finish: {error}"))
}
