//! Agents whose sessions are kept in a real store.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use weft_agent::AgentOptions;
use weft_model::ModelEvent;
use weft_session::Session;
use weft_types::{EventBody, SessionId, StopReason, TurnEnd};

use crate::support::{SpyModels, Stored, TestTool, World, end, events, say};

const ONE_CALL: &str = r#"
    [[reply]]
    turn = 1
    step = 1
    text = "let me look"
    [[reply.tool_call]]
    id = "c1"
    name = "echo"
    [[reply]]
    turn = 1
    step = 2
    text = "done"
    [[reply]]
    times = "any"
    text = "fine"
"#;

fn within(session: Arc<Session>) -> impl FnOnce(&mut AgentOptions) {
    move |options| options.session = session
}

/// A tool that counts how often its body ran.
fn counted() -> (TestTool, Arc<AtomicUsize>) {
    let runs = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&runs);
    let tool = TestTool::new("echo", move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok(json!(null)) }
    });
    (tool, runs)
}

/// Lets everything that can go on do so.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_sync_that_is_held_back_holds_back_the_request_and_the_body_of_a_tool() {
    let stored = Stored::new();
    let files = Arc::clone(&stored.files);
    let models = SpyModels::from_fn(move |request| match request.origin.step {
        1 => {
            // Before the answer is there, so that the call in it meets a disk that is busy again.
            files.hold_syncs(true);
            let call = ModelEvent::ToolCall {
                id: "c1".into(),
                name: "echo".to_owned(),
                arguments: "{}".to_owned(),
            };
            events(vec![call, ModelEvent::Finish(StopReason::ToolUse)])
        }
        _ => events(vec![
            ModelEvent::TextDelta("done".to_owned()),
            ModelEvent::Finish(StopReason::EndTurn),
        ]),
    });
    let (tool, bodies) = counted();
    let world = World::with(models, within(stored.create())).tool(tool);
    stored.files.hold_syncs(true);
    let turn = world.agent.prompt(say("go")).expect("idle");
    stored.files.sync_waits().await;
    world.watch.until("header initial test/model").await;
    settle().await;
    assert!(
        world.models.requests().is_empty(),
        "nothing is asked that may be forgotten"
    );
    stored.files.hold_syncs(false);
    world.watch.until("call c1 echo").await;
    stored.files.sync_waits().await;
    settle().await;
    assert_eq!((world.models.requests().len(), bodies.load(Ordering::SeqCst)), (1, 0));
    stored.files.hold_syncs(false);
    assert_eq!(turn.ended().await, TurnEnd::Completed);
    assert_eq!((world.models.requests().len(), bodies.load(Ordering::SeqCst)), (2, 1));
}

#[tokio::test]
async fn a_cancel_does_not_wait_for_a_disk_that_hangs() {
    let stored = Stored::new();
    let world = World::with(SpyModels::script(ONE_CALL), within(stored.create()));
    stored.files.hold_syncs(true);
    let turn = world.agent.prompt(say("go")).expect("idle");
    stored.files.sync_waits().await;
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
    assert!(world.models.requests().is_empty());
    stored.files.hold_syncs(false);
}

