//! The `agent` tool: what its model, its user and observers get.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weft_agent::{Agent, AgentTool, ChildObservation, SubagentLimits, Subagents, children_in};
use weft_observe::Subscription;
use weft_session::Session;
use weft_tools::Tool as _;
use weft_types::{CallId, EventBody, SessionId, TurnEnd, text_of};

use crate::support::{Family, TestTool, World, alive_tasks, last_end, say};

/// A user's agent that has the tool, and what is seen of it.
struct Scene {
    world: World,
    family: Family,
    children: Arc<Mutex<Vec<ChildObservation>>>,
    reports: Arc<Mutex<Vec<(CallId, String)>>>,
    _subscriptions: [Subscription; 2],
}

impl Scene {
    fn new(script: &str) -> Self {
        Self::with(script, |_| {})
    }

    fn with(script: &str, change: impl FnOnce(&mut Family)) -> Self {
        let mut family = Family::new(script).tool(TestTool::echo());
        family
            .tools
            .register(Arc::new(AgentTool::default()))
            .expect("a good tool")
            .keep();
        change(&mut family);
        let subagents = Arc::new(Subagents::new());
        subagents.register(Subagents::DEFAULT_PROVIDER, Arc::new(family.provider.clone()));
        let (children, reports) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<Mutex<Vec<_>>>::default());
        let (into, tools) = (Arc::clone(&children), family.tools.layer());
        let seen = subagents.children().subscribe(None, move |child| {
            into.lock().expect("not poisoned").push(child.clone());
        });
        let world = World::with(family.models.clone(), |options| {
            options.subagents = Arc::clone(&subagents);
            options.tools = tools;
        });
        let into = Arc::clone(&reports);
        let reported = world
            .agent
            .tools()
            .progress()
            .subscribe(Some(world.agent.id()), move |report| {
                let text = text_of(&report.view.content);
                into.lock().expect("not poisoned").push((report.call_id.clone(), text));
            });
        Self {
            world,
            family,
            children,
            reports,
            _subscriptions: [seen, reported],
        }
    }

    fn reports(&self, call: &str) -> Vec<String> {
        let reports = self.reports.lock().expect("not poisoned");
        let of_call = reports.iter().filter(|(id, _)| id.as_str() == call);
        of_call.map(|(_, text)| text.clone()).collect()
    }

    /// Whether a child has ended.
    fn has_ended(&self) -> bool {
        let children = self.children.lock().expect("not poisoned");
        children
            .iter()
            .any(|seen| matches!(seen, ChildObservation::Ended { .. }))
    }

    /// The first child that has started.
    fn child(&self) -> Option<Agent> {
        let children = self.children.lock().expect("not poisoned");
        children.iter().find_map(|observation| match observation {
            ChildObservation::Started(child) => Some(child.agent.clone()),
            ChildObservation::Ended { .. } => None,
        })
    }
}

/// Text, error and children of a call's result.
fn result(session: &Session, call: &str) -> (String, bool, Vec<SessionId>) {
    let events = session.events().expect("readable");
    let found = events.iter().find_map(|event| match &event.body {
        EventBody::ToolResult {
            call_id,
            content,
            error,
            meta,
            ..
        } if call_id.as_str() == call => Some((text_of(content), error.is_some(), children_in(meta.as_ref()))),
        _ => None,
    });
    found.expect("a result")
}

fn calls_agent(arguments: &Value) -> String {
    let arguments = arguments.to_string();
    format!(
        "[[reply]]\nrole = \"main\"\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"agent\"\narguments_text = '{arguments}'\n"
    )
}

#[test]
fn a_model_is_told_of_other_providers_only_if_there_are_any() {
    let provider = |tool: AgentTool| tool.spec().parameters["properties"]["provider"].clone();
    assert_eq!(provider(AgentTool::default()), Value::Null);
    let tool = AgentTool {
        providers: vec!["acp:far".to_owned()],
    };
    assert_eq!(provider(tool)["enum"], json!(["acp:far"]));
}

