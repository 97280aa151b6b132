//! What an event costs, counted in hashes: every look at a map is one.

use std::cell::Cell;
use std::hash::DefaultHasher;

use super::*;

thread_local! {
    static HASHES: Cell<usize> = const { Cell::new(0) };
}

fn hashes() -> usize {
    HASHES.get()
}

#[derive(Debug, Default)]
struct Counting;

impl BuildHasher for Counting {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        HASHES.set(hashes() + 1);
        DefaultHasher::new()
    }
}

/// One run that lasts as long as the log, with a member for each of the other runs, whose record lies within its.
fn long_log(runs: u64) -> impl Iterator<Item = EventBody> {
    let others = (1..=runs).flat_map(|number| {
        let run = format!("r{number}");
        [
            start(&run),
            member("long", number),
            member(&run, 1),
            member_end(&run, 1),
            member_end("long", number),
            end(&run),
        ]
    });
    [start("long")].into_iter().chain(others).chain([end("long")])
}

#[test]
fn an_event_costs_the_same_however_many_stand_before_it() {
    for runs in [100, 10_000] {
        let (mut fold, mut events, before) = (Runs::<Counting>::default(), 0, hashes());
        for body in long_log(runs) {
            let unchecked = hashes();
            fold.check(&body).expect("legal");
            let checked = hashes();
            assert!(checked - unchecked <= 2, "a look at the run and one at the member");
            fold.commit(&body);
            events += 1;
        }
        // A map that grows hashes all it holds anew, so that a single commit may cost more; their sum does not.
        let each = (hashes() - before).div_ceil(events);
        assert!(each <= 5, "{each} hashes an event in a log of {events}");
    }
}