#[tokio::test]
async fn whichever_line_a_full_disk_refuses_the_turn_ends_in_one_error_and_goes_on_with_room() {
    let whole = Stored::new();
    let world = World::with(SpyModels::script(ONE_CALL), within(whole.create())).tool(TestTool::echo());
    assert_eq!(world.prompt("go").await, TurnEnd::Completed);
    let types = whole.types();
    let place = |kind: &str| types.iter().position(|logged| logged == kind).expect("logged");
    let (asked, called) = (place("request/header"), place("tool/call"));
    for room in 0..types.len() {
        let stored = Stored::new();
        let (tool, bodies) = counted();
        let world = World::with(SpyModels::script(ONE_CALL), within(stored.create())).tool(tool);
        stored.files.room_for(Some(room));
        let TurnEnd::Error { message } = world.prompt("go").await else {
            panic!("line {room} was refused, the turn must fail");
        };
        assert!(
            message.contains("no storage space") && message.contains("\nhint: "),
            "{room}: {message}"
        );
        assert_eq!(stored.types(), types[..room], "{room}");
        assert_eq!(world.models.requests().is_empty(), room <= asked, "{room}");
        assert_eq!(bodies.load(Ordering::SeqCst) == 0, room <= called, "{room}");
        assert_eq!(world.agent.session().events().expect("readable").len(), room);
        stored.files.room_for(None);
        assert_eq!(world.prompt("again").await, TurnEnd::Completed, "{room}");
        world.models.last_messages();
        stored.is_sound();
        world.agent.close().await;
    }
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_asked_and_the_session_can_still_be_read_and_closed() {
    let stored = Stored::new();
    let (tool, bodies) = counted();
    let world = World::with(SpyModels::script(ONE_CALL), within(stored.create())).tool(tool);
    stored.files.fail_syncs(true);
    for _ in 0..2 {
        let TurnEnd::Error { message } = world.prompt("go").await else {
            panic!("the turn must fail");
        };
        assert!(message.contains("the disk is gone"), "{message}");
        assert!(message.ends_with("close the session and load it anew"), "{message}");
        // A disk that came back has lost what the failed sync was to save.
        stored.files.fail_syncs(false);
    }
    assert!(world.models.requests().is_empty());
    assert_eq!(bodies.load(Ordering::SeqCst), 0);
    let session = Arc::clone(world.agent.session());
    assert_eq!(session.events().expect("readable").len() as u64, session.len());
    world.agent.close().await;
    drop((world, session));
    let world = World::with(SpyModels::script(ONE_CALL), within(stored.elsewhere().open()));
    assert_eq!(
        world.prompt("again").await,
        TurnEnd::Completed,
        "loaded anew it goes on"
    );
}

#[tokio::test]
async fn a_prompt_on_a_damaged_session_fails_with_the_reason_and_is_not_sent() {
    let stored = Stored::new();
    let world = World::with(SpyModels::script(ONE_CALL), within(stored.create()));
    world.prompt("go").await;
    world.agent.close().await;
    drop(world);
    let text = fs::read_to_string(stored.log()).expect("a log");
    let mut lines: Vec<_> = text.split_inclusive('\n').collect();
    lines.remove(4);
    fs::write(stored.log(), lines.concat()).expect("a log");
    let world = World::with(SpyModels::script(ONE_CALL), within(stored.elsewhere().open()));
    let TurnEnd::Error { message } = world.prompt("again").await else {
        panic!("the turn must fail");
    };
    assert!(message.contains("damaged at event 3"), "{message}");
    let hints: Vec<_> = message.match_indices("hint: ").collect();
    assert!(
        hints.len() == 1 && message.contains("sessions export main"),
        "{message}"
    );
    assert!(world.models.requests().is_empty());
    let left = world.agent.session().events().expect("readable");
    let closed = matches!(left.last().expect("events").body, EventBody::TurnEnd { .. });
    assert!(left.len() == 4 && closed, "what is sound, and what closes it: {left:?}");
    world.agent.close().await;
}

#[tokio::test]
async fn a_session_of_another_process_goes_on_with_all_its_history_and_an_unchanged_header_is_not_repeated() {
    let stored = Stored::new();
    let world = World::with(SpyModels::script(ONE_CALL), within(stored.create())).tool(TestTool::echo());
    assert_eq!(world.prompt("first").await, TurnEnd::Completed);
    world.agent.close().await;
    drop(world);
    let before = stored.types().len();
    let world = World::with(SpyModels::script(ONE_CALL), within(stored.elsewhere().open())).tool(TestTool::echo());
    assert_eq!(world.prompt("second").await, TurnEnd::Completed);
    let history = [
        "user first",
        "assistant let me look [c1]",
        "tool c1",
        "assistant done",
        "user second",
    ];
    assert_eq!(world.models.last_messages(), history);
    let added = [
        "turn/start",
        "user/message",
        "step/start",
        "assistant/message",
        "step/end",
        "turn/end",
    ];
    assert_eq!(stored.types()[before..], added, "neither a title nor a header");
    let world = world.tool(TestTool::new("more", |_| async { Ok(json!(null)) }));
    assert_eq!(world.prompt("third").await, TurnEnd::Completed);
    assert!(world.watch.words().contains(&"header changed test/model".to_owned()));
}

#[tokio::test]
async fn a_session_whose_process_died_goes_on_and_every_call_has_one_result() {
    let stored = Stored::new();
    let world = World::with(SpyModels::script(ONE_CALL), within(stored.create())).tool(TestTool::echo());
    assert_eq!(world.prompt("first").await, TurnEnd::Completed);
    world.agent.close().await;
    drop(world);
    let text = fs::read_to_string(stored.log()).expect("a log");
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let events = lines.len() - 1;
    for kept in 1..events {
        let stored = Stored::new();
        fs::create_dir_all(stored.log().parent().expect("a folder")).expect("a new folder");
        fs::write(stored.log(), lines[..=kept].concat()).expect("a log");
        let world = World::with(SpyModels::script(ONE_CALL), within(stored.open())).tool(TestTool::echo());
        // Its script knows turn 1 only in full; what was closed is turn 1 all the same.
        assert_eq!(world.prompt("second").await, TurnEnd::Completed, "{kept}");
        let messages = world.models.last_messages();
        assert_eq!(messages.last().map(String::as_str), Some("user second"), "{kept}");
        let call = "assistant let me look [c1]".to_owned();
        if let Some(at) = messages.iter().position(|message| *message == call) {
            assert!(messages[at + 1].starts_with("tool c1"), "{kept}: {messages:?}");
        }
        stored.is_sound();
        assert_eq!(world.agent.session().id(), &SessionId::new("main"));
    }
}
