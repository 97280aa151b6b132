//! Answers that stand for more than one call, and the mode, in the log and after it was read again.

use std::sync::{Arc, Mutex};

use serde_json::json;
use weft_agent::{Chosen, KeepError, PermissionMode, Permissions, ProjectRules};
use weft_tools::{Approval, Approver};
use weft_types::{EventBody, RuleEffect};

use super::{Answers, answers};
use crate::support::{SpyModels, TestTool, World, end, restored, say};

/// Each turn makes one risky call.
const ONE_CALL: &str = r#"
    [[reply]]
    times = "any"
    step = 1
    [[reply.tool_call]]
    name = "risk"
    [[reply]]
    times = "any"
    step = 2
    text = "done"
"#;

fn world(permissions: Permissions, approver: &Arc<Answers>) -> World {
    let risk = TestTool::new("risk", |_| async { Ok(json!("done")) }).risky();
    World::with(SpyModels::script(ONE_CALL), |options| {
        options.permissions = Arc::new(permissions);
        options.approver = Some(Arc::clone(approver) as Arc<dyn Approver>);
    })
    .tool(risk)
}

/// How a turn's call ended, and what was written of settings meanwhile.
async fn turn(world: &World) -> (String, Vec<String>) {
    assert_eq!(end(&world.prompt("go").await), "completed");
    let words = world.watch.take();
    let result = words.iter().find(|word| word.starts_with("result")).expect("a result");
    let ended = result.rsplit(' ').next().expect("words").to_owned();
    let denied = result.split_once(": ").map(|(_, reason)| reason.to_owned());
    let settings = words
        .into_iter()
        .filter(|word| word.starts_with("Session") || word.starts_with("notice"))
        .collect();
    (denied.unwrap_or(ended), settings)
}

fn rule(effect: &str) -> String {
    format!("SessionRule {{ rule: \"risk\", effect: {effect} }}")
}

/// Where rules for the project go, or why they do not.
struct Kept {
    rules: Mutex<Vec<String>>,
    fails: bool,
}

impl ProjectRules for Kept {
    fn keep(&self, effect: RuleEffect, rules: &[String]) -> Result<(), KeepError> {
        if self.fails {
            return Err("the disk is full".into());
        }
        let mut kept = self.rules.lock().expect("not poisoned");
        kept.extend(rules.iter().map(|rule| format!("{effect:?} {rule}")));
        Ok(())
    }
}

#[tokio::test]
async fn an_answer_for_the_session_is_written_down_and_asked_for_once() {
    let approver = answers(Some(Approval::Standing(0)));
    let world = world(Permissions::new(PermissionMode::Ask), &approver);
    assert_eq!(turn(&world).await, ("ok".to_owned(), vec![rule("Allow")]));
    assert_eq!(turn(&world).await, ("ok".to_owned(), vec![]));
    let asked = approver.asked.lock().expect("not poisoned");
    assert_eq!(asked.len(), 1);
    let offered: Vec<_> = asked[0].standing.iter().map(|answer| answer.label.as_str()).collect();
    assert_eq!(
        offered,
        [
            "Always allow `risk` in this session",
            "Always reject `risk` in this session"
        ]
    );
}

#[tokio::test]
async fn a_rejection_for_the_session_denies_without_a_question_from_then_on() {
    let approver = answers(Some(Approval::Standing(1)));
    let world = world(Permissions::new(PermissionMode::Ask), &approver);
    assert_eq!(
        turn(&world).await,
        ("the user rejected it".to_owned(), vec![rule("Deny")])
    );
    world.agent.set_mode(PermissionMode::Full);
    assert_eq!(turn(&world).await.0, "the rule `risk` denies it", "in every mode");
    assert_eq!(approver.asked.lock().expect("not poisoned").len(), 1);
}

#[tokio::test]
async fn an_answer_that_was_not_offered_rejects() {
    let approver = answers(Some(Approval::Standing(2)));
    let world = world(Permissions::new(PermissionMode::Ask), &approver);
    assert_eq!(turn(&world).await, ("the user rejected it".to_owned(), vec![]));
}

