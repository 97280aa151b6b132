//! What `start()` refuses, in which order, and what it does before it returns.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use weft_workflow::{StartErrorCode, StartRequest, WorkflowEngine};

use super::harness::{Harness, config, error_of, shell_worker, value_of};

#[track_caller]
fn refuses(change: impl FnOnce(&mut StartRequest), code: StartErrorCode, part: &str) {
    let harness = Harness::new();
    let mut request = harness.request("return 1");
    change(&mut request);
    let error = harness.refuse(request);
    assert_eq!(error.code(), code, "{error}");
    assert!(error.message().contains(part), "{error}");
}

#[tokio::test]
async fn the_start_is_observed_before_start_returns() {
    let harness = Harness::new();
    let run = harness.start("return 1");
    assert_eq!(harness.seen(), ["start"]);
    harness.finish(&*run).await;
    assert_eq!(harness.seen(), ["start", "end Completed 0"]);
}

#[tokio::test]
async fn a_run_has_an_id_of_its_own_and_its_metadata() {
    let harness = Harness::new();
    let (first, second) = (harness.start("return 1"), harness.start("return 2"));
    assert_ne!(first.id(), second.id());
    assert_eq!(first.meta().name, "test");
    let (first, second) = (harness.finish(&*first).await, harness.finish(&*second).await);
    assert_eq!((value_of(&first), value_of(&second)), (json!(1), json!(2)));
}

#[tokio::test]
async fn all_violations_of_metadata_are_told_at_once() {
    refuses(
        |request| request.meta = Some(json!({ "name": "", "colour": 1 })),
        StartErrorCode::MetaInvalid,
        "meta.name",
    );
    refuses(
        |request| {
            request.meta = Some(json!({ "name": 7, "description": "d" }));
            request.script = "export const meta = { name: 'n', when: 1 }".into();
        },
        StartErrorCode::MetaInvalid,
        "meta.name must be a non-empty string, found a number",
    );
    refuses(
        |request| request.meta = None,
        StartErrorCode::MetaInvalid,
        "begin the script with",
    );
}

#[tokio::test]
async fn a_scripts_own_metadata_describe_it_even_if_others_are_given() {
    let harness = Harness::new();
    let script = "export const meta = { name: 'own', description: 'd', phases: [{ title: 'One' }] };\nreturn 'ran'";
    let run = harness.start(script);
    assert_eq!((run.meta().name.as_str(), run.meta().phases.len()), ("own", 1));
    assert_eq!(value_of(&*harness.finish(&*run).await), json!("ran"));
    assert_eq!(
        harness.engine.meta_of(script).map(|meta| meta.name).as_deref(),
        Some("own")
    );
}

#[tokio::test]
async fn metadata_that_are_no_literal_are_refused_without_being_run() {
    let began = Instant::now();
    refuses(
        |request| {
            request.script = "export const meta = { name: 'n', description: (() => { while (true) {} })() }".into();
        },
        StartErrorCode::MetaInvalid,
        "must be a plain literal",
    );
    assert!(began.elapsed().as_secs() < 2);
}

#[tokio::test]
async fn a_syntax_error_is_told_in_the_engines_words_at_its_place_in_the_script() {
    let wanted = "script does not parse: SyntaxError: expecting ';' at line 2, column 33\n   2 | const p = `Explain the command `last -F` to me`;\n                                       ^";
    refuses(
        |request| {
            request.script =
                "export const meta = { name: 'n', description: 'd' }\nconst p = `Explain the command `last -F` to me`;"
                    .into();
        },
        StartErrorCode::ScriptParse,
        wanted,
    );
    refuses(
        |request| request.script = "let ä = ;".into(),
        StartErrorCode::ScriptParse,
        "at line 1, column 9",
    );
    refuses(
        |request| request.script = "1;\nä\0".into(),
        StartErrorCode::ScriptParse,
        "at line 2, column 2",
    );
    refuses(
        |request| request.script = "const N = 1;\nexport const meta = { name: N };".into(),
        StartErrorCode::ScriptParse,
        "before any other statement",
    );
}

#[tokio::test]
async fn what_would_parse_in_an_async_function_is_accepted() {
    let harness = Harness::new();
    for script in [
        "",
        "// only a comment",
        "for await (const x of []) {}",
        "with ({}) { var y = 010 }",
        "const agent = 1; let args = 2",
        "await null; return",
    ] {
        assert_eq!(value_of(&*harness.run(script).await), Value::Null, "{script}");
    }
}

#[tokio::test]
async fn a_body_that_closes_its_function_is_refused_and_none_of_it_runs() {
    for script in [
        "}); while (true) {} (async () => {",
        "}, async () => {",
        "})() ; (async () => {",
        "} while (true) {} {",
        "}} while (true) {} {{",
    ] {
        refuses(
            |request| request.script = script.into(),
            StartErrorCode::ScriptParse,
            "SyntaxError",
        );
    }
}

#[tokio::test]
async fn hostile_texts_are_refused_in_bounded_time() {
    const SIZE: usize = 256 * 1024;
    let texts = ["(", "[", "!", "{", "`${", "a=>", "async()=>"].map(|piece| piece.repeat(SIZE / piece.len()));
    for text in texts {
        refuses(
            |request| request.script = text.clone(),
            StartErrorCode::ScriptParse,
            "script does not parse",
        );
    }
    let slow = format!("/{}/", "a|".repeat(SIZE / 2 - 2));
    refuses(
        |request| request.script = slow,
        StartErrorCode::ScriptParse,
        "takes too long",
    );
}

