//! What a script leaves behind: members it did not await, rejections it did not handle, promises nobody settles.

use serde_json::json;

use super::harness::{Harness, error_of, value_of};

#[tokio::test]
async fn g64_members_not_awaited_are_stopped_and_end_before_the_run() {
    let harness = Harness::new();
    let run = harness.start("agent('hangs slowly', { label: 'slow work' }); await agent('gate:go'); return 'done'");
    harness.wait_for("agent 1 \"slow work\"").await;
    harness.members.open("go");
    let result = harness.finish(&*run).await;
    assert_eq!(value_of(&result), json!("done"));
    let seen = harness.seen();
    assert_eq!(seen[seen.len() - 2..], ["agent 1 Cancelled", "end Completed 2"]);
    assert_eq!(
        result.notes,
        ["1 agent was stopped because the script returned and had not awaited it: \"slow work\""]
    );
    let counts = harness.members.counts();
    assert_eq!((counts.at_work, counts.disposals_done), (0, 2));
}

#[tokio::test]
async fn members_that_were_being_started_are_told_like_all_others() {
    let harness = Harness::new();
    let run = harness.start("agent('start-hangs'); agent('start-hangs'); await agent('gate:go'); return 1");
    harness.members.requested(3).await;
    harness.members.open("go");
    let result = harness.finish(&*run).await;
    assert_eq!(
        result.notes,
        [
            "2 agents were stopped because the script returned and had not awaited them: \"start-hangs\", \"start-hangs\""
        ]
    );
}

#[tokio::test]
async fn members_that_wait_for_a_slot_never_start_once_the_script_has_returned() {
    let harness = Harness::new();
    let result = harness
        .run("for (let i = 0; i < 100; i++) agent('hangs', { label: 'm' + i }); return 1")
        .await;
    assert_eq!(result.agents_started, 100);
    assert!(harness.members.counts().started <= 16);
    let note = &result.notes[0];
    assert!(
        note.starts_with("100 agents were stopped") && note.ends_with("and 95 more"),
        "{note}"
    );
}

#[tokio::test]
async fn a_member_that_completes_unawaited_is_no_news() {
    let harness = Harness::new();
    let result = harness
        .run("const p = agent('quick'); await agent('other'); return 1")
        .await;
    assert_eq!((value_of(&result), result.notes.len()), (json!(1), 0));
}

#[tokio::test]
async fn members_of_a_script_that_failed_are_stopped_without_a_lecture() {
    let harness = Harness::new();
    let run = harness.start("agent('hangs'); await agent('gate:go'); throw new Error('enough')");
    harness.wait_for("agent 1 \"hangs\"").await;
    harness.members.open("go");
    let result = harness.finish(&*run).await;
    assert!(error_of(&result).starts_with("Error: enough"));
    assert_eq!(result.notes, Vec::<String>::new());
    assert!(harness.seen().contains(&"agent 1 Cancelled".to_owned()));
}

#[tokio::test]
async fn a_field_read_off_a_promise_is_hinted_at() {
    let harness = Harness::new();
    let result = harness.run("const r = agent('x').output; return { r }").await;
    assert!(error_of(&result).contains("value.r is undefined (an await may be missing)"));
}

#[tokio::test]
async fn g71_dropped_rejections_are_told_and_harm_nobody() {
    let harness = Harness::new();
    let result = harness
        .run(
            "(async () => { throw new Error('nobody listens') })();
             Promise.reject('also nobody');
             agent('ok').then(() => { throw new Error('in a then') });
             await agent('x'); return 'finished'",
        )
        .await;
    assert_eq!(value_of(&result), json!("finished"));
    let expected = [
        "a rejection that nothing handled: Error: nobody listens (line 1)",
        "a rejection that nothing handled: the text \"also nobody\"",
        "a rejection that nothing handled: Error: in a then (line 3)",
    ];
    assert_eq!(result.notes, expected);
    let logged: Vec<_> = harness
        .seen()
        .into_iter()
        .filter_map(|line| line.strip_prefix("log ").map(str::to_owned))
        .collect();
    assert_eq!(logged, expected);
}

#[tokio::test]
async fn a_rejection_handled_later_is_no_news() {
    let harness = Harness::new();
    let script = "const p = agent('breaks'); const q = Promise.reject(1); await agent('x');
        try { await p } catch {} q.catch(() => {}); return 1";
    let result = harness.run(script).await;
    assert_eq!(value_of(&result), json!(1));
    assert_eq!(result.notes, ["agent \"breaks\" failed: its session is gone"]);
}

#[tokio::test]
async fn a_million_dropped_rejections_are_counted() {
    let harness = Harness::new();
    let result = harness
        .run("for (let i = 0; i < 5000; i++) Promise.reject(i); return 1")
        .await;
    assert_eq!(value_of(&result), json!(1));
    assert_eq!(result.notes.len(), 6, "{:?}", result.notes);
    assert_eq!(result.notes[5], "4995 more rejections that nothing handled");
}

#[tokio::test]
async fn a_script_that_waits_for_nothing_fails_at_once() {
    let harness = Harness::new();
    let result = harness
        .run("await agent('one'); log('now'); await new Promise(() => {}); return 'never'")
        .await;
    assert!(error_of(&result).starts_with("nothing left to wait for"));
    let harness = Harness::new();
    let result = harness.run("await { then() {} }").await;
    assert!(error_of(&result).starts_with("nothing left to wait for"));
}