#[tokio::test]
async fn a_call_may_name_one_of_the_providers() {
    let script = calls_agent(&json!({ "prompt": "go", "provider": "acp:far" })) + MAIN_ENDS;
    let scene = Scene::with(&script, |family| {
        let offering = AgentTool {
            providers: vec!["acp:far".to_owned()],
        };
        family.tools = family.tools.layer();
        family.tools.register(Arc::new(offering)).expect("a good tool").keep();
    });
    assert_eq!(scene.world.prompt("go").await, TurnEnd::Completed);
    let (text, failed, _) = result(scene.world.agent.session(), "c1");
    assert!(failed && text.contains("there is no provider \"acp:far\""), "{text}");
}

const MAIN_ENDS: &str = "[[reply]]\nrole = \"main\"\nstep = 2\ntext = \"done\"\n";

#[tokio::test]
async fn its_answer_is_the_result_and_its_work_is_the_cards_progress() {
    let script = calls_agent(&json!({ "prompt": "Look around.\nThen tell.", "label": "scout" }))
        + MAIN_ENDS
        + r#"
        [[reply]]
        label = "scout"
        step = 1
        text = "I echo *first*.\nLike so:"
        [[reply.tool_call]]
        id = "e1"
        name = "echo"
        [[reply]]
        label = "scout"
        step = 2
        text = "All is well."
        "#;
    let scene = Scene::new(&script);
    assert_eq!(scene.world.prompt("go").await, TurnEnd::Completed);
    let child = scene.family.child();
    let (text, failed, children) = result(scene.world.agent.session(), "c1");
    assert_eq!((text.as_str(), failed), ("All is well.", false));
    assert_eq!(children, [child.id().clone()]);
    assert_eq!(child.header().label.as_deref(), Some("scout"));
    let reports = scene.reports("c1");
    assert!(reports[0].starts_with("- Said: Like so:"), "{reports:?}");
    assert!(
        reports.iter().any(|text| text.starts_with("- Now: echo\n")),
        "{reports:?}"
    );
    assert!(
        reports.iter().any(|text| text.starts_with("- Last: echo\n")),
        "{reports:?}"
    );
    let observed = scene.children.lock().expect("not poisoned");
    let [
        ChildObservation::Started(start),
        ChildObservation::Ended { child: end, .. },
    ] = &observed[..]
    else {
        panic!("one start and one end, found {observed:?}");
    };
    assert_eq!(start.call.as_ref().map(CallId::as_str), Some("c1"));
    assert_eq!(&start.parent, scene.world.agent.session().id());
    assert_eq!(start.agent.id(), end.agent.id());
}

#[tokio::test]
async fn several_work_at_the_same_time_and_each_call_has_its_own() {
    let script = r#"
        [[reply]]
        role = "main"
        step = 1
        [[reply.tool_call]]
        id = "c1"
        name = "agent"
        arguments = { prompt = "one" }
        [[reply.tool_call]]
        id = "c2"
        name = "agent"
        arguments = { prompt = "two" }
        [[reply]]
        label = "one"
        gate = "first"
        text = "1"
        [[reply]]
        label = "two"
        text = "2"
    "#;
    let scene = Scene::new(&(script.to_owned() + MAIN_ENDS));
    let turn = scene.world.agent.prompt(say("go")).expect("idle");
    // The second is done while the first is held: they overlap.
    while !scene.has_ended() {
        tokio::task::yield_now().await;
    }
    scene.family.models.scripted().open_gate("first").expect("a gate");
    assert_eq!(turn.ended().await, TurnEnd::Completed);
    let session = scene.world.agent.session();
    assert_eq!(
        (result(session, "c1").0, result(session, "c2").0),
        ("1".to_owned(), "2".to_owned())
    );
}

#[tokio::test]
async fn a_failed_one_fails_its_call_with_the_reason_and_what_it_had_said() {
    let script = calls_agent(&json!({ "prompt": "try" }))
        + MAIN_ENDS
        + "[[reply]]\nrole = \"subagent\"\ntext = \"half\"\nerror = { kind = \"network\", message = \"gone\" }\n";
    let scene = Scene::new(&script);
    assert_eq!(scene.world.prompt("go").await, TurnEnd::Completed);
    let (text, failed, children) = result(scene.world.agent.session(), "c1");
    assert!(failed);
    assert_eq!(
        text,
        "Error: the agent failed: the answer broke off: gone; the last it said:\nhalf"
    );
    assert_eq!(children, [scene.family.child().id().clone()]);
}

