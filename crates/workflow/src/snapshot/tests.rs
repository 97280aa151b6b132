use std::sync::Arc;

use weft_types::RunStop;

use super::*;
use crate::WorkflowMeta;

fn snapshot() -> Snapshot {
    let meta = Arc::new(WorkflowMeta {
        name: "demo".into(),
        description: "d".into(),
        ..WorkflowMeta::default()
    });
    Snapshot::new(&RunInfo { id: "r".into(), meta }, DisplayLimits::default())
}

fn phase(title: &str) -> ObservationKind {
    ObservationKind::Phase { title: title.into() }
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
        phase: None,
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

fn counts(snapshot: &Snapshot) -> (u64, u64, u64) {
    (snapshot.completed(), snapshot.failed(), snapshot.cancelled())
}

fn active(snapshot: &Snapshot) -> Vec<(u64, &str)> {
    let members = snapshot.active().iter();
    members.map(|(seq, label)| (*seq, label.as_str())).collect()
}

#[test]
fn d09_it_holds_phase_latest_line_active_members_and_counts() {
    let mut run = snapshot();
    let kinds = [
        ObservationKind::Start,
        phase("Scan"),
        log("two files"),
        start(1, "a"),
        start(2, "b"),
        start(3, "c"),
        start(4, "d"),
        end(1, MemberOutcome::Completed),
        end(2, MemberOutcome::Failed),
        end(3, MemberOutcome::Cancelled),
        phase("Sum"),
    ];
    let changed: Vec<_> = kinds.iter().map(|kind| run.apply(kind)).collect();
    assert_eq!(
        changed,
        [false, true, true, true, true, true, true, true, true, true, true]
    );
    assert_eq!((run.phase(), run.log()), (Some("Sum"), Some("two files")));
    assert_eq!(active(&run), [(4, "d")]);
    assert_eq!(counts(&run), (1, 1, 1));
    assert!(!run.is_ended());
}

#[test]
fn d10_a_new_line_replaces_the_old_one() {
    let mut run = snapshot();
    run.apply(&log("first"));
    let memory = format!("{run:?}").len();
    for n in 0..5_000 {
        run.apply(&log(&format!("{n:05}")));
    }
    assert_eq!(run.log(), Some("04999"));
    assert_eq!(format!("{run:?}").len(), memory);
}

#[test]
fn d11_memory_depends_on_what_runs_and_not_on_what_ran() {
    let mut run = snapshot();
    for seq in 1..=100_000 {
        run.apply(&start(seq, "member"));
        run.apply(&end(seq, MemberOutcome::Completed));
        run.apply(&phase(&format!("phase {seq}")));
    }
    assert!(format!("{run:?}").len() < 1_000);
    assert_eq!(counts(&run), (100_000, 0, 0));
}

#[test]
fn d11_texts_are_cut_and_escaped_before_they_are_stored() {
    let mut run = snapshot();
    run.apply(&log(&"x".repeat(10 << 20)));
    run.apply(&phase("one\ntwo\u{1b}"));
    run.apply(&start(1, &"l".repeat(1_000)));
    assert_eq!(run.log().map(|log| log.chars().count()), Some(200));
    assert_eq!(run.phase(), Some("one\\ntwo\\u{1b}"));
    assert_eq!(run.active()[0].1.chars().count(), 80);
}

#[test]
fn d13_what_changes_nothing_visible_says_so() {
    let mut run = snapshot();
    assert!(run.apply(&phase("Scan")) && !run.apply(&phase("Scan")));
    assert!(run.apply(&log("")) && !run.apply(&log("")));
    let long = "x".repeat(300);
    assert!(run.apply(&log(&long)));
    assert!(!run.apply(&log(&format!("{long} differs where nobody sees it"))));
    assert!(!run.apply(&ObservationKind::Start) && !run.apply(&run_end()));
}

#[test]
fn an_absent_phase_is_another_than_an_empty_one() {
    let mut run = snapshot();
    assert_eq!(run.phase(), None);
    assert!(run.apply(&phase("")));
    assert_eq!(run.phase(), Some(""));
}

#[test]
fn an_end_without_its_start_is_not_counted() {
    let mut run = snapshot();
    assert!(!run.apply(&end(1, MemberOutcome::Completed)));
    assert_eq!(counts(&run), (0, 0, 0));
    assert!(run.apply(&start(1, "late")), "its start may still come");
}

#[test]
fn equal_labels_stay_two_members() {
    let mut run = snapshot();
    run.apply(&start(2, "same"));
    run.apply(&start(1, "same"));
    assert_eq!(active(&run), [(2, "same"), (1, "same")]);
    run.apply(&end(2, MemberOutcome::Failed));
    assert_eq!(active(&run), [(1, "same")]);
}

#[test]
fn a_second_start_or_end_of_a_number_is_ignored() {
    let mut run = snapshot();
    assert!(run.apply(&start(1, "first")) && !run.apply(&start(1, "second")));
    assert_eq!(active(&run), [(1, "first")]);
    assert!(run.apply(&end(1, MemberOutcome::Completed)));
    assert!(!run.apply(&end(1, MemberOutcome::Failed)));
    assert!(!run.apply(&start(1, "third")), "a number is used once");
    assert_eq!((counts(&run), run.active().len()), ((1, 0, 0), 0));
}

#[test]
fn g62_gaps_in_the_numbers_count_right() {
    let mut run = snapshot();
    for seq in [1, 3, 7] {
        assert!(run.apply(&start(seq, "m")) && run.apply(&end(seq, MemberOutcome::Completed)));
    }
    assert_eq!(counts(&run), (3, 0, 0));
}

#[test]
fn g67_after_the_end_members_still_close_and_nothing_else_happens() {
    let mut run = snapshot();
    run.apply(&start(1, "stray"));
    run.apply(&run_end());
    assert!(run.is_ended() && !run.is_over());
    assert!(!run.apply(&phase("late")) && !run.apply(&log("late")) && !run.apply(&start(2, "late")));
    assert!(run.apply(&end(1, MemberOutcome::Cancelled)));
    assert!(run.is_over() && !run.apply(&run_end()));
    assert_eq!((run.phase(), counts(&run)), (None, (0, 0, 1)));
}

#[test]
fn members_are_counted_by_their_phase_and_the_number_of_phases_is_bounded() {
    let mut snapshot = snapshot();
    let of = |seq: u64, phase: Option<&str>| ObservationKind::AgentStart {
        seq,
        label: String::new(),
        phase: phase.map(str::to_owned),
        child_id: "c".into(),
    };
    let ended = |seq: u64, phase: Option<&str>| ObservationKind::AgentEnd {
        seq,
        label: String::new(),
        phase: phase.map(str::to_owned),
        child_id: "c".into(),
        outcome: MemberOutcome::Failed,
    };
    for kind in [of(1, Some("a")), of(2, None), of(3, Some("a")), ended(1, Some("a"))] {
        snapshot.apply(&kind);
    }
    let shown = |phase: &PhaseCounts| (phase.title.clone(), phase.running, phase.failed);
    let phases: Vec<_> = snapshot.phases().iter().map(shown).collect();
    assert_eq!(phases, [(Some("a".into()), 1, 1), (None, 1, 0)]);
    for seq in 4..1_000 {
        snapshot.apply(&of(seq, Some(&format!("phase {seq}"))));
        snapshot.apply(&ended(seq, Some(&format!("phase {seq}"))));
    }
    assert_eq!(snapshot.phases().len(), MAX_PHASES);
    assert_eq!(counts(&snapshot), (0, 997, 0), "none is lost");
    assert_eq!(snapshot.earlier_phases().failed, 996 - (MAX_PHASES as u64 - 2));
    let last = snapshot.phases().last().and_then(|phase| phase.title.clone());
    assert_eq!(last.as_deref(), Some("phase 999"), "the present ones are kept");
    assert_eq!(
        snapshot.phases()[0].title.as_deref(),
        Some("a"),
        "and those in which somebody runs"
    );
}
