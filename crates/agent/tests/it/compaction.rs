//! Conversations that become too long.

use std::sync::Arc;

use weft_agent::{ContextLimits, Limits, history};
use weft_model::{ModelEvent, ModelRequest};
use weft_session::Restore;
use weft_types::{
    AbortCause, CompactionReason, ContentBlock, Event, EventBody, Message, StopReason, TurnEnd, UnixMillis, Usage,
    text_of,
};

use crate::support::{SpyModels, TestTool, World, end, events, header, restored, well_formed};

/// Whether a request is for a summary.
fn sums_up(request: &ModelRequest) -> bool {
    request.tools.is_empty() && request.system.starts_with("You sum up")
}

/// What a request for a summary says.
fn asked(request: &ModelRequest) -> String {
    match &request.messages[0] {
        Message::User { content } => text_of(content),
        other => panic!("{other:?} stands first"),
    }
}

fn summaries(world: &World) -> Vec<String> {
    let requests = world.models.requests();
    requests.iter().filter(|request| sums_up(request)).map(asked).collect()
}

/// Three turns of some length; the second one calls a tool. Then a summary, on demand.
const LONG: &str = r#"
    [[reply]]
    turn = 1
    text = "the first answer, which is not short"
    [[reply]]
    turn = 2
    step = 1
    reasoning = "I must look"
    [[reply.tool_call]]
    id = "c1"
    name = "echo"
    [[reply]]
    turn = 2
    step = 2
    text = "the second answer"
    [[reply]]
    prompt = "Sum up the conversation"
    times = 9
    text = "THE SUMMARY"
    usage = { input_tokens = 70, output_tokens = 7 }
"#;

async fn after_two_turns(script: &str) -> World {
    let world = World::new(&format!("{LONG}{script}")).tool(TestTool::echo());
    assert_eq!(world.prompt("first prompt").await, TurnEnd::Completed);
    assert_eq!(world.prompt("second prompt").await, TurnEnd::Completed);
    drop(world.watch.take());
    world
}

#[tokio::test]
async fn a_command_sums_up_and_the_model_goes_on_with_the_summary() {
    let world = after_two_turns("[[reply]]\nturn = 4\ntext = \"done\"\n").await;
    assert_eq!(world.prompt("/compact the names of files").await, TurnEnd::Completed);
    let words = world.watch.take();
    assert_eq!(words.len(), 4, "{words:?}");
    assert!(words[2].starts_with("compaction Command from "), "{words:?}");
    let asked = summaries(&world).remove(0);
    assert!(asked.contains("[user]\nfirst prompt\n"), "{asked}");
    assert!(asked.contains("[call of echo]\n{}\n"), "{asked}");
    assert!(!asked.contains("/compact"), "{asked}");
    assert!(
        asked.ends_with("The user wants this to be kept above all: the names of files"),
        "{asked}"
    );
    assert_eq!(world.prompt("go on").await, TurnEnd::Completed);
    let messages = world.models.last_messages();
    assert!(
        messages[0].starts_with("user The conversation before this point was summed up"),
        "{messages:?}"
    );
    assert!(messages[0].contains("THE SUMMARY"), "{messages:?}");
    assert_eq!(messages.last().map(String::as_str), Some("user go on"));
    assert!(
        !messages.iter().any(|message| message.contains("first prompt")),
        "{messages:?}"
    );
    let used = world.agent.usage();
    assert_eq!(used.own["test/model"].output_tokens, 7, "the summary counts");
}

#[tokio::test]
async fn a_log_with_a_summary_gives_the_same_conversation_again_and_can_be_summed_up_again() {
    let world = after_two_turns("[[reply]]\nturn = 4\ntext = \"done\"\n").await;
    assert_eq!(world.prompt("/compact").await, TurnEnd::Completed);
    assert_eq!(world.prompt("go on").await, TurnEnd::Completed);
    let log = world.agent.session().events().expect("readable");
    let script =
        format!("{LONG}[[reply]]\nturn = 5\ntext = \"still here\"\n[[reply]]\nturn = 7\ntext = \"and here\"\n");
    let again = World::with(SpyModels::script(&script), |options| options.session = restored(&log));
    assert_eq!(again.prompt("more").await, TurnEnd::Completed);
    let (before, after) = (world.models.last_messages(), again.models.last_messages());
    assert_eq!(after[..before.len()], before);
    assert_eq!(again.prompt("/compact").await, TurnEnd::Completed);
    let asked = summaries(&again).remove(0);
    assert!(
        asked.contains("THE SUMMARY"),
        "the earlier summary is summed up as well: {asked}"
    );
    assert_eq!(again.prompt("and now").await, TurnEnd::Completed);
    let messages = again.models.last_messages();
    let heads = messages.iter().filter(|message| message.contains("was summed up"));
    assert_eq!(heads.count(), 1, "{messages:?}");
}

#[tokio::test]
async fn there_is_nothing_to_sum_up_before_the_first_answer() {
    let world = World::new("[[reply]]\ntext = \"never\"\n");
    assert_eq!(world.prompt("/compact").await, TurnEnd::Completed);
    assert!(world.models.requests().is_empty());
    let words = world.watch.take();
    assert!(
        words[2].starts_with("notice There is nothing to sum up yet"),
        "{words:?}"
    );
}

