use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use weft_types::RunStop;

use super::*;
use crate::WorkflowMeta;

mod interleaving;

fn info(id: &str) -> Arc<RunInfo> {
    let meta = Arc::new(WorkflowMeta {
        name: format!("name of {id}"),
        description: "d".into(),
        ..WorkflowMeta::default()
    });
    Arc::new(RunInfo { id: id.into(), meta })
}

fn emit(observers: &WorkflowObservers, run: &Arc<RunInfo>, kind: ObservationKind) {
    let run = Arc::clone(run);
    let id = run.id.clone();
    observers.emit(Some(&id), &WorkflowObservation { run, kind });
}

fn log(message: &str) -> ObservationKind {
    ObservationKind::Log {
        message: message.into(),
    }
}

fn start(seq: u64, label: &str) -> ObservationKind {
    ObservationKind::AgentStart {
        seq,
        label: label.into(),
        phase: Some(String::new()),
        child_id: "c".into(),
    }
}

fn end(seq: u64, outcome: MemberOutcome) -> ObservationKind {
    ObservationKind::AgentEnd {
        seq,
        label: String::new(),
        phase: None,
        child_id: "c".into(),
        outcome,
    }
}

fn run_end() -> ObservationKind {
    ObservationKind::End {
        stop: RunStop::Completed,
        error: None,
        agents_started: 0,
    }
}

/// Everything the sink was given.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<State>>>);

type State = (Snapshot, Vec<MemberEvent>);

impl Seen {
    fn sink(&self) -> impl Fn(Captured<'_>) -> ControlFlow<()> + Send + Sync + use<> {
        let seen = self.clone();
        move |captured| {
            lock(&seen.0).push((captured.snapshot.clone(), captured.members.to_vec()));
            ControlFlow::Continue(())
        }
    }

    fn len(&self) -> usize {
        lock(&self.0).len()
    }

    fn logs(&self) -> Vec<String> {
        let seen = lock(&self.0);
        let logs = seen.iter().map(|(snapshot, _)| snapshot.log().unwrap_or("-"));
        logs.map(str::to_owned).collect()
    }
}

fn install(observers: &WorkflowObservers, seen: &Seen) -> Capture {
    Capture::install(observers, DisplayLimits::default(), seen.sink())
}

fn observers() -> WorkflowObservers {
    WorkflowObservers::new("workflow")
}

#[test]
fn d03_a_state_is_kept_for_every_run_until_one_is_selected() {
    let (observers, seen) = (observers(), Seen::default());
    let capture = install(&observers, &seen);
    for id in ["a", "b", "c"] {
        emit(&observers, &info(id), ObservationKind::Start);
        emit(&observers, &info(id), log(id));
    }
    emit(&observers, &info("b"), run_end());
    assert_eq!(
        (capture.tracked_runs(), seen.len()),
        (3, 0),
        "nothing is handed over yet"
    );
    capture.select(&info("c"));
    assert_eq!((capture.tracked_runs(), seen.logs()), (1, vec!["c".to_owned()]));
}

#[test]
fn d04_the_selected_run_is_handed_over_and_then_followed() {
    let (observers, seen) = (observers(), Seen::default());
    let capture = install(&observers, &seen);
    let (mine, other) = (info("mine"), info("other"));
    emit(&observers, &other, log("foreign"));
    emit(&observers, &mine, log("one"));
    emit(&observers, &mine, log("two"));
    capture.select(&mine);
    emit(&observers, &other, log("foreign"));
    emit(&observers, &mine, log("three"));
    emit(&observers, &mine, log("three"));
    assert_eq!(seen.logs(), ["two", "three"]);
    capture.select(&other);
    emit(&observers, &other, log("foreign"));
    emit(&observers, &mine, log("four"));
    assert_eq!(
        seen.logs(),
        ["two", "three", "four"],
        "a second selection changes nothing"
    );
}