#[tokio::test]
async fn an_answer_for_the_project_is_kept_there_and_else_in_the_session_with_a_word_to_the_user() {
    for fails in [false, true] {
        let kept = Arc::new(Kept {
            rules: Mutex::default(),
            fails,
        });
        let permissions = Permissions::new(PermissionMode::Ask).kept_in(Arc::clone(&kept) as Arc<dyn ProjectRules>);
        let approver = answers(Some(Approval::Standing(1)));
        let world = world(permissions, &approver);
        let (ended, settings) = turn(&world).await;
        assert_eq!(ended, "ok");
        let rules = kept.rules.lock().expect("not poisoned").clone();
        if fails {
            assert!(settings[0].contains("the disk is full"), "{settings:?}");
            assert_eq!((settings[1..].to_vec(), rules), (vec![rule("Allow")], vec![]));
        } else {
            assert_eq!((settings, rules), (vec![], vec!["Allow risk".to_owned()]));
        }
        assert_eq!(turn(&world).await.0, "ok");
        assert_eq!(
            approver.asked.lock().expect("not poisoned").len(),
            1,
            "it holds at once"
        );
    }
}

#[tokio::test]
async fn what_was_set_holds_again_once_the_log_was_read() {
    let approver = answers(Some(Approval::Standing(1)));
    let first = world(Permissions::new(PermissionMode::Ask), &approver);
    first.agent.set_mode(PermissionMode::AcceptEdits);
    turn(&first).await;
    let events = first.agent.session().page(0, 1_000).expect("in memory");
    first.agent.close().await;

    let session = restored(&events);
    let mut chosen = Chosen::default();
    events.iter().for_each(|event| chosen.push(&event.body));
    let permissions = Permissions::new(chosen.mode.expect("it was changed"));
    permissions.restore(&chosen.rules);
    let second = World::with(SpyModels::script(ONE_CALL), |options| {
        options.session = session;
        options.permissions = Arc::new(permissions);
    })
    .tool(TestTool::new("risk", |_| async { Ok(json!("done")) }).risky());
    assert_eq!(second.agent.mode(), PermissionMode::AcceptEdits);
    assert_eq!(turn(&second).await, ("the rule `risk` denies it".to_owned(), vec![]));
}

#[tokio::test]
async fn e06_a_mode_is_logged_at_once_in_a_turn_and_else_with_the_next_one() {
    let approver = answers(Some(Approval::AllowedOnce));
    let world = world(Permissions::new(PermissionMode::Ask), &approver);
    world.agent.set_mode(PermissionMode::Plan);
    world.agent.set_mode(PermissionMode::Full);
    assert!(world.watch.take().is_empty(), "between turns nothing is written");
    assert_eq!(
        turn(&world).await.1,
        ["SessionMode { mode: \"full\" }"],
        "the last wins"
    );
    world.agent.set_mode(PermissionMode::Plan);
    world.agent.set_mode(PermissionMode::Full);
    assert_eq!(turn(&world).await.1, Vec::<String>::new(), "nothing has changed");
}

#[tokio::test]
async fn e06_a_change_in_an_open_turn_leaves_an_open_question_alone() {
    let approver = answers(None);
    let risk = TestTool::new("risk", |_| async { Ok(json!("done")) }).risky();
    let world = World::with(SpyModels::script(ONE_CALL), |options| {
        options.permissions = Arc::new(Permissions::new(PermissionMode::Ask));
        options.approver = Some(Arc::clone(&approver) as Arc<dyn Approver>);
    })
    .tool(risk);
    let turn = world.agent.prompt(say("go")).expect("idle");
    approver.until_asked().await;
    world.agent.set_mode(PermissionMode::Full);
    world.agent.set_mode(PermissionMode::Full);
    let logged = |world: &World| {
        let events = world.agent.session().last_turn();
        let modes = events
            .iter()
            .filter(|event| matches!(event.body, EventBody::SessionMode { .. }));
        modes.count()
    };
    assert_eq!(logged(&world), 1, "at once, and once");
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
    let words = world.watch.take();
    assert!(
        words.iter().any(|word| word.ends_with("ABORTED_BEFORE_DISPATCH")),
        "{words:?}"
    );
}