#[tokio::test]
async fn a_summary_that_fails_leaves_the_conversation_as_it_was() {
    let script = r#"
        [[reply]]
        turn = 1
        text = "one"
        [[reply]]
        turn = 2
        error = { kind = "auth", message = "no such key" }
        [[reply]]
        turn = 3
        text = "three"
    "#;
    let world = World::new(script);
    assert_eq!(world.prompt("first").await, TurnEnd::Completed);
    assert_eq!(
        end(&world.prompt("/compact").await),
        "error: the conversation could not be summed up and is as it was: no such key"
    );
    assert_eq!(world.prompt("third").await, TurnEnd::Completed);
    assert_eq!(
        world.models.last_messages(),
        ["user first", "assistant one", "user third"]
    );
}

#[tokio::test]
async fn a_summary_can_be_cancelled_and_then_nothing_has_changed() {
    let script = r#"
        [[reply]]
        turn = 1
        text = "one"
        [[reply]]
        turn = 2
        gate = "summing"
        text = "never"
        [[reply]]
        turn = 3
        text = "three"
    "#;
    let world = World::new(script);
    assert_eq!(world.prompt("first").await, TurnEnd::Completed);
    let turn = world.agent.prompt(crate::support::say("/compact")).expect("idle");
    world.models.scripted().wait_gate("summing").await.expect("a gate");
    world.agent.cancel();
    assert_eq!(turn.ended().await, TurnEnd::Aborted { by: AbortCause::User });
    assert_eq!(world.models.open_streams(), 0);
    assert_eq!(world.prompt("third").await, TurnEnd::Completed);
    assert_eq!(
        world.models.last_messages(),
        ["user first", "assistant one", "user third"]
    );
}

/// Refuses requests for answers until there is a summary, or for ever.
fn overflowing(for_ever: bool) -> SpyModels {
    SpyModels::from_fn(move |request| {
        use futures::StreamExt as _;
        use weft_model::{ModelError, ModelErrorKind};
        let is_long =
            !matches!(&request.messages[0], Message::User { content } if text_of(content).contains("was summed up"));
        if !sums_up(&request) && request.origin.turn > 1 && (for_ever || is_long) {
            let error = ModelError::new(ModelErrorKind::ContextOverflow, "the context is too long");
            return futures::stream::iter([Err(error)]).boxed();
        }
        events(vec![
            ModelEvent::TextDelta("an answer".to_owned()),
            ModelEvent::Finish(StopReason::EndTurn),
        ])
    })
}

#[tokio::test]
async fn ctx01_an_overflow_is_summed_up_once_and_sent_once_more() {
    let world = World::with(overflowing(false), |_| {});
    assert_eq!(world.prompt("first prompt").await, TurnEnd::Completed);
    assert_eq!(world.prompt("second prompt").await, TurnEnd::Completed);
    assert_eq!(world.models.requests().len(), 4);
    let compactions: Vec<_> = (world.watch.take().into_iter())
        .filter(|word| word.starts_with("compaction"))
        .collect();
    assert_eq!(compactions.len(), 1, "{compactions:?}");
    assert!(
        compactions[0].starts_with("compaction Overflow from "),
        "{compactions:?}"
    );
    assert_eq!(
        world.models.last_messages().last().map(String::as_str),
        Some("user second prompt"),
        "what is not answered is never summed up"
    );
}

#[tokio::test]
async fn ctx01_an_overflow_that_no_summary_helps_ends_the_turn_and_says_what_to_do() {
    let world = World::with(overflowing(true), |_| {});
    assert_eq!(world.prompt("first prompt").await, TurnEnd::Completed);
    let ended = end(&world.prompt("second prompt").await);
    assert_eq!(
        ended,
        "error: the context is too long, even after the conversation was summed up\nhint: choose a model with a larger \
         context, or start a new session with a shorter prompt"
    );
    assert_eq!(world.models.requests().len(), 4, "it is not tried for ever");
}

/// Counts four bytes for a token, as a provider would.
fn counting(window: u64) -> SpyModels {
    SpyModels::from_fn(|request| {
        let bytes: usize = request
            .messages
            .iter()
            .map(|message| format!("{message:?}").len())
            .sum();
        let usage = Usage {
            input_tokens: (bytes / 4) as u64,
            ..Usage::default()
        };
        let calls = !sums_up(&request) && request.origin.step < 12;
        let mut answer = vec![ModelEvent::TextDelta("x".repeat(200)), ModelEvent::Usage(usage)];
        if calls {
            answer.push(ModelEvent::ToolCall {
                id: "c".into(),
                name: "echo".to_owned(),
                arguments: "{}".to_owned(),
            });
        }
        answer.push(ModelEvent::Finish(if calls {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        }));
        events(answer)
    })
    .window(window)
}