#[test]
fn d05_a_run_of_which_nothing_was_seen_starts_empty_with_the_returned_meta() {
    let (observers, seen) = (observers(), Seen::default());
    let capture = install(&observers, &seen);
    let mine = info("mine");
    capture.select(&mine);
    let empty = Snapshot::new(&mine, DisplayLimits::default());
    assert_eq!(lock(&seen.0)[..], [(empty.clone(), Vec::new())]);
    assert_eq!(empty.name(), "name of mine");
    emit(&observers, &mine, ObservationKind::Start);
    emit(&observers, &mine, log("late"));
    assert_eq!(seen.logs(), ["-", "late"]);
}

#[test]
fn d06_a_capture_dropped_before_the_selection_hands_nothing_over() {
    let (observers, seen) = (observers(), Seen::default());
    let other = observers.subscribe(None, |_| {});
    let capture = install(&observers, &seen);
    assert_eq!(observers.len(), 2);
    emit(&observers, &info("mine"), log("one"));
    drop(capture);
    emit(&observers, &info("mine"), log("two"));
    assert_eq!((observers.len(), seen.len()), (1, 0));
    drop(other);
}

#[test]
fn d08_everything_inside_start_is_in_the_first_hand_over() {
    let (observers, seen) = (observers(), Seen::default());
    let capture = install(&observers, &seen);
    let mine = info("mine");
    let kinds = [
        ObservationKind::Start,
        ObservationKind::Phase { title: "Scan".into() },
        log("line"),
        start(1, "a\nb"),
        end(1, MemberOutcome::Failed),
        run_end(),
    ];
    kinds.into_iter().for_each(|kind| emit(&observers, &mine, kind));
    capture.select(&mine);
    let seen = lock(&seen.0);
    let [(snapshot, members)] = &seen[..] else {
        panic!("one hand-over, got {seen:?}")
    };
    assert_eq!(
        (snapshot.phase(), snapshot.log(), snapshot.failed()),
        (Some("Scan"), Some("line"), 1)
    );
    assert!(snapshot.is_over());
    let exact = MemberEvent::Start {
        seq: 1,
        label: "a\nb".into(),
        phase: Some(String::new()),
        child_id: "c".into(),
    };
    let failed = MemberEvent::End {
        seq: 1,
        outcome: MemberOutcome::Failed,
    };
    assert_eq!(members[..], [exact, failed]);
    assert_eq!((capture.tracked_runs(), observers.len()), (0, 0), "it is released, too");
}

