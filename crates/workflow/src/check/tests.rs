use weft_types::MemberOutcome;

use super::*;
use crate::WorkflowMeta;

fn info(id: &str, name: &str) -> Arc<RunInfo> {
    let meta = Arc::new(WorkflowMeta {
        name: name.into(),
        description: "d".into(),
        ..WorkflowMeta::default()
    });
    Arc::new(RunInfo { id: id.into(), meta })
}

fn start(seq: u64, child: &str) -> ObservationKind {
    ObservationKind::AgentStart {
        seq,
        label: "l".into(),
        phase: Some("p".into()),
        child_id: child.into(),
    }
}

fn end(seq: u64, label: &str, phase: Option<&str>, child: &str) -> ObservationKind {
    ObservationKind::AgentEnd {
        seq,
        label: label.into(),
        phase: phase.map(str::to_owned),
        child_id: child.into(),
        outcome: MemberOutcome::Completed,
    }
}

fn run_end(stop: RunStop, error: Option<&str>, agents_started: u64) -> ObservationKind {
    ObservationKind::End {
        stop,
        error: error.map(str::to_owned),
        agents_started,
    }
}

/// What is refused at the end of a list of observations of one run, and by nothing before.
#[track_caller]
fn refused(kinds: Vec<ObservationKind>) -> String {
    let (mut checker, run) = (ObservationChecker::new(), info("r", "n"));
    let last = kinds.len() - 1;
    for (index, kind) in kinds.into_iter().enumerate() {
        let observation = WorkflowObservation {
            run: Arc::clone(&run),
            kind,
        };
        match checker.observe(&observation) {
            Ok(()) => assert_ne!(index, last, "the last one was accepted"),
            Err(violation) => {
                assert_eq!(index, last, "{violation}");
                return violation.to_string();
            }
        }
    }
    unreachable!("the last one returned")
}

#[test]
fn a_well_formed_run_is_accepted_and_closed() {
    let (mut checker, run) = (ObservationChecker::new(), info("r", "n"));
    let kinds = [
        ObservationKind::Start,
        start(2, "c2"),
        start(1, "c1"),
        end(2, "l", Some("p"), "c2"),
        ObservationKind::Log { message: String::new() },
        end(1, "l", Some("p"), "c1"),
        run_end(RunStop::Error, Some("e"), 3),
    ];
    for kind in kinds {
        assert_eq!(checker.open_runs().is_empty(), kind == ObservationKind::Start);
        let observed = checker.observe(&WorkflowObservation {
            run: Arc::clone(&run),
            kind,
        });
        observed.expect("well-formed");
    }
    assert!(checker.open_runs().is_empty());
}

#[test]
fn members_are_started_and_ended_once() {
    use ObservationKind::Start;
    let one = || vec![Start, start(1, "c")];
    let and = |mut kinds: Vec<ObservationKind>, more: Vec<ObservationKind>| {
        kinds.extend(more);
        refused(kinds)
    };
    assert_eq!(
        and(vec![Start], vec![start(0, "c")]),
        "run r: a member has the number 0"
    );
    assert_eq!(
        and(vec![Start], vec![start(1, "")]),
        "run r: member 1 has an empty session id"
    );
    assert_eq!(and(one(), vec![start(1, "d")]), "run r: a second start of member 1");
    let ended = end(1, "l", Some("p"), "c");
    let strict = and(one(), vec![ended.clone(), start(1, "c")]);
    assert_eq!(strict, "run r: a second start of member 1", "also once it has ended");
    let again = "run r: an end of member 1, which is not running";
    assert_eq!(and(one(), vec![ended.clone(), ended.clone()]), again);
    assert_eq!(and(vec![Start], vec![ended]), again);
    for other in [
        end(1, "x", Some("p"), "c"),
        end(1, "l", None, "c"),
        end(1, "l", Some("p"), "x"),
    ] {
        assert!(and(one(), vec![other]).starts_with("run r: the end of member 1 names"));
    }
}

#[test]
fn runs_begin_with_a_start_and_end_once_with_nothing_open() {
    use ObservationKind::Start;
    let done = || run_end(RunStop::Completed, None, 1);
    assert_eq!(
        refused(vec![done()]),
        "run r: an observation of a run that has not started"
    );
    assert_eq!(refused(vec![Start, Start]), "run r: a second start");
    assert_eq!(
        refused(vec![Start, start(1, "c"), done()]),
        "run r: it ended while members [1] run"
    );
    assert!(refused(vec![Start, done(), done()]).contains("after the end"));
    assert!(refused(vec![Start, done(), ObservationKind::Phase { title: "p".into() }]).contains("after the end"));
    assert_eq!(refused(vec![Start, done(), Start]), "run r: a second start");
    let few = vec![
        Start,
        start(1, "c"),
        end(1, "l", Some("p"), "c"),
        run_end(RunStop::Completed, None, 0),
    ];
    assert_eq!(refused(few), "run r: it counts 0 members of which 1 started");
    for (stop, error) in [
        (RunStop::Completed, Some("e")),
        (RunStop::Error, None),
        (RunStop::Cancelled, None),
    ] {
        assert!(refused(vec![Start, run_end(stop, error, 0)]).contains("with the error"));
    }
}

#[test]
fn a_run_has_an_id_a_name_and_the_same_metadata_throughout() {
    let mut checker = ObservationChecker::new();
    let mut observe = |run, kind| checker.observe(&WorkflowObservation { run, kind });
    observe(info("", "n"), ObservationKind::Start).expect_err("no id");
    observe(info("r", ""), ObservationKind::Start).expect_err("no name");
    observe(info("r", "n"), ObservationKind::Start).expect("the refused one left nothing behind");
    let log = || ObservationKind::Log { message: "m".into() };
    let other = observe(info("r", "other"), log()).expect_err("another name");
    assert_eq!(other.to_string(), "run r: its metadata differ from those of its start");
    observe(info("r", "n"), log()).expect("its own");
}