/// One thread: what is queued behind the start would wait for it if the start kept the thread to itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn other_tasks_go_on_while_a_script_is_parsed() {
    let (sender, mut turns) = tokio::sync::mpsc::unbounded_channel();
    let starting = tokio::spawn({
        let sender = sender.clone();
        async move {
            let harness = Harness::new();
            let mut request = harness.request("return 1");
            request.script = format!("/{}/", "a|".repeat(128 * 1024 - 2));
            let other = tokio::spawn({
                let sender = sender.clone();
                async move { sender.send("other task") }
            });
            let error = harness.refuse(request);
            assert!(error.message().contains("takes too long"), "{error}");
            sender.send("start").expect("the test listens");
            other.await.expect("no panic").expect("the test listens");
        }
    });
    starting.await.expect("no panic");
    assert_eq!(
        (turns.recv().await, turns.recv().await),
        (Some("other task"), Some("start"))
    );
}

#[tokio::test]
async fn a_script_beyond_its_limit_is_refused() {
    refuses(
        |request| request.script = " ".repeat(256 * 1024 + 1),
        StartErrorCode::InvalidArgument,
        "max_script_bytes",
    );
}

#[tokio::test]
async fn the_rest_of_a_request_is_tested_after_the_script() {
    refuses(
        |request| request.provider = Some(" spawn".into()),
        StartErrorCode::InvalidArgument,
        "expected a name without surrounding blanks",
    );
    refuses(
        |request| request.provider = Some("nobody".into()),
        StartErrorCode::AgentStart,
        "\"nobody\"",
    );
    refuses(
        |request| request.limits.agents = Some(0),
        StartErrorCode::InvalidArgument,
        "limits.agents is 0, expected 1 to 1000 (max_total_agents)",
    );
    refuses(
        |request| request.limits.agents = Some(1_001),
        StartErrorCode::InvalidArgument,
        "expected 1 to 1000",
    );
    refuses(
        |request| request.args = Some("x".repeat(5 << 20).into()),
        StartErrorCode::InvalidArgument,
        "max_args_bytes",
    );
    refuses(
        |request| {
            request.script = "let = ;".into();
            request.provider = Some("nobody".into());
            request.limits.agents = Some(0);
        },
        StartErrorCode::ScriptParse,
        "script does not parse",
    );
}

#[tokio::test]
async fn args_are_what_was_given_and_undefined_without() {
    let harness = Harness::new();
    let script = "return [typeof args, args === undefined ? 'absent' : args]";
    for (given, kind) in [
        (json!({ "k": [1], "__proto__": 2 }), "object"),
        (json!([1, 2]), "object"),
        (json!("{\"k\":1}"), "string"),
        (json!(7), "number"),
        (json!(null), "object"),
    ] {
        let mut request = harness.request(script);
        request.args = Some(given.clone());
        let result = harness.run_request(request).await;
        assert_eq!(value_of(&result), json!([kind, given]));
    }
    assert_eq!(value_of(&*harness.run(script).await), json!(["undefined", "absent"]));
}

#[tokio::test]
async fn a_fired_cancel_token_refuses_nothing_but_the_script_never_runs() {
    let harness = Harness::new();
    let request = harness.request("log('ran'); return await agent('x')");
    request.cancel.cancel();
    let result = harness.run_request(request).await;
    assert_eq!(
        error_of(&result),
        "workflow run cancelled: it was cancelled before it began"
    );
    assert_eq!(harness.seen(), ["start", "end Cancelled 0"]);
}

#[tokio::test]
async fn a_worker_that_cannot_start_or_is_of_no_use_refuses_the_run() {
    for (script, part) in [
        ("exit 3", "exit status 3"),
        ("echo last words >&2; exit 1", "last words"),
        ("kill -SEGV $$", "signal 11 SIGSEGV"),
        ("echo nonsense", "is larger than the limit"),
        ("printf '\\005\\000\\000\\000\"huh\"'", "malformed"),
    ] {
        let mut config = config();
        config.worker = shell_worker(script);
        let harness = Harness::with(config);
        let error = harness.refuse(harness.request("return 1"));
        assert_eq!(error.code(), StartErrorCode::Worker);
        assert!(error.message().contains(part), "{error}");
    }
    let mut config = config();
    config.worker.program = "/nonexistent/weft".into();
    let harness = Harness::with(config);
    let error = harness.refuse(harness.request("return 1"));
    assert!(error.message().contains("/nonexistent/weft"), "{error}");
}

#[test]
fn without_a_runtime_nothing_is_started() {
    let harness = Harness::new();
    let error = harness.refuse(harness.request("return 1"));
    assert_eq!(error.code(), StartErrorCode::Worker);
}

#[tokio::test]
async fn the_worker_has_an_empty_environment() {
    let mut config = config();
    config.worker = shell_worker("test -z \"$HOME$PATH_INFO$USER$CARGO\" || exit 9; exec \"$0\" \"$@\"");
    config.worker.args.push(env!("CARGO_BIN_EXE_weft-worker-test").into());
    let harness = Harness::with(config);
    assert_eq!(value_of(&*harness.run("return 1").await), json!(1));
}

#[tokio::test]
async fn dropping_the_engine_leaves_its_runs_alone() {
    let harness = Harness::new();
    let run = harness.start("return await agent('gate:a')");
    harness.wait_for("agent 1 \"gate:a\"").await;
    let members = harness.members.clone();
    drop(harness);
    members.open("a");
    assert_eq!(value_of(&*run.result().await), json!("gate:a"));
    drop(Arc::clone(&run));
    run.dispose().await;
}
