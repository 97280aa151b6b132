//! Many runs at once.

use std::sync::Arc;

use proptest::prelude::*;
use weft_types::MemberOutcome;
use weft_workflow::TestRun;

use crate::support::{Bench, Caller, done, session, started};

#[derive(Clone, Debug)]
enum Deed {
    Phase(u8),
    Log(u8),
    Start,
    End(MemberOutcome),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let outcome = prop_oneof![
        Just(MemberOutcome::Completed),
        Just(MemberOutcome::Failed),
        Just(MemberOutcome::Cancelled)
    ];
    let deed = prop_oneof![
        any::<u8>().prop_map(Deed::Phase),
        any::<u8>().prop_map(Deed::Log),
        Just(Deed::Start),
        outcome.prop_map(Deed::End),
    ];
    prop::collection::vec(deed, 0..12)
}

/// Does the next thing of a run; texts carry the run's own mark.
struct Player {
    run: TestRun,
    deeds: std::vec::IntoIter<Deed>,
    next_seq: u64,
    open: Vec<u64>,
}

impl Player {
    /// False once it has ended.
    fn step(&mut self) -> bool {
        let mark = self.run.info().meta.name.clone();
        match self.deeds.next() {
            Some(Deed::Phase(n)) => self.run.phase(&format!("{mark} phase {n}")),
            Some(Deed::Log(n)) => self.run.log(&format!("{mark} line {n}")),
            Some(Deed::Start) => {
                self.run.member_start(self.next_seq, &format!("{mark} member"));
                self.open.push(self.next_seq);
                self.next_seq += 1;
            }
            Some(Deed::End(outcome)) => {
                if let Some(seq) = self.open.pop() {
                    self.run.member_end(seq, &format!("{mark} member"), outcome);
                }
            }
            None => {
                for seq in self.open.drain(..) {
                    self.run
                        .member_end(seq, &format!("{mark} member"), MemberOutcome::Cancelled);
                }
                self.run.complete("null", self.next_seq);
                return false;
            }
        }
        true
    }
}

/// The reports and the records of some runs, played in an order; the runs' callers have equal call ids.
async fn play(runs: &[Vec<Deed>], order: &[prop::sample::Index]) -> Vec<(Vec<String>, Vec<String>)> {
    let bench = Bench::new(started);
    let mut callers = Vec::new();
    let mut players = Vec::new();
    let mut results = Vec::new();
    for (index, deeds) in runs.iter().enumerate() {
        let caller = Caller::new(&bench.registry, session(&format!("s{index}"), 0));
        let meta = serde_json::json!({ "name": format!("w{index}"), "description": "d" });
        results.push(bench.spawn(caller.call_with(&serde_json::json!({ "script": "x", "meta": meta }))));
        players.push(Player {
            run: bench.engine.run(index).await,
            deeds: deeds.clone().into_iter(),
            next_seq: 1,
            open: Vec::new(),
        });
        callers.push(caller);
    }
    let mut order = order.iter();
    let mut open: Vec<_> = (0..players.len()).collect();
    while !open.is_empty() {
        let pick = order.next().map_or(0, |index| index.index(open.len()));
        if !players[open[pick]].step() {
            open.remove(pick);
        }
    }
    for result in results {
        assert!(!result.await.expect("no panic").is_error());
    }
    assert_eq!(bench.listeners(), 0);
    callers
        .iter()
        .map(|caller| (caller.texts(), caller.records()))
        .collect()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However their events interleave, each run's card and record are those of the run alone.
    #[test]
    fn d14_g21_concurrent_runs_of_several_sessions_never_mix(
        runs in prop::collection::vec(deeds(), 1..4),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let together = runtime().block_on(play(&runs, &order));
        for (index, (texts, records)) in together.iter().enumerate() {
            // Alone it has another name and another id, so that they are put in its place.
            let alone = runtime().block_on(play(&runs[index..=index], &[]));
            let renamed = |text: &String| text.replace("w0", &format!("w{index}"));
            let (id, name) = (format!("run-{}", index + 1), format!("w{index}"));
            let expected: Vec<_> = alone[0].0.iter().map(renamed).collect();
            prop_assert_eq!(texts, &expected);
            let expected: Vec<_> = alone[0].1.iter().map(|record| record.replace("run-1", &id).replace("w0", &name)).collect();
            prop_assert_eq!(records, &expected);
        }
    }
}

#[tokio::test]
async fn d14_reports_carry_their_own_agent_and_call() {
    let bench = Bench::new(started);
    let other = Caller::new(&bench.registry, session("other", 0));
    let first = bench.spawn(bench.call());
    let first_run = bench.engine.run(0).await;
    let second = bench.spawn(other.call());
    let second_run = bench.engine.run(1).await;
    second_run.log("second");
    first_run.log("first");
    first_run.complete("null", 0);
    second_run.log("second again");
    second_run.complete("null", 0);
    first.await.expect("no panic");
    second.await.expect("no panic");
    let line = |text: &str| format!("- Latest: {text}\n{}", done(0, 0, 0));
    assert_eq!(bench.texts(), [done(0, 0, 0), line("first")]);
    assert_eq!(other.texts(), [done(0, 0, 0), line("second"), line("second again")]);
    assert!(
        bench
            .reports()
            .iter()
            .all(|report| report.agent == Some(bench.context.agent))
    );
    assert_eq!(Arc::strong_count(&other.context), 1);
}
