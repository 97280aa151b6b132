//! Where the records of a run stand in the log of the agent that called it.

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use weft_tools::{Approval, ApprovalRequest, Approver, Decision};
use weft_types::{AbortCause, MemberOutcome, TurnEnd};
use weft_workflow::{StartError, StartErrorCode, StartRequest, TestDisposal, TestRun};

use crate::support::{Rig, started};

const BEFORE: [&str; 7] = [
    "turn/start",
    "user/message",
    "session/title",
    "step/start",
    "request/header",
    "assistant/message",
    "tool/call",
];
const AFTER: [&str; 6] = [
    "tool/result",
    "step/end",
    "step/start",
    "assistant/message",
    "step/end",
    "turn/end",
];

#[tokio::test]
async fn g35_v01_the_records_of_a_run_lie_between_the_call_and_its_result() {
    let rig = Rig::new();
    let end = rig.play(0, |run| {
        run.member_start(1, "a");
        run.member_start(2, "b");
        run.member_end(2, "b", MemberOutcome::Completed);
        run.member_end(1, "a", MemberOutcome::Completed);
        run.complete("null", 2);
    });
    assert_eq!(end.await, TurnEnd::Completed);
    let records = [
        "run-start",
        "agent-start",
        "agent-start",
        "agent-end",
        "agent-end",
        "run-end",
    ];
    assert_eq!(rig.types(), [&BEFORE[..], &records, &AFTER].concat());
}

#[tokio::test]
async fn g40_v06_v07_the_run_ends_in_the_log_after_its_disposal_and_before_its_result() {
    let rig = Rig::new();
    let turn = rig.prompt();
    let run = rig.engine.run(0).await;
    run.set_disposal(TestDisposal::Pending);
    run.member_start(1, "a");
    run.complete("null", 1);
    run.disposing().await;
    let begun = [&BEFORE[..], &["run-start", "agent-start"]].concat();
    assert_eq!(rig.types(), begun, "the result is known, and nothing says so yet");
    run.member_end(1, "a", MemberOutcome::Cancelled);
    assert_eq!(rig.types(), [&begun[..], &["agent-end"]].concat());
    run.set_disposal(TestDisposal::Quiet);
    assert_eq!(turn.ended().await, TurnEnd::Completed);
    assert_eq!(rig.types(), [&begun[..], &["agent-end", "run-end"], &AFTER].concat());
}

#[tokio::test]
async fn g36_v03_a_refused_start_leaves_nothing_but_the_call_and_its_failed_result() {
    use StartErrorCode::{InvalidArgument, MetaInvalid, ScriptParse, Worker};
    for code in [MetaInvalid, ScriptParse, InvalidArgument, Worker] {
        let refuse = move |run: &TestRun, _: &StartRequest| {
            run.start();
            run.member_start(1, "a");
            Err(StartError::new(code, "not like this"))
        };
        let rig = Rig::with(refuse, |_| {});
        assert_eq!(rig.prompt().ended().await, TurnEnd::Completed);
        assert_eq!(rig.types(), [&BEFORE[..], &AFTER].concat());
        assert!(
            rig.result(0).contains("\"error\":{\"message\":\"not like this\"}"),
            "{}",
            rig.result(0)
        );
    }
}

/// Says that it was asked and waits until the question is withdrawn.
#[derive(Default)]
struct Undecided(Arc<Notify>);

impl Approver for Undecided {
    fn ask(&self, _request: ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        let asked = Arc::clone(&self.0);
        Box::pin(async move {
            asked.notify_one();
            cancel.cancelled().await;
            Approval::Cancelled
        })
    }
}

#[tokio::test]
async fn g37_a_call_cancelled_while_the_user_is_asked_records_nothing() {
    let approver = Undecided::default();
    let asked = Arc::clone(&approver.0);
    let rig = Rig::with(started, |options| {
        options.permissions = Arc::default();
        options.approver = Some(Arc::new(approver));
        options.tools.before_execute(|_| Decision::Ask).keep();
    });
    let turn = rig.prompt();
    asked.notified().await;
    rig.agent.cancel();
    assert_eq!(turn.ended().await, TurnEnd::Aborted { by: AbortCause::User });
    assert_eq!(
        rig.types(),
        [&BEFORE[..], &["tool/result", "step/end", "turn/end"]].concat()
    );
    assert!(rig.result(0).contains("ABORTED_BEFORE_DISPATCH") && rig.engine.runs().is_empty());
}
