use super::*;
use weft_types::{RunId, SessionId};

fn phase(name: Option<&str>, statuses: &[RunStatus]) -> PhaseGroup {
    let member = |(n, status): (usize, &RunStatus)| MemberView {
        seq: n as u64 + 1,
        label: format!("member {n}"),
        child_id: SessionId::new(format!("child-{n}")),
        status: *status,
    };
    PhaseGroup {
        key: PhaseGroup::key(name),
        phase: name.map(str::to_owned),
        members: statuses.iter().enumerate().map(member).collect(),
    }
}

fn run(status: RunStatus, phases: Vec<PhaseGroup>) -> RunView {
    RunView {
        run_id: RunId::new("r"),
        anchor: 0,
        name: "review\x1b[2J".to_owned(),
        status,
        phases,
    }
}

const PLAIN: Style = Style {
    ink: Palette::PLAIN,
    columns: None,
    full: false,
};

use RunStatus::{Cancelled, Completed, Failed, Interrupted, Running};

#[test]
fn the_aggregate_tells_what_did_not_complete() {
    for (statuses, expected) in [
        (&[Completed, Completed][..], "completed 2"),
        (&[Completed, Running, Completed], "running 1"),
        (
            &[Failed, Completed, Cancelled, Completed, Completed, Completed],
            "failed 1 · cancelled 1",
        ),
        (&[Completed, Interrupted], "completed 1 · interrupted 1"),
        (
            &[Interrupted, Failed, Completed],
            "completed 1 · failed 1 · interrupted 1",
        ),
        (&[Interrupted], "interrupted 1"),
    ] {
        assert_eq!(aggregate(&phase(None, statuses)), expected);
    }
}

#[test]
fn a_run_is_drawn_with_its_phases_and_members() {
    let empty = PhaseGroup {
        members: vec![MemberView {
            label: String::new(),
            ..phase(None, &[Running]).members[0].clone()
        }],
        ..phase(Some(""), &[])
    };
    let phases = vec![
        phase(Some("Read"), &[Completed, Failed]),
        phase(None, &[Cancelled]),
        empty,
    ];
    assert_eq!(
        PLAIN.run(&run(Running, phases)),
        [
            "           ▶ review␛[2J · 4 members · running",
            "             Read · 2 members · failed 1",
            "               ✔ member 0 · completed  child-0",
            "               ✘ member 1 · failed  child-1",
            "             Unphased · 1 member · cancelled 1",
            "               ■ member 0 · cancelled  child-0",
            "             Empty phase name · 1 member · running 1",
            "               ▶ Empty member name · running  child-0",
        ]
    );
}

#[test]
fn a_run_without_members_says_so() {
    assert_eq!(
        PLAIN.run(&run(Interrupted, Vec::new())),
        [
            "           ! review␛[2J · 0 members · interrupted",
            "             No members started"
        ]
    );
}

#[test]
fn names_give_way_and_no_row_is_wider_than_the_terminal() {
    let style = Style {
        columns: Some(60),
        ..PLAIN
    };
    let long = RunView {
        name: "日本".repeat(40),
        ..run(Completed, vec![phase(Some(&"p".repeat(90)), &[Completed])])
    };
    let rows = style.run(&long);
    assert!(rows.iter().all(|row| row.width() <= 60), "{rows:#?}");
    assert!(
        rows[0].ends_with("…  · 1 member · completed") || rows[0].ends_with("… · 1 member · completed"),
        "{rows:#?}"
    );
    assert!(!style.run(&run(Completed, vec![phase(None, &[Completed])]))[2].is_empty());
}
