//! Records that cannot be written: what the disk fails with, through the real store.

use weft_tools::ToolResult;
use weft_types::{AbortCause, MemberOutcome, SessionId, TurnEnd};
use weft_workflow::{RunResult, TestRun};

use crate::support::{Bench, Fault, Rig, Stored, Warnings, done, records, said};

/// The records of a whole run, in their order.
const KINDS: [&str; 4] = [
    "tool-workflow/run-start",
    "tool-workflow/agent-start",
    "tool-workflow/agent-end",
    "tool-workflow/run-end",
];

fn whole(run: u32) -> [String; 4] {
    [
        format!("run-{run} start demo"),
        format!("run-{run} 1 start \"a\" None child-1"),
        format!("run-{run} 1 Completed"),
        format!("run-{run} end Completed"),
    ]
}

/// One member that completes.
fn one_member(run: &TestRun) {
    run.member_start(1, "a");
    run.member_end(1, "a", MemberOutcome::Completed);
    run.complete("{\"k\":[1,2]}", 1);
}

fn logged(rig: &Rig) -> Vec<String> {
    records(&rig.agent.session().events().expect("readable"))
}

#[tokio::test]
async fn g44_v08_v09_v10_v11_v12_g46_g59_wherever_the_disk_is_full_nothing_but_the_record_is_cut() {
    let sound = Rig::new();
    assert_eq!(sound.play(0, one_member).await, TurnEnd::Completed);
    assert_eq!(logged(&sound), whole(1));
    for (length, kind) in KINDS.into_iter().enumerate() {
        let (rig, warnings) = (Rig::new(), Warnings::catch());
        rig.stored.files.fail(kind, Fault::DiskFull);
        assert_eq!(rig.play(0, one_member).await, TurnEnd::Completed, "{kind}");
        assert!(!rig.stored.files.is_armed(), "the disk had room for all but this one");
        assert_eq!(logged(&rig), whole(1)[..length], "{kind}");
        let mut types = sound.types();
        types.retain(|logged| !KINDS[length..].iter().any(|kind| kind.ends_with(&format!("/{logged}"))));
        assert_eq!(rig.types(), types, "{kind}: all else is in the file");
        let seen = warnings.seen();
        let names = |text: &str| seen[0].contains(text);
        assert!(seen.len() == 1 && names(kind) && names("run-1"), "{kind}: {seen:?}");
        assert_eq!(rig.result(0), sound.result(0), "{kind}");
        assert_eq!(rig.reports(), sound.reports(), "{kind}: G-61, the card counts on");
        assert_eq!(rig.engine.run(0).await.disposals(), 1, "{kind}");
        assert_eq!(rig.play(1, one_member).await, TurnEnd::Completed, "{kind}");
        assert_eq!(logged(&rig)[length..], whole(2), "{kind}");
        assert_eq!(warnings.seen().len(), 1, "{kind}");
        is_sound(&rig.close().await, &[&whole(1)[..length], &whole(2)].concat());
    }
}

/// The log verifies and loads, with these records.
#[track_caller]
fn is_sound(stored: &Stored, expected: &[String]) {
    let found = stored.verify();
    assert_eq!(
        (&found.damage, found.open_turn, found.torn_tail, found.debris),
        (&None, None, 0, 0)
    );
    let opening = stored.store.open(&SessionId::new("main")).expect("nobody else has it");
    let session = opening.finish().expect("sound");
    assert_eq!(records(&session.events().expect("readable")), expected);
}

#[tokio::test]
async fn g45_v13_a_failure_that_cannot_be_printed_or_panics_costs_one_warning_too() {
    let rig = Rig::new();
    let warnings = Warnings::catch();
    rig.stored.files.fail(KINDS[1], Fault::Unprintable);
    assert_eq!(rig.play(0, one_member).await, TurnEnd::Completed);
    let seen = warnings.seen();
    assert!(seen.len() == 1 && seen[0].contains("cannot be printed"), "{seen:?}");
    assert_eq!(logged(&rig), whole(1)[..1]);
    is_sound(&rig.close().await, &whole(1)[..1]);

    // After a panic nobody knows what the log holds, so that the session takes no more; the run goes on.
    let stored = Stored::new();
    let bench = Bench::on(stored.create());
    stored.files.fail(KINDS[1], Fault::Panic);
    let result = played(&bench, one_member).await;
    assert!(!result.is_error() && said(&result).contains("completed (1 agent)"));
    assert_eq!((bench.records(), warnings.seen().len()), (whole(1)[..1].to_vec(), 2));
    assert_eq!(bench.texts().last(), Some(&done(1, 0, 0)));
    drop(bench);
    let found = stored.verify();
    assert_eq!((&found.damage, found.events), (&None, 1), "half a line is no damage");
    assert!(found.torn_tail > 0);
}

async fn played(bench: &Bench, play: impl FnOnce(&TestRun)) -> ToolResult {
    let (run, result) = bench.begin().await;
    play(&run);
    result.await.expect("no panic")
}

#[tokio::test]
async fn g46_g61_once_a_record_failed_nothing_of_that_run_is_written_any_more() {
    let rig = Rig::new();
    rig.stored.files.fail(KINDS[1], Fault::DiskFull);
    let end = rig.play(0, |run| {
        run.member_start(1, "a");
        run.member_end(1, "a", MemberOutcome::Completed);
        run.member_start(2, "b");
        run.member_end(2, "b", MemberOutcome::Failed);
        run.complete("null", 2);
    });
    assert_eq!(end.await, TurnEnd::Completed);
    assert_eq!(logged(&rig), whole(1)[..1]);
    assert_eq!(rig.reports().last(), Some(&done(1, 1, 0)), "the card counts on");
}

#[tokio::test(start_paused = true)]
async fn g47_a_failing_log_changes_neither_the_outcome_nor_the_time_of_a_cancel() {
    let mut outcomes = Vec::new();
    for kind in [None].into_iter().chain(KINDS.map(Some)) {
        let rig = Rig::new();
        if let Some(kind) = kind {
            rig.stored.files.fail(kind, Fault::DiskFull);
        }
        let turn = rig.prompt();
        let run = rig.engine.run(0).await;
        run.member_start(1, "a");
        let before = tokio::time::Instant::now();
        rig.agent.cancel();
        run.cancelled().await;
        run.member_end(1, "a", MemberOutcome::Cancelled);
        run.finish(RunResult::cancelled("r", 1));
        let end = turn.ended().await;
        assert_eq!(end, TurnEnd::Aborted { by: AbortCause::User });
        outcomes.push((
            rig.result(0),
            rig.reports(),
            run.cancels(),
            run.disposals(),
            before.elapsed(),
        ));
        assert_eq!(rig.stored.verify().damage, None);
    }
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:#?}");
}

#[tokio::test]
async fn v14_a_cancelled_and_a_failing_run_say_the_same_whether_they_are_recorded_or_not() {
    let results = [
        (RunResult::cancelled("the user", 0), "Cancelled"),
        (RunResult::failed("line 1: boom", 0), "Error"),
    ];
    for (result, stop) in results {
        let mut said = Vec::new();
        for kind in [None, Some(KINDS[0])] {
            let rig = Rig::new();
            if let Some(kind) = kind {
                rig.stored.files.fail(kind, Fault::DiskFull);
            }
            let result = result.clone();
            assert_eq!(rig.play(0, |run| run.finish(result)).await, TurnEnd::Completed);
            let end = (kind.is_none()).then(|| format!("run-1 end {stop}"));
            assert_eq!(logged(&rig).last(), end.as_ref());
            said.push(rig.result(0));
        }
        assert_eq!(said[0], said[1]);
    }
}
