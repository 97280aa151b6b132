//! What breaks, and what is left of the agent then.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use futures::future::BoxFuture;
use serde_json::json;
use weft_agent::Limits;
use weft_model::{ModelError, ModelErrorKind, ModelEvent, Models, ResolvedModel};
use weft_session::{EventLog, EventReader, LogError, MemoryLog, Session, closing_events};
use weft_types::{Event, StopReason, TurnEnd, UnixMillis};

use crate::support::{SpyModels, TestTool, World, end, events, header};

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.to_owned())
}

fn fine() -> weft_model::ModelStream {
    events(vec![text("fine"), ModelEvent::Finish(StopReason::EndTurn)])
}

#[tokio::test]
async fn a_panic_inside_the_models_adapter_ends_the_turn_and_keeps_what_was_shown() {
    let models = SpyModels::from_fn(|request| match request.origin.turn {
        1 => panic!("on purpose"),
        2 => futures::stream::iter([Ok(text("half"))])
            .chain(futures::stream::once(async { panic!("half-way") }))
            .boxed(),
        _ => fine(),
    });
    let world = World::with(models, |_| {});
    let expected = "error: the model's adapter panicked: on purpose";
    assert_eq!(end(&world.prompt("one").await), expected);
    let expected = "error: the answer broke off: the model's adapter panicked: half-way";
    assert_eq!(end(&world.prompt("two").await), expected);
    assert!(world.watch.words().contains(&"interrupted half".to_owned()));
    assert_eq!(end(&world.prompt("three").await), "completed");
    assert_eq!(world.models.last_messages()[2], "assistant half");
}

/// Models whose lookup panics while a switch is on.
struct PanickingModels {
    inner: SpyModels,
    panics: AtomicBool,
}

impl Models for PanickingModels {
    fn resolve(&self, choice: Option<&str>) -> Result<ResolvedModel, ModelError> {
        assert!(!self.panics.load(Ordering::SeqCst), "on purpose");
        self.inner.resolve(choice)
    }
}

#[tokio::test]
async fn a_panic_inside_the_loop_ends_the_turn_with_a_closed_log_and_a_usable_agent() {
    let models = Arc::new(PanickingModels {
        inner: SpyModels::from_fn(|_| fine()),
        panics: AtomicBool::new(true),
    });
    let world = World::with(models.inner.clone(), |options| options.models = models.clone());
    assert_eq!(
        end(&world.prompt("one").await),
        "error: the agent's loop panicked: on purpose"
    );
    assert_eq!(
        world.watch.take(),
        [
            "turn/start 1",
            "user one",
            "title one",
            "step/start 1",
            "step/end 1",
            "turn/end error: the agent's loop panicked: on purpose",
        ]
    );
    models.panics.store(false, Ordering::SeqCst);
    assert_eq!(end(&world.prompt("two").await), "completed");
    assert_eq!(world.models.last_messages(), ["user one", "user two"]);
}

#[tokio::test]
async fn a_tool_that_panics_fails_its_call_only() {
    let script =
        "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"bad\"\n[[reply]]\nstep = 2\ntext = \"fine\"\n";
    let world = World::new(script).tool(TestTool::new("bad", |_| async { panic!("on purpose") }));
    assert_eq!(end(&world.prompt("go").await), "completed");
    assert!(
        world
            .watch
            .take()
            .contains(&"result c1 tool bad panicked: on purpose".to_owned())
    );
}

#[tokio::test]
async fn without_a_model_the_turn_says_what_to_set() {
    struct NoModels;
    impl Models for NoModels {
        fn resolve(&self, _: Option<&str>) -> Result<ResolvedModel, ModelError> {
            Err(ModelError::new(
                ModelErrorKind::NotConfigured,
                "no model is configured; set `model`",
            ))
        }
    }
    let world = World::with(SpyModels::from_fn(|_| fine()), |options| {
        options.models = Arc::new(NoModels);
    });
    assert_eq!(
        end(&world.prompt("go").await),
        "error: no model is configured; set `model`"
    );
    let words = world.watch.take();
    assert_eq!(words[3..5], ["step/start 1", "step/end 1"]);
}

#[tokio::test]
async fn an_answer_longer_than_the_limit_is_cut_off_there() {
    let limits = Limits::default().answer_bytes(1 << 10).expect("in range");
    let endless = || futures::stream::repeat_with(|| Ok(text(&"x".repeat(100)))).boxed();
    let world = World::with(SpyModels::from_fn(move |_| endless()), |options| {
        options.limits = limits;
    });
    let expected = "error: the answer broke off: the model's answer is longer than the limit answer_bytes, 1024 bytes";
    assert_eq!(end(&world.prompt("go").await), expected);
    let interrupted = format!("interrupted {}", "x".repeat(1_100));
    assert!(world.watch.take().contains(&interrupted));
    assert_eq!(world.models.open_streams(), 0);
}

