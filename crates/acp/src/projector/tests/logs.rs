//! Any legal log: what is shown of it depends on nothing else.

mod generate;

use proptest::prelude::*;
use weft_tools::{ExitStatus, FileDiff, Location, ToolKind};

use super::replay::apply;
use super::*;
use crate::OutboxBytes;
use crate::outbox::Outbox;
use crate::replay::Replay;
use generate::{Choices, legal_log};

/// A tool whose cards depend on the number in its argument `a`.
#[derive(Debug)]
struct Drawn;

impl Tool for Drawn {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "drawn".into(),
            description: String::new(),
            parameters: json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "integer" } } }),
        }
    }

    fn output_schema(&self) -> Value {
        json!(true)
    }

    fn execute(self: Arc<Self>, _: ToolExecution) -> BoxFuture<'static, Result<Value, ToolError>> {
        async { Ok(Value::Null) }.boxed()
    }

    fn render(&self, _: &Value, _: &Value) -> Vec<ContentBlock> {
        Vec::new()
    }

    fn present_call(&self, arguments: &Value) -> Option<CallView> {
        let number = arguments["a"].as_u64()?;
        match number % 4 {
            0 => None,
            1 => Some(CallView::Generic {
                title: format!("Look at /w/{number}"),
                kind: ToolKind::Read,
                raw_input: None,
                content: vec![ContentBlock::text("call")],
                locations: vec![Location {
                    path: format!("/w/{number}"),
                    line: None,
                }],
            }),
            2 => Some(CallView::Diff {
                title: "Edit /w/a.rs".into(),
                diffs: diffs(number),
                locations: Vec::new(),
            }),
            _ => Some(CallView::Terminal {
                title: "make".into(),
                description: (number % 8 == 3).then(|| "Build".into()),
                cwd: None,
            }),
        }
    }

    fn present_result(&self, arguments: &Value, result: &ResultForView<'_>) -> Option<ResultView> {
        let number = arguments["a"].as_u64()?;
        match (number / 4 + u64::from(result.is_error)) % 4 {
            0 => None,
            1 => Some(ResultView::Generic {
                title: Some("Done with /w/a".into()),
                content: Some(vec![ContentBlock::text("shown")]),
            }),
            2 => Some(ResultView::Diff {
                title: None,
                diffs: diffs(number),
            }),
            _ => Some(ResultView::Terminal {
                title: None,
                output: Some("out".into()),
                exit: Some(ExitStatus::Code(1)),
            }),
        }
    }
}

fn diffs(number: u64) -> Vec<FileDiff> {
    vec![FileDiff {
        path: "/w/a.rs".into(),
        old_text: None,
        new_text: number.to_string(),
    }]
}

fn is_record(event: &EventBody) -> bool {
    use EventBody as E;
    matches!(
        event,
        E::WorkflowRunStart { .. }
            | E::WorkflowAgentStart { .. }
            | E::WorkflowAgentEnd { .. }
            | E::WorkflowRunEnd { .. }
    )
}

fn stage(client: ClientProfile, mode: Mode) -> Stage {
    let stage = Stage::with_mode(client, mode);
    let drawn = Arc::new(Drawn) as Arc<dyn Tool>;
    stage.projector.presenter.register(drawn).unwrap().keep();
    stage
}

fn replayed(client: ClientProfile, log: &[EventBody]) -> Vec<Value> {
    let mut stage = stage(client, Mode::Replay);
    log.iter().flat_map(|event| stage.event(event)).collect()
}