#[tokio::test]
async fn one_too_deep_is_refused_and_nothing_is_created() {
    let scene = Scene::with(
        &(calls_agent(&json!({ "prompt": "one" }))
            + MAIN_ENDS
            + r#"
            [[reply]]
            role = "subagent"
            step = 1
            [[reply.tool_call]]
            id = "deep"
            name = "agent"
            arguments = { prompt = "two" }
            [[reply]]
            role = "subagent"
            step = 2
            text = "alone then"
            "#),
        |family| family.provider.bounds = SubagentLimits::default().max_depth(1).expect("in range"),
    );
    assert_eq!(scene.world.prompt("go").await, TurnEnd::Completed);
    let (text, failed, children) = result(&scene.family.child(), "deep");
    let expected = "Error: failed to start a subagent: it would stand 2 levels below the user's agent, the limit \
                    agent.max_depth is 1; do the work yourself";
    assert_eq!((text.as_str(), failed, children.len()), (expected, true, 0));
    assert_eq!(scene.family.children(), 1);
}

#[tokio::test]
async fn a_cancel_of_the_turn_stops_it_before_the_call_ends() {
    let script = calls_agent(&json!({ "prompt": "wait" })) + "[[reply]]\nrole = \"subagent\"\nhang = true\n";
    let scene = Scene::new(&script);
    let turn = scene.world.agent.prompt(say("go")).expect("idle");
    while scene.family.models.open_streams() == 0 {
        tokio::task::yield_now().await;
    }
    scene.world.agent.cancel();
    turn.ended().await;
    assert_eq!(last_end(&scene.family.child()), "aborted parent");
    let (text, failed, _) = result(scene.world.agent.session(), "c1");
    assert!(failed && text.contains("stopped with this call"), "{text}");
    scene.children.lock().expect("not poisoned").clear();
    assert_eq!(alive_tasks(), 1, "only the parent's actor");
}

#[tokio::test]
async fn a_cancel_of_the_child_alone_fails_its_call_and_the_parent_goes_on() {
    let script =
        calls_agent(&json!({ "prompt": "wait" })) + MAIN_ENDS + "[[reply]]\nrole = \"subagent\"\nhang = true\n";
    let scene = Scene::new(&script);
    let turn = scene.world.agent.prompt(say("go")).expect("idle");
    while scene.family.models.open_streams() == 0 {
        tokio::task::yield_now().await;
    }
    scene.child().expect("started").cancel();
    assert_eq!(turn.ended().await, TurnEnd::Completed);
    let (text, failed, _) = result(scene.world.agent.session(), "c1");
    assert!(failed && text.contains("stopped by the user"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn sub01_a_silent_one_is_told_of_every_few_seconds() {
    let script = calls_agent(&json!({ "prompt": "wait" })) + "[[reply]]\nrole = \"subagent\"\nhang = true\n";
    let scene = Scene::new(&script);
    let turn = scene.world.agent.prompt(say("go")).expect("idle");
    tokio::time::sleep(std::time::Duration::from_millis(9_500)).await;
    assert_eq!(scene.reports("c1"), ["- So far: 3 s", "- So far: 6 s", "- So far: 9 s"]);
    scene.world.agent.cancel();
    turn.ended().await;
}

#[tokio::test]
async fn an_answer_in_a_schema_is_the_result() {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let script = calls_agent(&json!({ "prompt": "count", "schema": schema }))
        + MAIN_ENDS
        + r#"
        [[reply]]
        role = "subagent"
        [[reply.tool_call]]
        name = "structured_output"
        arguments = { n = 4 }
        "#;
    let scene = Scene::new(&script);
    assert_eq!(scene.world.prompt("go").await, TurnEnd::Completed);
    let (text, failed, _) = result(scene.world.agent.session(), "c1");
    assert_eq!((text.as_str(), failed), ("{\n  \"n\": 4\n}", false));
}

#[tokio::test]
async fn a_blank_task_and_a_name_that_is_no_model_are_errors_of_the_call() {
    for (arguments, expected) in [
        (json!({ "prompt": " \n" }), "blank prompt"),
        (json!({ "prompt": "go", "model": "nowhere/none" }), "the agent failed"),
    ] {
        let scene = Scene::new(&(calls_agent(&arguments) + MAIN_ENDS));
        assert_eq!(scene.world.prompt("go").await, TurnEnd::Completed);
        let (text, failed, _) = result(scene.world.agent.session(), "c1");
        assert!(failed && text.contains(expected), "{text}");
    }
}