#[tokio::test]
async fn calls_without_end_are_cut_off_too() {
    let limits = Limits::default().answer_bytes(1 << 10).expect("in range");
    let numbers = AtomicUsize::new(0);
    let call = move || ModelEvent::ToolCall {
        id: weft_types::CallId::new(numbers.fetch_add(1, Ordering::SeqCst).to_string()),
        name: String::new(),
        arguments: String::new(),
    };
    let call = Arc::new(call);
    let models = SpyModels::from_fn(move |_| {
        let call = Arc::clone(&call);
        futures::stream::repeat_with(move || Ok(call())).boxed()
    });
    let world = World::with(models, |options| options.limits = limits);
    let expected = "error: the model's answer is longer than the limit answer_bytes, 1024 bytes";
    assert_eq!(end(&world.prompt("go").await), expected);
    assert!(!world.watch.take().iter().any(|word| word.starts_with("call")));
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_an_end_is_a_failure_and_is_asked_for_again_if_nothing_was_shown() {
    let models = SpyModels::from_fn(|request| match request.origin.turn {
        1 => futures::stream::empty().boxed(),
        _ => futures::stream::iter([Ok(text("half"))]).boxed(),
    });
    let world = World::with(models, |_| {});
    let expected =
        "error: the model's answer stopped without an end (gave up after 5 attempts, the limit agent.max_attempts)";
    assert_eq!(end(&world.prompt("one").await), expected);
    let expected = "error: the answer broke off: the model's answer stopped without an end";
    assert_eq!(end(&world.prompt("two").await), expected);
    assert_eq!(world.models.requests().len(), 6);
}

/// A log that refuses appends, or to be durable, while told to.
#[derive(Clone, Default)]
struct FaultyLog {
    taken: MemoryLog,
    /// How many appends it still takes.
    takes: Arc<Mutex<Option<usize>>>,
    /// How many times it still is durable.
    durable: Arc<Mutex<Option<usize>>>,
    panics: Arc<AtomicBool>,
}

fn count_down(left: &Mutex<Option<usize>>) -> Result<(), LogError> {
    match &mut *left.lock().expect("not poisoned") {
        None => Ok(()),
        Some(0) => Err(LogError::new("append to the test log", "no space left")),
        Some(left) => {
            *left -= 1;
            Ok(())
        }
    }
}

impl EventLog for FaultyLog {
    fn append(&mut self, event: &Arc<Event>) -> Result<(), LogError> {
        assert!(!self.panics.load(Ordering::SeqCst), "on purpose");
        count_down(&self.takes)?;
        self.taken.append(event)
    }

    fn flush(&mut self) -> BoxFuture<'static, Result<(), LogError>> {
        Box::pin(std::future::ready(count_down(&self.durable)))
    }

    fn reader(&self) -> Arc<dyn EventReader> {
        self.taken.reader()
    }
}

const ONE_CALL: &str = r#"
    [[reply]]
    turn = 1
    step = 1
    [[reply.tool_call]]
    id = "c1"
    name = "echo"
    [[reply]]
    turn = 1
    step = 2
    text = "done"
    [[reply]]
    text = "fine"
"#;

fn on_log(log: &FaultyLog) -> World {
    let clock = Arc::new(|| UnixMillis(0));
    let session = Session::create(header("main"), Box::new(log.clone()), clock, Vec::new());
    World::with(SpyModels::script(ONE_CALL), |options| options.session = session).tool(TestTool::echo())
}

#[tokio::test]
async fn whichever_append_fails_the_turn_ends_in_error_and_the_agent_recovers_with_the_log() {
    let whole = on_log(&FaultyLog::default());
    assert_eq!(end(&whole.prompt("go").await), "completed");
    let events = whole
        .watch
        .take()
        .iter()
        .filter(|word| !word.starts_with("delta"))
        .count();
    assert_eq!(events, 13);
    for takes in 0..events {
        let log = FaultyLog::default();
        let world = on_log(&log);
        *log.takes.lock().expect("not poisoned") = Some(takes);
        let TurnEnd::Error { message } = world.prompt("go").await else {
            panic!("append {takes} failed, the turn must too");
        };
        assert!(
            message.contains("no space left") && message.contains("\nhint: "),
            "{takes}: {message}"
        );
        assert_eq!(world.agent.session().len() as usize, takes);
        world.prompt("still full").await;
        *log.takes.lock().expect("not poisoned") = None;
        let end = end(&world.prompt("again").await);
        assert_eq!(end, "completed", "{takes}: {:?}", world.watch.words());
        world.models.last_messages();
        let events = world.agent.session().last_turn();
        assert!(closing_events(&events, TurnEnd::Interrupted).is_empty());
    }
}

#[tokio::test]
async fn a_log_that_panicked_is_written_no_more_and_the_agent_says_what_to_do() {
    let log = FaultyLog::default();
    let world = on_log(&log);
    log.panics.store(true, Ordering::SeqCst);
    assert_eq!(
        end(&world.prompt("go").await),
        "error: the agent's loop panicked: on purpose"
    );
    log.panics.store(false, Ordering::SeqCst);
    let expected = "error: failed to append to session main: an earlier append panicked half-way\n\
                    hint: close the session and load it anew";
    assert_eq!(end(&world.prompt("again").await), expected);
    assert!(world.models.requests().is_empty() && world.agent.session().is_empty());
    world.agent.close().await;
}

#[tokio::test]
async fn no_request_and_no_tool_body_starts_before_the_log_is_durable() {
    for durable in 0..3 {
        let ran = Arc::new(AtomicBool::new(false));
        let runs = Arc::clone(&ran);
        let log = FaultyLog::default();
        let world = on_log(&log);
        let _echo = world.agent.tools().register(Arc::new(TestTool::new("echo", move |_| {
            runs.store(true, Ordering::SeqCst);
            async { Ok(json!(null)) }
        })));
        *log.durable.lock().expect("not poisoned") = Some(durable);
        let ended = world.prompt("go").await;
        assert!(
            matches!(&ended, TurnEnd::Error { message } if message.contains("no space left")),
            "{ended:?}"
        );
        // Asked for once before each request and once before the body.
        assert_eq!(world.models.requests().len(), [0, 1, 1][durable]);
        assert_eq!(ran.load(Ordering::SeqCst), durable == 2);
    }
}