#[test]
fn d10_five_thousand_lines_are_five_thousand_hand_overs_of_one_line() {
    let (observers, seen) = (observers(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&seen);
    let capture = Capture::install(&observers, DisplayLimits::default(), move |captured| {
        let n = count.fetch_add(1, Ordering::SeqCst);
        let expected = (n > 0).then(|| format!("line {n}"));
        assert_eq!(captured.snapshot.log(), expected.as_deref());
        ControlFlow::Continue(())
    });
    let mine = info("mine");
    capture.select(&mine);
    for n in 1..=5_000 {
        emit(&observers, &mine, log(&format!("line {n}")));
    }
    assert_eq!(seen.load(Ordering::SeqCst), 5_001);
}

#[test]
fn d12_it_is_released_at_the_end_of_the_run_and_at_most_once() {
    let (observers, seen) = (observers(), Seen::default());
    let capture = install(&observers, &seen);
    let mine = info("mine");
    capture.select(&mine);
    emit(&observers, &mine, run_end());
    assert_eq!((capture.tracked_runs(), observers.len()), (0, 0));
    emit(&observers, &mine, log("late"));
    capture.release();
    capture.select(&mine);
    capture.release();
    drop(capture);
    assert_eq!(seen.len(), 1);
}

#[test]
fn d12_a_member_that_outlives_the_end_is_still_followed() {
    let (observers, seen) = (observers(), Seen::default());
    let capture = install(&observers, &seen);
    let mine = info("mine");
    capture.select(&mine);
    emit(&observers, &mine, start(1, "stray"));
    emit(&observers, &mine, run_end());
    assert_eq!(capture.tracked_runs(), 1);
    emit(&observers, &mine, log("after the end"));
    emit(&observers, &mine, end(1, MemberOutcome::Cancelled));
    assert_eq!((capture.tracked_runs(), observers.len(), seen.len()), (0, 0, 3));
}

#[test]
fn d15_a_sink_that_breaks_off_is_called_no_more() {
    let (observers, calls) = (observers(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&calls);
    let capture = Capture::install(&observers, DisplayLimits::default(), move |_| {
        if count.fetch_add(1, Ordering::SeqCst) < 2 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    let mine = info("mine");
    capture.select(&mine);
    for n in 0..5 {
        emit(&observers, &mine, log(&n.to_string()));
    }
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    assert_eq!((capture.tracked_runs(), observers.len()), (0, 0));
}

#[test]
fn a_sink_that_panics_releases_the_capture_and_leaves_the_engine_alone() {
    let observers = observers();
    let capture = Capture::install(&observers, DisplayLimits::default(), |captured| {
        assert_eq!(captured.snapshot.log(), None, "on purpose");
        ControlFlow::Continue(())
    });
    let mine = info("mine");
    capture.select(&mine);
    emit(&observers, &mine, log("one"));
    emit(&observers, &mine, log("two"));
    assert_eq!((capture.tracked_runs(), observers.len()), (0, 0));
}

#[test]
fn a_sink_may_emit_and_release_without_deadlock_and_in_order() {
    let (observers, seen) = (observers(), Seen::default());
    let slot = Arc::new(Mutex::new(None::<Capture>));
    let (again, mine, into, inner) = (observers.clone(), info("mine"), seen.sink(), Arc::clone(&slot));
    let run = Arc::clone(&mine);
    let capture = Capture::install(&observers, DisplayLimits::default(), move |captured| {
        match captured.snapshot.log() {
            Some("one") => {
                emit(&again, &run, log("two"));
                emit(&again, &run, log("three"));
            }
            Some("three") => drop(lock(&inner).take()),
            _ => {}
        }
        into(captured)
    });
    capture.select(&mine);
    *lock(&slot) = Some(capture);
    emit(&observers, &mine, log("one"));
    emit(&observers, &mine, log("four"));
    assert_eq!(seen.logs(), ["-", "one", "two", "three"]);
    assert_eq!(observers.len(), 0);
}

#[tokio::test]
async fn delivered_waits_for_a_hand_over_that_another_thread_has_begun() {
    let (observers, seen) = (observers(), Seen::default());
    let (entered_tx, entered) = mpsc::channel();
    let (open, gate) = mpsc::channel::<()>();
    let (into, gate) = (seen.sink(), Mutex::new(gate));
    let capture = Capture::install(&observers, DisplayLimits::default(), move |captured| {
        if captured.snapshot.log() == Some("one") {
            entered_tx.send(()).expect("the test listens");
            lock(&gate).recv().expect("the test opens it");
        }
        into(captured)
    });
    let mine = info("mine");
    capture.select(&mine);
    let emitting = {
        let (observers, mine) = (observers.clone(), Arc::clone(&mine));
        std::thread::spawn(move || emit(&observers, &mine, log("one")))
    };
    entered.recv().expect("it is in the sink");
    emit(&observers, &mine, log("two"));
    let mut delivered = Box::pin(capture.delivered());
    assert!(futures::poll!(&mut delivered).is_pending());
    assert_eq!(seen.logs(), ["-"]);
    open.send(()).expect("the sink waits");
    delivered.await;
    assert_eq!(seen.logs(), ["-", "one", "two"]);
    emitting.join().expect("no panic");
    capture.release();
    capture.delivered().await;
}
