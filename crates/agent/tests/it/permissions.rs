//! Calls that carry a risk.

mod relayed;
mod standing;

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use weft_agent::{PermissionMode, Permissions};
use weft_tools::{Approval, ApprovalRequest, Approver};
use weft_types::{Message, text_of};

use crate::support::{SpyModels, TestTool, World, end, say};

const TWO_CALLS: &str = r#"
    [[reply]]
    step = 1
    [[reply.tool_call]]
    id = "c1"
    name = "echo"
    [[reply.tool_call]]
    id = "c2"
    name = "risk"
    [[reply]]
    step = 2
    text = "done"
"#;

/// Answers every question alike, or waits for the cancel.
struct Answers {
    answer: Option<Approval>,
    asked: Mutex<Vec<ApprovalRequest>>,
    /// Told when somebody asks.
    asks: Notify,
}

impl Answers {
    /// Waits until it has been asked.
    async fn until_asked(&self) {
        self.asks.notified().await;
    }
}

impl Approver for Answers {
    fn ask(&self, request: ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        self.asked.lock().expect("not poisoned").push(request);
        self.asks.notify_one();
        let answer = self.answer;
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => {
                    cancel.cancelled().await;
                    Approval::Cancelled
                }
            }
        })
    }
}

fn world(mode: PermissionMode, approver: Option<Arc<Answers>>) -> World {
    let risk = TestTool::new("risk", |_| async { Ok(serde_json::json!("done")) }).risky();
    World::with(SpyModels::script(TWO_CALLS), |options| {
        options.permissions = Arc::new(Permissions::new(mode));
        options.approver = approver.map(|approver| approver as Arc<dyn Approver>);
    })
    .tool(TestTool::echo())
    .tool(risk)
}

fn answers(answer: Option<Approval>) -> Arc<Answers> {
    Arc::new(Answers {
        answer,
        asked: Mutex::default(),
        asks: Notify::new(),
    })
}

/// The records of the risky call, and what the model was told.
async fn run(world: &World) -> (Vec<String>, String) {
    assert_eq!(end(&world.prompt("go").await), "completed");
    let words = world.watch.take();
    assert!(
        words.contains(&"result c1 ok".to_owned()),
        "a call without a risk is never asked about"
    );
    let of_risk = words
        .into_iter()
        .filter(|word| word.starts_with("call c2") || word.starts_with("result c2"));
    let requests = world.models.requests();
    let Some(Message::Tool { content, .. }) = requests[1].messages.last() else {
        panic!("the result stands last");
    };
    (of_risk.collect(), text_of(content))
}

#[tokio::test]
async fn full_trust_runs_everything_and_asks_nobody() {
    let approver = answers(Some(Approval::Rejected));
    let (words, _) = run(&world(PermissionMode::Full, Some(Arc::clone(&approver)))).await;
    assert_eq!(words, ["call c2 risk", "result c2 ok"]);
    assert!(approver.asked.lock().expect("not poisoned").is_empty());
}

#[tokio::test]
async fn ask_runs_what_the_user_allows() {
    let approver = answers(Some(Approval::AllowedOnce));
    let world = world(PermissionMode::Ask, Some(Arc::clone(&approver)));
    let (words, _) = run(&world).await;
    assert_eq!(
        words,
        ["call c2 risk ask", "result c2 ok"],
        "the record says that the user was asked"
    );
    let asked = approver.asked.lock().expect("not poisoned");
    assert_eq!((asked.len(), asked[0].tool.as_str()), (1, "risk"));
    assert_eq!(asked[0].agent, world.agent.id());
}

#[tokio::test]
async fn ask_denies_what_the_user_does_not_allow_and_what_nobody_can_be_asked_about() {
    for approver in [
        Some(answers(Some(Approval::Rejected))),
        Some(answers(Some(Approval::Unavailable))),
        None,
    ] {
        let (words, told) = run(&world(PermissionMode::Ask, approver)).await;
        assert_eq!(words[0], "call c2 risk ask");
        assert!(words[1] != "result c2 ok" && told.starts_with("Error: "), "{told}");
    }
}

#[tokio::test]
async fn g82_planning_denies_what_is_not_for_it_and_says_why() {
    let (words, told) = run(&world(PermissionMode::Plan, Some(answers(Some(Approval::AllowedOnce))))).await;
    assert_eq!(words[0], "call c2 risk", "nobody is asked");
    assert!(told.contains("the user chose the mode plan"), "{told}");
}

#[tokio::test]
async fn a_cancel_withdraws_the_question() {
    let approver = answers(None);
    let world = world(PermissionMode::Ask, Some(approver));
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("call c2 risk ask").await;
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
    assert!(
        world
            .watch
            .take()
            .contains(&"result c2 ABORTED_BEFORE_DISPATCH".to_owned())
    );
}
