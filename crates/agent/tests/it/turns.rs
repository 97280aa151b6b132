//! Turns that run to their end by themselves.

use std::sync::Arc;

use serde_json::json;
use weft_agent::{AgentContext, Limits, PermissionMode};
use weft_model::ModelEvent;
use weft_tools::{ProgressView, WorkingDirectory};
use weft_types::{AssistantBlock, ContentBlock, Message, StopReason, TurnEnd, text_of};

use crate::support::{SpyModels, TestTool, World, end, events, restored, say};

#[tokio::test]
async fn an_answer_without_calls_is_one_step() {
    let world = World::new("[[reply]]\nreasoning = \"hm\"\ntext = [\"hel\", \"lo\"]\n");
    assert_eq!(world.prompt("hi").await, TurnEnd::Completed);
    assert_eq!(
        world.watch.take(),
        [
            "turn/start 1",
            "user hi",
            "title hi",
            "step/start 1",
            "header initial test/model",
            "delta reasoning hm",
            "delta text hel",
            "delta text lo",
            "answer (hm) hello",
            "step/end 1",
            "turn/end completed",
        ]
    );
    assert_eq!(world.models.last_messages(), ["user hi"]);
    let request = &world.models.requests()[0];
    assert_eq!((&*request.system, request.model.as_str()), ("be brief", "model"));
    assert_eq!((request.origin.turn, request.origin.step), (1, 1));
}

const ONE_CALL: &str = r#"
    [[reply]]
    step = 1
    text = "let me look"
    [[reply.tool_call]]
    id = "c1"
    name = "echo"
    arguments = { a = 1 }
    [[reply]]
    step = 2
    text = "done"
"#;

#[tokio::test]
async fn calls_are_run_and_their_results_are_given_to_the_next_request() {
    let world = World::new(ONE_CALL).tool(TestTool::echo());
    assert_eq!(world.prompt("go").await, TurnEnd::Completed);
    assert_eq!(
        world.watch.take(),
        [
            "turn/start 1",
            "user go",
            "title go",
            "step/start 1",
            "header initial test/model",
            "delta text let me look",
            "answer let me look [c1 echo]",
            "call c1 echo",
            "result c1 ok",
            "step/end 1",
            "step/start 2",
            "delta text done",
            "answer done",
            "step/end 2",
            "turn/end completed",
        ],
        "the header is written once"
    );
    assert_eq!(
        world.models.last_messages(),
        ["user go", "assistant let me look [c1]", "tool c1"]
    );
    assert!(world.models.scripted().report().is_clean());
}

#[tokio::test]
async fn the_next_turn_goes_on_from_the_last_and_a_changed_header_is_written() {
    let world = World::new("[[reply]]\nturn = 1\ntext = \"one\"\n[[reply]]\nturn = 2\ntext = \"two\"\n");
    world.prompt("first").await;
    world.watch.take();
    let world = world.tool(TestTool::echo());
    world.prompt("second").await;
    assert_eq!(
        world.watch.take()[..4],
        [
            "turn/start 2",
            "user second",
            "step/start 1",
            "header changed test/model"
        ]
    );
    assert_eq!(
        world.models.last_messages(),
        ["user first", "assistant one", "user second"]
    );
    assert_eq!(world.models.requests()[1].tools.len(), 1);
}

#[tokio::test]
async fn a_tool_may_conclude_the_turn_and_give_context_that_is_logged() {
    let world = World::new(ONE_CALL).tool(TestTool::new("echo", |execution| async move {
        execution.conclude_turn();
        execution.defer_context(ContentBlock::text("by the way"));
        Ok(json!(null))
    }));
    assert_eq!(world.prompt("go").await, TurnEnd::Completed);
    let words = world.watch.take();
    assert_eq!(
        words[words.len() - 3..],
        ["step/end 1", "context by the way", "turn/end completed"]
    );
    assert_eq!(world.models.requests().len(), 1);
    world.prompt("more").await;
    let expected = [
        "user go",
        "assistant let me look [c1]",
        "tool c1",
        "user by the way",
        "user more",
    ];
    assert_eq!(world.models.last_messages(), expected);
}

