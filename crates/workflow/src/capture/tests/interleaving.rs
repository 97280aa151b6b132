//! Several runs at once, against what each of them looks like alone.

use proptest::prelude::*;

use super::*;

/// Something a run may do, in any order and however wrong.
fn kind() -> impl Strategy<Value = ObservationKind> {
    let outcome = prop_oneof![
        Just(MemberOutcome::Completed),
        Just(MemberOutcome::Failed),
        Just(MemberOutcome::Cancelled)
    ];
    prop_oneof![
        1 => Just(ObservationKind::Start),
        4 => (0..4_u8).prop_map(|n| ObservationKind::Phase { title: n.to_string() }),
        4 => (0..4_u8).prop_map(|n| log(&n.to_string())),
        6 => (1..8_u64).prop_map(|seq| start(seq, "same label")),
        6 => (1..8_u64, outcome).prop_map(|(seq, outcome)| end(seq, outcome)),
        1 => Just(run_end()),
    ]
}

fn runs() -> impl Strategy<Value = Vec<Vec<ObservationKind>>> {
    prop::collection::vec(prop::collection::vec(kind(), 0..24), 1..5)
}

/// The state before everything and after each observation, with the members' events up to then.
fn alone(info: &RunInfo, kinds: &[ObservationKind]) -> Vec<State> {
    let mut states = vec![(Snapshot::new(info, DisplayLimits::default()), Vec::new())];
    for kind in kinds {
        let (mut snapshot, mut members) = states.last().expect("the first").clone();
        if snapshot.apply(kind) {
            members.extend(MemberEvent::of(kind));
        }
        let over = snapshot.is_over();
        states.push((snapshot, members));
        if over {
            break;
        }
    }
    states
}

/// Whether a sink saw the state that `selected` observations give, then every visible change after it.
fn fits(states: &[State], selected: usize, seen: &[State]) -> bool {
    let mut expected = vec![states[selected].clone()];
    for pair in states[selected..].windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        let members = after.1[before.1.len()..].to_vec();
        // The end of a run is kept but not visible.
        let visible = !members.is_empty() || (before.0.phase(), before.0.log()) != (after.0.phase(), after.0.log());
        if visible {
            expected.push((after.0.clone(), members));
        }
    }
    expected == seen
}

/// With a sink that lets other threads go on while it is at work.
fn install_slow(observers: &WorkflowObservers, seen: &Seen) -> Capture {
    let sink = seen.sink();
    Capture::install(observers, DisplayLimits::default(), move |captured| {
        std::thread::yield_now();
        sink(captured)
    })
}

struct Script {
    info: Arc<RunInfo>,
    kinds: Vec<ObservationKind>,
    seen: Seen,
}

fn scripts(runs: Vec<Vec<ObservationKind>>) -> Vec<Script> {
    let scripts = runs.into_iter().enumerate().map(|(n, kinds)| Script {
        info: info(&format!("run {n}")),
        kinds,
        seen: Seen::default(),
    });
    scripts.collect()
}

proptest! {
    /// One thread, every order: each capture shows its own run from the moment of its selection.
    #[test]
    fn g21_interleaved_runs_never_mix(
        runs in runs(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..100),
        selected in prop::collection::vec(any::<prop::sample::Index>(), 5),
    ) {
        let observers = observers();
        let scripts = scripts(runs);
        let captures: Vec<_> = scripts.iter().map(|script| install(&observers, &script.seen)).collect();
        let at: Vec<_> = scripts.iter().zip(&selected).map(|(s, at)| at.index(s.kinds.len() + 1)).collect();
        let mut next = vec![0; scripts.len()];
        let mut open: Vec<_> = (0..scripts.len()).collect();
        let mut order = order.into_iter();
        while !open.is_empty() {
            let pick = order.next().map_or(0, |index| index.index(open.len()));
            let n = open[pick];
            if next[n] == at[n] {
                captures[n].select(&scripts[n].info);
            }
            match scripts[n].kinds.get(next[n]) {
                Some(kind) => emit(&observers, &scripts[n].info, kind.clone()),
                None => drop(open.remove(pick)),
            }
            next[n] += 1;
        }
        for (n, script) in scripts.iter().enumerate() {
            let states = alone(&script.info, &script.kinds);
            prop_assert!(fits(&states, at[n].min(states.len() - 1), &lock(&script.seen.0)));
        }
    }

    /// A thread for each run and one that selects: whenever the selection falls, nothing is lost, doubled or
    /// reordered.
    #[test]
    fn d04_the_hand_over_loses_nothing_across_threads(runs in runs()) {
        let observers = observers();
        let scripts = scripts(runs);
        let captures: Vec<_> = scripts.iter().map(|script| install_slow(&observers, &script.seen)).collect();
        let barrier = std::sync::Barrier::new(scripts.len() + 1);
        std::thread::scope(|scope| {
            for script in &scripts {
                let (observers, barrier) = (&observers, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    script.kinds.iter().for_each(|kind| emit(observers, &script.info, kind.clone()));
                });
            }
            barrier.wait();
            scripts.iter().zip(&captures).for_each(|(script, capture)| capture.select(&script.info));
        });
        for script in &scripts {
            let states = alone(&script.info, &script.kinds);
            let seen = lock(&script.seen.0);
            prop_assert!((0..states.len()).any(|selected| fits(&states, selected, &seen)), "{seen:#?}");
        }
    }
}
