//! The fold on chosen logs; random ones are in `equivalence`.

mod equivalence;
mod navigation;

use super::*;
use crate::TurnEnd;
use crate::test_support::{agent_end, agent_start, log, reloaded, run_end, run_start};

fn turn_start(turn: u32) -> EventBody {
    EventBody::TurnStart { turn }
}

fn step_start(step: u32) -> EventBody {
    EventBody::StepStart { turn: 1, step }
}

fn step_end(step: u32) -> EventBody {
    EventBody::StepEnd { turn: 1, step }
}

fn turn_end(reason: TurnEnd) -> EventBody {
    EventBody::TurnEnd { turn: 1, reason }
}

fn fold<E: Borrow<Event>>(window: &[E]) -> Vec<RunView> {
    let mut runs = WorkflowRuns::new();
    runs.replace(window).expect("contiguous");
    runs.runs().collect()
}

#[track_caller]
fn only_run(bodies: impl IntoIterator<Item = EventBody>) -> RunView {
    let [run] = <[RunView; 1]>::try_from(fold(&log(bodies))).expect("one run");
    run
}

/// The run's status and those of its members, in the order in which they are shown.
fn statuses(run: &RunView) -> (RunStatus, Vec<(u64, RunStatus)>) {
    let members = run.phases.iter().flat_map(|phase| &phase.members);
    (run.status, members.map(|member| (member.seq, member.status)).collect())
}

use MemberOutcome as Outcome;
use RunStatus::{Cancelled, Completed, Failed, Interrupted, Running};

#[test]
fn g39_g57_phases_are_told_apart_by_their_exact_text_and_absent_from_empty() {
    let phases = [
        None,
        Some(""),
        Some("Scan"),
        Some("scan"),
        Some("Scan "),
        Some("none"),
        Some("0:"),
        Some("e\u{301}"),
        Some("\u{e9}"),
    ];
    let starts = phases.iter().zip(1..).map(|(phase, seq)| agent_start("r", seq, *phase));
    let events = log([run_start("r")].into_iter().chain(starts));
    let [run] = <[RunView; 1]>::try_from(fold(&reloaded(&events))).expect("one run");
    let shown: Vec<_> = run.phases.iter().map(|group| group.phase.as_deref()).collect();
    assert_eq!(shown, phases);
    let keys: std::collections::HashSet<_> = run.phases.iter().map(|group| &group.key).collect();
    assert_eq!(keys.len(), phases.len(), "keys are identities: {keys:?}");
    assert_eq!(PhaseGroup::key(Some("\u{1f980}!")), "3:\u{1f980}!");
    let json = serde_json::to_value(&run).expect("JSON");
    assert_eq!(json["phases"][0].get("phase"), None);
    assert_eq!(json["phases"][1]["phase"], "");
}

#[test]
fn g39_labels_are_shown_as_they_were_written() {
    let labels = [
        "",
        "two\nlines",
        "\u{1f980}\u{200d}",
        "  ",
        &"x".repeat(48),
        &"x".repeat(49),
    ];
    let starts = labels.iter().zip(1..).map(|(label, seq)| {
        let mut start = agent_start("r", seq, None);
        if let EventBody::WorkflowAgentStart { label: written, .. } = &mut start {
            *written = (*label).to_owned();
        }
        start
    });
    let events = log([run_start("r")].into_iter().chain(starts));
    let runs = fold(&reloaded(&events));
    let shown: Vec<_> = runs[0].phases[0]
        .members
        .iter()
        .map(|member| member.label.as_str())
        .collect();
    assert_eq!(shown, labels);
}

#[test]
fn g42_a_run_without_members_is_shown() {
    let running = only_run([run_start("r")]);
    assert_eq!((running.name.as_str(), running.anchor), ("name of r", 0));
    assert_eq!(statuses(&running), (Running, vec![]));
    let ended = only_run([run_start("r"), run_end("r", RunStop::Completed)]);
    assert_eq!(statuses(&ended), (Completed, vec![]));
}