#[tokio::test]
async fn sse18_an_unknown_tool_gives_the_model_an_error_that_names_the_known_ones() {
    let script = ONE_CALL.replace("\"echo\"", "\"no_such_tool\"");
    let world = World::new(&script).tool(TestTool::echo());
    assert_eq!(world.prompt("go").await, TurnEnd::Completed);
    assert!(world.watch.words().contains(&"result c1 UNKNOWN_TOOL".to_owned()));
    let requests = world.models.requests();
    let Some(Message::Tool { content, is_error, .. }) = requests[1].messages.last() else {
        panic!("the result stands last");
    };
    assert!(is_error & text_of(content).contains("echo"), "{content:?}");
}

#[tokio::test]
async fn a_turn_ends_at_its_limit_of_steps() {
    let looping = "[[reply]]\ntimes = \"any\"\n[[reply.tool_call]]\nname = \"echo\"\n";
    let world = World::with(SpyModels::script(looping), |options| {
        options.limits = Limits::default().max_steps(3).expect("in range");
    });
    let world = world.tool(TestTool::echo());
    assert_eq!(world.prompt("go").await, TurnEnd::MaxSteps);
    assert_eq!(world.models.requests().len(), 3);
    let words = world.watch.take();
    assert_eq!(words[words.len() - 2..], ["step/end 3", "turn/end MaxSteps"]);
}

#[tokio::test]
async fn wfs19_the_same_call_that_fails_again_and_again_ends_the_turn_and_is_named() {
    let looping = "[[reply]]\ntimes = \"any\"\n[[reply.tool_call]]\nname = \"nothing\"\n";
    let world = World::with(SpyModels::script(looping), |options| {
        options.limits = Limits::default().max_repeats(3).expect("in range");
    });
    for _ in 0..2 {
        let before = world.models.requests().len();
        let TurnEnd::Error { message } = world.prompt("go").await else {
            panic!("the turn did not fail");
        };
        let expected = "the model made the same call of nothing 3 times in a row, the limit agent.max_repeats, and it failed \
            each time: unknown tool \"nothing\"";
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(world.models.requests().len() - before, 3);
        let words = world.watch.take();
        assert_eq!(words[words.len() - 2], "step/end 3");
    }
}

#[tokio::test]
async fn calls_that_differ_or_of_which_one_went_well_are_no_repetition() {
    let calls = [vec![1], vec![1], vec![1, 0], vec![2], vec![2], vec![1], vec![1]];
    let call = |n: &i32| match n {
        0 => "[[reply.tool_call]]\nname = \"echo\"\n".to_owned(),
        n => format!("[[reply.tool_call]]\nname = \"nothing\"\narguments = {{ n = {n} }}\n"),
    };
    let steps = (1..).zip(&calls).map(|(step, calls)| {
        let calls: String = calls.iter().map(call).collect();
        format!("[[reply]]\nstep = {step}\n{calls}")
    });
    let script: String = steps
        .chain(["[[reply]]\nstep = 8\ntext = \"done\"\n".to_owned()])
        .collect();
    let world = World::with(SpyModels::script(&script), |options| {
        options.limits = Limits::default().max_repeats(3).expect("in range");
    });
    assert_eq!(world.tool(TestTool::echo()).prompt("go").await, TurnEnd::Completed);
}

#[tokio::test]
async fn an_answer_cut_at_a_token_limit_runs_none_of_its_calls() {
    for (stop, end) in [("max_tokens", TurnEnd::MaxTokens), ("refusal", TurnEnd::Refusal)] {
        let script = format!(
            "[[reply]]\ntext = \"half\"\nstop = \"{stop}\"\n[[reply.tool_call]]\nid = \"c1\"\nname = \"echo\"\n"
        );
        let world = World::new(&script).tool(TestTool::echo());
        assert_eq!(world.prompt("go").await, end);
        let words = world.watch.take();
        assert_eq!(words[words.len() - 3..words.len() - 1], ["answer half", "step/end 1"]);
    }
}

