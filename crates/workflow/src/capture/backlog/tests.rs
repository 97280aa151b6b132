use super::*;

fn log(n: u64) -> ObservationKind {
    ObservationKind::Log { message: n.to_string() }
}

fn phase(n: u64) -> ObservationKind {
    ObservationKind::Phase { title: n.to_string() }
}

fn member(seq: u64) -> ObservationKind {
    ObservationKind::AgentStart {
        seq,
        label: "l".repeat(5_000),
        phase: None,
        child_id: "c".into(),
    }
}

#[test]
fn narration_that_piles_up_is_superseded_and_members_are_not() {
    let (mut backlog, limits) = (Backlog::default(), DisplayLimits::default());
    for n in 1..=100_000 {
        backlog.push(&ObservationKind::Start, limits);
        backlog.push(&log(n), limits);
        backlog.push(&phase(n), limits);
        if n % 1_000 == 0 {
            backlog.push(&member(n), limits);
        }
        assert!(backlog.queue.len() <= Backlog::PATIENCE);
    }
    backlog.drop_superseded();
    let left: Vec<_> = std::iter::from_fn(|| backlog.pop()).collect();
    let members: Vec<_> = (1..=100).map(|n| member(n * 1_000)).collect();
    assert_eq!(left[..99], members[..99]);
    assert_eq!(left[99..], [log(100_000), phase(100_000), member(100_000)]);
}

#[test]
fn what_nobody_will_show_is_not_kept() {
    let (mut backlog, limits) = (Backlog::default(), DisplayLimits::default());
    let message = "x".repeat(10 << 20);
    backlog.push(&ObservationKind::Log { message }, limits);
    let Some(ObservationKind::Log { message }) = backlog.pop() else {
        panic!("a line")
    };
    assert_eq!(message.chars().count(), limits.text_chars());
}
