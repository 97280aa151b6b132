//! Questions of agents that work for the user's agent.

use std::sync::Arc;

use futures::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weft_agent::AgentContext;
use weft_tools::{
    Access, Approval, ApprovalRequest, Approver, Asker, Decision, ToolCallRequest, ToolExecution, ToolRegistry,
};
use weft_types::AgentId;

use super::select;
use crate::support::{Client, TestTool, World, text_of_update};

const OUTER: &str =
    "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"outer\"\n[[reply]]\nstep = 2\ntext = \"done\"\n";

/// Passes questions on in the name of a member.
struct Relay {
    to: Arc<dyn Approver>,
    member: usize,
}

impl Approver for Relay {
    fn ask(&self, mut request: ApprovalRequest, cancel: CancellationToken) -> BoxFuture<'static, Approval> {
        request.asker = Some(Asker {
            session: format!("s{}", self.member).as_str().into(),
            name: format!("member `m{}` of workflow `demo`", self.member),
            within: Some("c1".into()),
        });
        self.to.ask(request, cancel)
    }
}

/// Whether the one risky call of a member, which has the id of its user's own, was allowed.
async fn work(tools: ToolRegistry, execution: ToolExecution, member: usize) -> bool {
    let context = execution.extension::<AgentContext>().expect("an agent calls");
    let layer = tools.layer();
    layer.set_approver(Arc::new(Relay {
        to: Arc::clone(context.approver.as_ref().expect("it can ask")),
        member,
    }));
    let _asks = layer.before_execute(|_| Decision::Ask);
    let call = ToolCallRequest {
        agent: Some(AgentId::mint()),
        signal: execution.signal().clone(),
        ..ToolCallRequest::new("c1".into(), "risk", r#"{"command":"rm"}"#)
    };
    layer.execute(call).await.outcome.is_ok()
}

/// A world in which the tool `outer` has so many members at work, and gives what became of their calls.
fn world(members: usize) -> World {
    let world = World::new(OUTER).tool(TestTool::new("risk", |_| async { Ok(json!("ran")) }).risky());
    let tools = world.tools.clone();
    world.tool(TestTool::new("outer", move |execution| {
        let tools = tools.clone();
        async move {
            let work = |member| work(tools.clone(), execution.clone(), member);
            Ok(json!(join_all((1..=members).map(work)).await))
        }
    }))
}

/// The statuses of a card, in order.
fn statuses(updates: &[Value], card: &str) -> Vec<String> {
    let of_card = updates.iter().filter(|update| update["toolCallId"] == card);
    of_card
        .map(|update| update["status"].as_str().unwrap_or("pending").to_owned())
        .collect()
}

#[tokio::test]
async fn prm01_prm03_each_member_asks_for_itself_about_a_card_of_its_own() {
    let mut client = Client::start(world(3).options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let mut questions = Vec::new();
    for _ in 0..3 {
        questions.push(client.question().await);
    }
    let announced = client.updates();
    for (at, question) in questions.iter().enumerate() {
        let card = format!("s{}/c1", at + 1);
        assert_eq!(question["params"]["sessionId"], json!(session));
        let asked = &question["params"]["toolCall"];
        assert_eq!(asked["toolCallId"], json!(card));
        assert_eq!(
            asked["title"],
            json!(format!("member `m{}` of workflow `demo`: risk", at + 1))
        );
        assert_eq!(asked["rawInput"], json!({ "command": "rm" }));
        assert_eq!(
            statuses(&announced, &card),
            ["pending"],
            "announced before it is asked about"
        );
    }
    let meta = &announced
        .iter()
        .find(|update| update["toolCallId"] == "s2/c1")
        .expect("announced")["_meta"];
    assert_eq!(
        meta["weft/asker"],
        json!({ "sessionId": "s2", "callId": "c1", "within": "c1" })
    );
    for (at, option) in [(2, "allow_once"), (1, "reject_once"), (0, "allow_once")] {
        select(&mut client, &questions[at], option);
    }
    assert_eq!(client.response(prompt).await["result"]["stopReason"], json!("end_turn"));
    let updates = client.updates();
    assert_eq!(statuses(&updates, "s1/c1"), ["in_progress", "completed"]);
    assert_eq!(statuses(&updates, "s2/c1"), ["failed"]);
    assert_eq!(statuses(&updates, "s3/c1"), ["in_progress", "completed"]);
    let outer: Vec<&Value> = updates.iter().filter(|update| update["toolCallId"] == "c1").collect();
    assert_eq!(text_of_update(outer.last().expect("it ended")), "[true,false,true]");
    client.end().await;
}

#[tokio::test]
async fn a_cancel_ends_the_cards_of_members_that_ask_before_the_prompt_is_answered() {
    let mut client = Client::start(world(2).options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    let questions = [client.question().await, client.question().await];
    client.cancel(&session);
    assert_eq!(
        client.response(prompt).await["result"]["stopReason"],
        json!("cancelled")
    );
    let updates = client.updates();
    for card in ["s1/c1", "s2/c1"] {
        assert_eq!(statuses(&updates, card), ["pending", "failed"]);
    }
    // Answers that come too late are nobody's.
    for question in &questions {
        select(&mut client, question, "allow_once");
    }
    client.session().await;
    assert!(client.updates().is_empty());
    client.end().await;
}

#[tokio::test]
async fn the_card_of_a_question_whose_call_is_never_made_ends_with_the_turn() {
    let world = World::new(OUTER).tool(TestTool::new("outer", |execution| async move {
        let context = execution.extension::<AgentContext>().expect("an agent calls");
        let to = Arc::clone(context.approver.as_ref().expect("it can ask"));
        let request = ApprovalRequest {
            agent: AgentId::mint(),
            call_id: "later".into(),
            root_call_id: "c1".into(),
            tool: "other".to_owned(),
            arguments: json!({}),
            access: Access::Other,
            standing: Vec::new(),
            asker: None,
        };
        let answer = Relay { to, member: 1 }.ask(request, execution.signal().clone()).await;
        Ok(json!(format!("{answer:?}")))
    }));
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    client.question().await;
    client.cancel(&session);
    assert_eq!(
        client.response(prompt).await["result"]["stopReason"],
        json!("cancelled")
    );
    assert_eq!(statuses(&client.updates(), "s1/later"), ["pending", "failed"]);
    client.end().await;
}

#[tokio::test]
async fn the_card_of_a_member_ends_with_the_session() {
    let mut client = Client::start(world(1).options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "go");
    client.question().await;
    let closed = client.call("session/close", json!({ "sessionId": session })).await;
    assert!(closed["error"].is_null(), "{closed}");
    client.response(prompt).await;
    assert_eq!(statuses(&client.updates(), "s1/c1"), ["pending", "failed"]);
    client.end().await;
}