#[tokio::test]
async fn call_ids_that_an_endpoint_uses_again_are_told_apart() {
    let script = r#"
        [[reply]]
        turn = 1
        step = 1
        [[reply.tool_call]]
        id = "call_0"
        name = "echo"
        [[reply]]
        turn = 1
        step = 2
        [[reply.tool_call]]
        id = "call_0"
        name = "echo"
        [[reply]]
        turn = 1
        step = 3
        text = "done"
        [[reply]]
        turn = 2
        step = 1
        [[reply.tool_call]]
        id = "call_0"
        name = "echo"
        [[reply.tool_call]]
        id = "call_0_2_1_1"
        name = "echo"
        [[reply]]
        turn = 2
        step = 2
        text = "done"
    "#;
    let world = World::new(script).tool(TestTool::echo());
    assert_eq!(world.prompt("one").await, TurnEnd::Completed);
    assert_eq!(world.prompt("two").await, TurnEnd::Completed);
    let words = world.watch.take();
    let calls: Vec<_> = words.iter().filter(|word| word.starts_with("call ")).collect();
    let expected = [
        "call call_0 echo",
        "call call_0_1_2_1 echo",
        "call call_0_2_1_1 echo",
        "call call_0_2_1_1_2_1_2 echo",
    ];
    assert_eq!(calls, expected);
    world.models.last_messages();
}

#[tokio::test]
async fn sse17_an_empty_answer_is_asked_for_once_more() {
    let script = "[[reply]]\nturn = 1\nstep = 1\ntext = \"\"\n[[reply]]\ntext = \"now\"\n";
    let world = World::new(script);
    assert_eq!(world.prompt("go").await, TurnEnd::Completed);
    assert_eq!(
        world.watch.take()[5..],
        [
            "retry 1 0 the model's answer was empty",
            "delta text now",
            "answer now",
            "step/end 1",
            "turn/end completed",
        ]
    );
}

#[tokio::test]
async fn sse17_a_second_empty_answer_ends_the_turn_with_a_note() {
    for empty in [
        "text = \"\"",
        "text = \" \\n\"",
        "reasoning = \"hm\"",
        "text = \"\"\nstop = \"tool_use\"",
    ] {
        let script = format!("{ONE_CALL}\n[[reply]]\nturn = 2\nstep = 1\n[[reply.tool_call]]\nname = \"echo\"\n");
        let script = format!("{script}\n[[reply]]\nturn = 2\nstep = 2\ntimes = \"any\"\n{empty}\n");
        let world = World::new(&script).tool(TestTool::echo());
        assert_eq!(world.prompt("go").await, TurnEnd::Completed);
        let end = world.prompt("again").await;
        let message = "the model's answer was empty, twice".to_owned();
        assert_eq!(end, TurnEnd::Error { message }, "{empty}");
        assert_eq!(world.models.requests().len(), 5, "{empty}");
    }
}

#[tokio::test]
async fn an_agent_on_a_loaded_log_goes_on_from_it_and_closes_what_was_open() {
    let world = World::new(ONE_CALL).tool(TestTool::echo());
    world.prompt("go").await;
    // The process died between the call and its result.
    let loaded = restored(&world.agent.session().page(0, 7).expect("readable"));
    let world = World::with(SpyModels::script("[[reply]]\nturn = 2\ntext = \"back\"\n"), |options| {
        options.session = loaded;
    });
    assert_eq!(world.prompt("and now?").await, TurnEnd::Completed);
    assert_eq!(
        world.watch.take()[..5],
        [
            "result c1 TOOL_OUTCOME_UNKNOWN",
            "step/end 1",
            "turn/end Interrupted",
            "turn/start 2",
            "user and now?",
        ]
    );
    let expected = [
        "user go",
        "assistant let me look [c1]",
        "tool c1 failed",
        "user and now?",
    ];
    assert_eq!(world.models.last_messages(), expected);
}

#[tokio::test]
async fn g15_progress_reaches_neither_the_log_nor_the_model() {
    let run = async |observed: bool| {
        let world = World::new(ONE_CALL).tool(TestTool::new("echo", |execution| async move {
            let content = vec![ContentBlock::text("SECRET PROGRESS")];
            execution.report_progress(ProgressView { title: None, content })?;
            Ok(json!("done"))
        }));
        let reports = Arc::new(std::sync::Mutex::new(0));
        let count = Arc::clone(&reports);
        let subscription = world.tools.progress().subscribe(Some(world.agent.id()), move |_| {
            *count.lock().expect("not poisoned") += 1;
        });
        if !observed {
            drop(subscription);
        }
        assert_eq!(world.prompt("go").await, TurnEnd::Completed);
        let mut log = Vec::new();
        world.agent.session().export(&mut log).expect("a vector takes all");
        let requests = format!("{:?}", world.models.requests());
        assert!(!requests.contains("SECRET"));
        let reports = *reports.lock().expect("not poisoned");
        (String::from_utf8(log).expect("JSON"), reports)
    };
    let (with, without) = (run(true).await, run(false).await);
    assert_eq!((with.1, without.1), (1, 0));
    assert_eq!(with.0, without.0);
    assert!(!with.0.contains("SECRET"));
}