#[test]
fn g43_v15_interleaved_and_unfinished_runs_each_have_their_own() {
    let bodies = [
        run_start("a"),
        run_start("b"),
        agent_start("b", 1, Some("p")),
        agent_start("a", 1, None),
        agent_end("b", 1, Outcome::Failed),
        agent_start("a", 3, None),
        run_end("b", RunStop::Error),
        agent_end("a", 3, Outcome::Cancelled),
    ];
    let events = log(bodies);
    let runs = fold(&events);
    let shown: Vec<_> = runs
        .iter()
        .map(|run| (run.run_id.as_str(), run.anchor, statuses(run)))
        .collect();
    let expected = [
        ("a", 0, (Running, vec![(1, Running), (3, Cancelled)])),
        ("b", 1, (Failed, vec![(1, Failed)])),
    ];
    assert_eq!(shown, expected);
    for end in 0..events.len() {
        let runs = fold(&events[..end]);
        assert_eq!(runs.len(), end.min(2), "every prefix is shown, as far as it goes");
        assert!(
            runs.iter().all(|run| run.status != Interrupted),
            "nothing has ended around them"
        );
    }
}

#[test]
fn g53_a_window_without_the_start_shows_nothing_until_it_is_prepended() {
    let events = log([
        turn_start(1),
        step_start(1),
        run_start("r"),
        agent_start("r", 1, None),
        agent_start("r", 2, Some("p")),
        agent_end("r", 2, Outcome::Completed),
        agent_end("r", 1, Outcome::Failed),
        run_end("r", RunStop::Cancelled),
    ]);
    let mut runs = WorkflowRuns::new();
    runs.replace(&events[4..7]).expect("contiguous");
    runs.append(&events[7]).expect("contiguous");
    runs.prepend(&events[3..4]).expect("contiguous");
    assert_eq!(runs.runs().count(), 0);
    runs.prepend(&events[..3]).expect("contiguous");
    let shown: Vec<_> = runs.runs().collect();
    assert_eq!(shown, fold(&events));
    assert_eq!(statuses(&shown[0]), (Cancelled, vec![(1, Failed), (2, Completed)]));
}

#[test]
fn g54_a_run_is_interrupted_when_the_step_or_turn_around_it_is_over() {
    let cases = [
        (vec![turn_start(1), step_start(1)], vec![step_end(1)], Interrupted),
        (vec![turn_start(1)], vec![turn_end(TurnEnd::Interrupted)], Interrupted),
        (
            vec![turn_start(1), step_start(1), step_end(1)],
            vec![turn_end(TurnEnd::Completed)],
            Interrupted,
        ),
        (vec![turn_start(1)], vec![step_start(1), step_end(1)], Running),
        (
            vec![turn_start(1)],
            vec![step_start(1), step_end(1), turn_end(TurnEnd::MaxSteps)],
            Interrupted,
        ),
        (vec![turn_start(1), step_start(1)], vec![], Running),
        (
            vec![],
            vec![turn_start(1), step_start(1), step_end(1), turn_end(TurnEnd::Completed)],
            Running,
        ),
        (vec![], vec![], Running),
    ];
    for (before, after, expected) in cases {
        let run = [run_start("r"), agent_start("r", 1, None)];
        let bodies: Vec<_> = before.into_iter().chain(run).chain(after).collect();
        let run = only_run(bodies.clone());
        assert_eq!(statuses(&run), (expected, vec![(1, expected)]), "{bodies:?}");
        // The window that begins with the start says the same.
        let events = log(bodies);
        let start = usize::try_from(run.anchor).expect("small");
        assert_eq!(fold(&events[start..]), [run], "{events:?}");
    }
}

#[test]
fn g55_a_durable_end_wins_over_an_interruption() {
    let interrupted = [
        turn_start(1),
        step_start(1),
        run_start("r"),
        agent_start("r", 1, None),
        agent_start("r", 2, None),
    ];
    let ends = [
        agent_end("r", 1, Outcome::Completed),
        step_end(1),
        turn_end(TurnEnd::Interrupted),
    ];
    let run = only_run(interrupted.into_iter().chain(ends));
    assert_eq!(statuses(&run), (Interrupted, vec![(1, Completed), (2, Interrupted)]));

    let outside = [
        turn_start(1),
        step_start(1),
        run_start("r"),
        step_end(1),
        run_end("r", RunStop::Completed),
    ];
    assert_eq!(statuses(&only_run(outside)), (Completed, vec![]));
}