#[tokio::test]
async fn a_turn_that_fills_the_context_is_summed_up_on_its_way_and_keeps_its_task() {
    let world = World::with(counting(600), |_| {}).tool(TestTool::echo());
    assert_eq!(world.prompt("build the whole thing").await, TurnEnd::Completed);
    let requests = world.models.requests();
    let answers: Vec<_> = requests.iter().filter(|request| !sums_up(request)).collect();
    assert_eq!(answers.len(), 12);
    let compactions = requests.len() - answers.len();
    assert!((1..=6).contains(&compactions), "{compactions}");
    for request in answers {
        assert!(well_formed(&request.messages), "{:?}", request.messages);
        let text = format!("{:?}", request.messages);
        assert!(
            text.contains("build the whole thing"),
            "the task is always known: {text}"
        );
    }
}

#[tokio::test]
async fn at_a_hundred_percent_nothing_is_summed_up_before_the_provider_refuses() {
    let context = ContextLimits::default().compact_at(100).expect("in range");
    let limits = Limits::default().context(context);
    let world = World::with(counting(100), |options| options.limits = limits).tool(TestTool::echo());
    assert_eq!(world.prompt("build").await, TurnEnd::Completed);
    assert!(summaries(&world).is_empty());
}

#[tokio::test]
async fn sse11_reasoning_stays_with_its_calls_behind_a_summary() {
    let world = World::with(
        SpyModels::from_fn(|request| {
            let calls = !sums_up(&request) && request.origin.step == 1;
            let mut answer = vec![ModelEvent::ReasoningDelta("hm".to_owned())];
            answer.push(match calls {
                true => ModelEvent::ToolCall {
                    id: "c".into(),
                    name: "echo".to_owned(),
                    arguments: "{}".to_owned(),
                },
                false => ModelEvent::TextDelta("x".repeat(40)),
            });
            answer.push(ModelEvent::Finish(StopReason::EndTurn));
            events(answer)
        }),
        |_| {},
    )
    .tool(TestTool::echo());
    for prompt in ["one", "two", "three", "four", "/compact", "five"] {
        assert_eq!(world.prompt(prompt).await, TurnEnd::Completed);
    }
    let messages = world.models.last_messages();
    let calls: Vec<_> = messages.iter().filter(|message| message.contains('[')).collect();
    assert!(calls.len() > 1, "a turn with a call is kept: {messages:?}");
    assert!(
        calls.iter().all(|call| call.starts_with("assistant (hm)")),
        "{messages:?}"
    );
}

/// A log with the event put in at a place, the numbers in order; none if no log can be like that.
fn with_summary(log: &[Event], at: usize, kept_from: u64) -> Option<Vec<Event>> {
    let turn = log[..at].iter().rev().find_map(|event| match event.body {
        EventBody::TurnStart { turn } => Some(turn),
        _ => None,
    })?;
    let body = EventBody::SessionCompaction {
        turn,
        reason: CompactionReason::Threshold,
        summary: "so far".to_owned(),
        kept_from,
        tokens_before: None,
        usage: None,
    };
    let bodies = log[..at].iter().map(|event| event.body.clone());
    let bodies = bodies
        .chain([body])
        .chain(log[at..].iter().map(|event| event.body.clone()));
    let events: Vec<Event> = bodies
        .zip(0..)
        .map(|(body, seq)| Event {
            seq,
            time: UnixMillis(0),
            body,
        })
        .collect();
    let mut restore = Restore::new(header("main"), Vec::new());
    let is_legal = events
        .iter()
        .all(|event| restore.push(&Arc::new(event.clone())).is_ok());
    is_legal.then_some(events)
}

#[tokio::test]
async fn log03_summaries_at_any_legal_places_give_a_well_formed_history() {
    let world = after_two_turns("[[reply]]\nturn = 3\nstep = 1\ntext = \"hm\"\n").await;
    assert_eq!(world.prompt("third prompt").await, TurnEnd::Completed);
    let log: Vec<Event> = (world.agent.session().events().expect("readable").iter())
        .map(|event| (**event).clone())
        .collect();
    let mut legal = 0;
    for at in 0..=log.len() {
        for kept_from in 0..=at {
            let Some(once) = with_summary(&log, at, kept_from as u64) else {
                continue;
            };
            check(&once);
            for second in (at + 1..=once.len()).step_by(5) {
                for kept_from in (0..=second).step_by(3) {
                    if let Some(twice) = with_summary(&once, second, kept_from as u64) {
                        check(&twice);
                        legal += 1;
                    }
                }
            }
        }
    }
    assert!(legal > 200, "{legal}");
}

#[track_caller]
fn check(log: &[Event]) {
    for end in 0..=log.len() {
        let messages = history::messages(&log[..end]);
        assert!(well_formed(&messages), "{end}: {messages:?}");
        let summaries = messages.iter().filter(
            |message| matches!(message, Message::User { content } if content[..] == [ContentBlock::text(SUMMARY)]),
        );
        assert!(summaries.count() <= 1, "{messages:?}");
    }
}

const SUMMARY: &str = "The conversation before this point was summed up to make room for more. What follows is the \
    summary; everything after it is the conversation as it was.\n\nso far";