#[tokio::test]
async fn blank_prompts_are_refused_and_leave_no_trace() {
    let world = World::new("[[reply]]\ntext = \"hi\"\n");
    for blank in [vec![], vec![ContentBlock::text(" \n")]] {
        let refused = world.agent.prompt(blank).expect_err("nothing to answer");
        assert_eq!(refused.to_string(), "failed to prompt the agent: the prompt is blank");
    }
    assert!(world.agent.session().is_empty());
    assert_eq!(world.prompt("hello").await, TurnEnd::Completed);
}

#[tokio::test]
async fn a_model_that_is_never_short_of_events_leaves_others_their_time() {
    let models = SpyModels::from_fn(|_| {
        let delta = || Ok(weft_model::ModelEvent::TextDelta("x".to_owned()));
        Box::pin(futures::stream::repeat_with(delta))
    });
    let world = World::with(models, |_| {});
    let turn = world.agent.prompt(say("go")).expect("idle");
    world.watch.until("delta text x").await;
    world.agent.cancel();
    assert_eq!(end(&turn.ended().await), "aborted user");
}

#[tokio::test]
async fn an_answer_with_calls_runs_them_whatever_its_stop_reason_says() {
    let models = SpyModels::from_fn(|request| {
        let call = weft_model::ModelEvent::ToolCall {
            id: "c1".into(),
            name: "echo".to_owned(),
            arguments: String::new(),
        };
        match request.origin.step {
            1 => events(vec![call, weft_model::ModelEvent::Finish(StopReason::EndTurn)]),
            _ => events(vec![
                weft_model::ModelEvent::TextDelta("done".to_owned()),
                weft_model::ModelEvent::Finish(StopReason::ToolUse),
            ]),
        }
    });
    let world = World::with(models, |_| {}).tool(TestTool::echo());
    assert_eq!(world.prompt("go").await, TurnEnd::Completed);
    assert!(world.watch.words().contains(&"result c1 ok".to_owned()));
}

#[tokio::test]
async fn every_call_is_lent_the_calling_agent_and_its_folder() {
    let world = World::new(ONE_CALL).tool(TestTool::new("echo", |execution| async move {
        let context = execution.extension::<AgentContext>().expect("lent");
        let folder = execution.extension::<WorkingDirectory>().expect("lent");
        assert_eq!((Some(context.agent), &context.cwd), (execution.agent(), &folder.0));
        assert_eq!((context.depth, context.permissions.mode()), (0, PermissionMode::Full));
        Ok(json!(context.session.id().as_str()))
    }));
    world.prompt("go").await;
    assert!(world.watch.take().contains(&"result c1 ok".to_owned()));
    assert_eq!(world.agent.cwd(), std::path::Path::new("/srv/project"));
}

/// What the provider wants back stands in the log beside its reasoning, so that the next request, whoever sends it,
/// holds it.
#[tokio::test]
async fn seals_of_reasoning_are_logged_where_they_stand() {
    let sealed = |seal: u32| ModelEvent::ReasoningSealed(json!(seal));
    let thought = |text: &str| ModelEvent::ReasoningDelta(text.to_owned());
    let models = SpyModels::from_fn(move |_| {
        events(vec![
            thought("one"),
            sealed(1),
            thought("t"),
            thought("wo"),
            sealed(2),
            sealed(3),
            ModelEvent::TextDelta("yes".to_owned()),
            thought("open"),
            ModelEvent::Finish(StopReason::EndTurn),
        ])
    });
    let world = World::with(models, |_| {});
    assert_eq!(world.prompt("go").await, TurnEnd::Completed);
    assert_eq!(world.prompt("again").await, TurnEnd::Completed);
    let reasoning = |text: &str, sealed| AssistantBlock::Reasoning {
        text: text.to_owned(),
        sealed,
    };
    let expected = Message::Assistant {
        content: vec![
            reasoning("one", Some(json!(1))),
            reasoning("two", Some(json!(2))),
            reasoning("", Some(json!(3))),
            AssistantBlock::Text { text: "yes".to_owned() },
            reasoning("open", None),
        ],
    };
    assert_eq!(world.models.requests()[1].messages[1], expected);
}