#[test]
fn g55_a_member_without_an_end_in_a_run_with_one_is_interrupted() {
    let run = only_run([
        run_start("r"),
        agent_start("r", 1, None),
        run_end("r", RunStop::Completed),
    ]);
    assert_eq!(statuses(&run), (Completed, vec![(1, Interrupted)]));
}

#[test]
fn g56_members_and_phases_keep_their_places_when_they_settle() {
    let starts = [(2, Some("b")), (1, Some("a")), (5, Some("b")), (3, None)];
    let mut bodies = vec![run_start("r")];
    bodies.extend(starts.iter().map(|(seq, phase)| agent_start("r", *seq, *phase)));
    let places = |run: &RunView| -> Vec<_> {
        let seqs = |group: &PhaseGroup| group.members.iter().map(|member| member.seq).collect::<Vec<_>>();
        run.phases
            .iter()
            .map(|group| (group.key.clone(), seqs(group)))
            .collect()
    };
    let before = places(&only_run(bodies.clone()));
    assert_eq!(
        before,
        [
            ("1:b".to_owned(), vec![2, 5]),
            ("1:a".to_owned(), vec![1]),
            ("none".to_owned(), vec![3])
        ]
    );
    for (seq, _) in starts.iter().rev() {
        bodies.push(agent_end("r", *seq, Outcome::Completed));
        assert_eq!(places(&only_run(bodies.clone())), before);
    }
}

#[test]
fn g60_a_reopened_log_shows_what_was_shown_live_even_while_it_ran() {
    let events = log([
        turn_start(1),
        step_start(1),
        run_start("r"),
        agent_start("r", 1, Some("")),
        agent_end("r", 1, Outcome::Completed),
        agent_start("r", 2, None),
        step_end(1),
        turn_end(TurnEnd::Interrupted),
    ]);
    let mut live = WorkflowRuns::new();
    for (event, index) in events.iter().zip(1..) {
        live.append(event).expect("contiguous");
        assert_eq!(live.runs().collect::<Vec<_>>(), fold(&reloaded(&events[..index])));
    }
}

#[test]
fn events_that_do_not_join_on_are_refused_and_change_nothing() {
    let events = log((0..6)
        .map(|_| EventBody::SessionTitle { title: "t".into() })
        .chain([run_start("r")]));
    let mut runs = WorkflowRuns::new();
    runs.replace(&events[3..5]).expect("contiguous");
    for wrong in [3, 4, 6] {
        runs.append(&events[wrong]).expect_err("not the next one");
    }
    let gap = runs.prepend(&events[..2]).expect_err("a gap");
    let text = "failed to read the workflow runs of a log: event 3 follows event 1, expected the one after it";
    assert_eq!(gap.to_string(), text);
    runs.prepend(&events[..4]).expect_err("an overlap");
    runs.prepend(&[&events[0], &events[2]])
        .expect_err("a gap within the page");
    runs.replace(&[&events[2], &events[1]]).expect_err("descending");
    runs.append(&events[5]).expect("the window is as it was");
    runs.prepend(&events[..3]).expect("the window is as it was");
    runs.prepend::<Event>(&[]).expect("an empty page is fine");
    runs.append(&events[6]).expect("the next one");
    assert_eq!(runs.runs().count(), 1);
}

#[test]
fn of_an_illegal_log_something_is_shown() {
    let run = only_run([
        agent_end("r", 1, Outcome::Failed),
        run_start("r"),
        run_start("r"),
        agent_start("r", 1, None),
        agent_start("r", 1, Some("p")),
        run_end("r", RunStop::Completed),
        agent_start("r", 2, None),
        step_end(7),
    ]);
    assert_eq!(statuses(&run), (Completed, vec![(1, Failed), (2, Interrupted)]));
}