/// What is written of a log that comes in pages of these sizes.
fn lines(log: &[EventBody], pages: &[u8]) -> Vec<u8> {
    let time = UnixMillis(1500);
    let event = |(seq, body): (u64, &EventBody)| {
        Arc::new(Event {
            seq,
            time,
            body: body.clone(),
        })
    };
    let mut left: Vec<_> = (0..).zip(log).map(event).collect();
    let written = Written::default();
    let outbox = Outbox::start(written.clone(), OutboxBytes::default()).unwrap();
    let mut replay = Replay::new("s".into(), stage(PLAIN, Mode::Replay).projector, outbox.clone());
    for size in pages {
        let rest = left.split_off(usize::from(*size).min(left.len()));
        replay.show(&std::mem::replace(&mut left, rest));
    }
    replay.show(&left);
    outbox.close();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(outbox.ended());
    written.0.lock().unwrap().clone()
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a client sees that looks on: the same events, and between them what was transient.
fn live(client: ClientProfile, log: &[EventBody], choices: &[u8]) -> Vec<Value> {
    let mut choices = Choices::new(choices);
    let mut stage = stage(client, Mode::Live);
    let mut updates = Vec::new();
    for event in log {
        if let EventBody::AssistantMessage {
            turn, step, content, ..
        } = event
            && choices.maybe()
        {
            updates.extend(content.iter().map(|block| streamed(&mut stage, (*turn, *step), block)));
        }
        updates.extend(stage.event(event));
        let mut open: Vec<_> = stage.projector.cards.keys().cloned().collect();
        open.sort();
        for call in open {
            updates.extend(looked_at(&mut stage, &call, choices.of(5)));
        }
    }
    updates
}

fn streamed(stage: &mut Stage, (turn, step): (u32, u32), block: &AssistantBlock) -> Value {
    let (kind, text) = match block {
        AssistantBlock::Text { text } => (DeltaKind::Text, text),
        AssistantBlock::Reasoning { text, .. } => (DeltaKind::Reasoning, text),
        AssistantBlock::ToolCall { .. } => unreachable!("the logs name calls in their own events alone"),
    };
    let text = text.clone();
    let delta = Delta { turn, step, kind, text };
    let message = stage.projector.delta(&delta).expect("no text is empty");
    serde_json::to_value(text_update(message.id, message.reasoning, &delta.text)).unwrap()
}

fn looked_at(stage: &mut Stage, call: &CallId, how: u8) -> Option<Value> {
    let update = match how {
        1 => stage.projector.started(call)?,
        2 => stage
            .projector
            .progress(call, &view(Some("live /w/a.rs"), &["p", "q"]))?,
        3 => stage.projector.progress(call, &view(None, &[]))?,
        4 => stage.projector.progress(call, &view(None, &["more"]))?,
        _ => return None,
    };
    Some(serde_json::to_value(update).unwrap())
}

/// What stands on the client's screen in the end, in order: messages whole, cards in their last state, titles. Its own
/// words it shows by itself.
fn screen(updates: &[Value]) -> Vec<(String, Value)> {
    let mut screen: Vec<(String, Value)> = Vec::new();
    for update in updates {
        let kind = update["sessionUpdate"].as_str().unwrap();
        let id = |name: &str| update[name].as_str().unwrap_or_default().to_owned();
        let key = match kind {
            "user_message_chunk" => continue,
            "tool_call" | "tool_call_update" => id("toolCallId"),
            _ => id("messageId"),
        };
        let shown = screen.iter_mut().find(|(shown, _)| *shown == key && !key.is_empty());
        match (kind, shown) {
            ("tool_call_update", Some((_, card))) => apply(card, update),
            ("agent_message_chunk" | "agent_thought_chunk", Some((_, message))) => {
                let joined = format!("{}{}", text_at(message), text_at(update));
                message["content"]["text"] = json!(joined);
            }
            ("tool_call_update", None) => panic!("updated before it was announced: {update}"),
            ("tool_call", Some(_)) => panic!("announced twice: {update}"),
            _ => screen.push((key, update.clone())),
        }
    }
    for (_, item) in &mut screen {
        // A part that was restored is named even where it is empty.
        item.as_object_mut().unwrap().retain(|_, value| *value != json!([]));
    }
    screen
}

fn text_at(message: &Value) -> &str {
    message["content"]["text"].as_str().unwrap()
}

proptest! {
    #[test]
    fn g14_a_replay_shows_what_was_seen_live(log: Vec<u8>, looks: Vec<u8>, capable: bool) {
        let client = if capable { CAPABLE } else { PLAIN };
        let log = legal_log(&log);
        let (live, replayed) = (live(client, &log, &looks), replayed(client, &log));
        prop_assert_eq!(screen(&live), screen(&replayed));
    }

    #[test]
    fn g14_a_replay_has_two_updates_a_call_and_the_last_is_final(log: Vec<u8>) {
        let log = legal_log(&log);
        let updates = replayed(CAPABLE, &log);
        let kind = |kind: &'static str| updates.iter().filter(move |update| update["sessionUpdate"] == kind);
        let calls = log.iter().filter(|event| matches!(event, EventBody::ToolCall { .. })).count();
        prop_assert_eq!(kind("tool_call").count(), calls);
        prop_assert_eq!(kind("tool_call_update").count(), calls);
        prop_assert!(kind("tool_call_update").all(|update| ["completed", "failed"].contains(&update["status"].as_str().unwrap())));
        prop_assert!(updates.iter().all(|update| !update.to_string().contains("for the model alone")));
    }

    #[test]
    fn the_lines_of_a_replay_depend_on_the_log_alone(log: Vec<u8>, pages: Vec<u8>) {
        let log = legal_log(&log);
        let whole = String::from_utf8(lines(&log, &[])).unwrap();
        prop_assert_eq!(&whole, &String::from_utf8(lines(&log, &pages)).unwrap());
        let updates = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["params"]["update"].take());
        prop_assert_eq!(updates.collect::<Vec<_>>(), replayed(PLAIN, &log));
    }

    #[test]
    fn g59_records_of_runs_change_no_card(log: Vec<u8>, looks: Vec<u8>) {
        let log = legal_log(&log);
        let without: Vec<EventBody> = log.iter().filter(|event| !is_record(event)).cloned().collect();
        prop_assert_eq!(replayed(CAPABLE, &log), replayed(CAPABLE, &without));
        let quiet: Vec<u8> = looks.iter().map(|look| look % 2).collect();
        prop_assert_eq!(screen(&live(CAPABLE, &log, &quiet)), screen(&live(CAPABLE, &without, &quiet)));
    }
}
