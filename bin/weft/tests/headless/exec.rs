//! `weft exec`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Ran, World, is_empty, signal};

const HELLO: &str = "[[reply]]\ntext = \"Hello.\"\nusage = { input_tokens = 7, output_tokens = 2 }\n";

/// A model that runs a command and then says what it was told.
fn shell(command: &str) -> String {
    format!(
        "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"bash\"\narguments = {{ command = {} }}\n\n\
         [[reply]]\nstep = 2\ntext = \"Done.\"\n",
        Value::from(command)
    )
}

fn types(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["type"].as_str()).collect()
}

#[test]
fn the_answer_and_nothing_else_goes_to_stdout() {
    let world = World::new(HELLO);
    let ran = world.weft(&["exec", "Hi"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "Hello.\n", ""));
}

#[test]
fn the_prompt_is_the_argument_with_stdin_below_it() {
    let world = World::new("[[reply]]\ntext = \"${prompt}\"\n");
    for (args, input, expected) in [
        (&["exec", "ask"][..], "more", "ask\n\nmore\n"),
        (&["exec", "-"], "all of it", "all of it\n"),
        (&["exec"], "all of it", "all of it\n"),
    ] {
        let ran = world.weft_with(args, input);
        let logged = world.weft(&["sessions", "list", "--json"]);
        let list: Value = serde_json::from_str(&logged.out).expect("JSON");
        let id = list["sessions"][0]["id"].as_str().expect("an id");
        let log = world.read(&format!("home/sessions/{id}/log.jsonl"));
        let mut asked = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let asked = asked.rfind(|line| line["type"] == "user/message").expect("one");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(asked["data"]["content"][0]["text"], expected.trim_end());
    }
}

#[test]
fn wrong_usage_is_2_and_makes_no_session() {
    let world = World::new(HELLO);
    let blank = world.weft(&["exec"]);
    assert_eq!((blank.code, blank.out.as_str()), (2, ""), "{blank:?}");
    assert!(blank.err.contains("the prompt is blank"), "{blank:?}");
    for args in [
        &["exec", "--partial", "x"][..],
        &["exec", "--timeout", "0s", "x"],
        &["exec", "--continue", "--session", "a", "x"],
    ] {
        let ran = world.weft(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    }
    assert!(is_empty(&world.path("home/sessions")));
}

#[test]
fn json_is_the_log_as_it_happens_and_a_result() {
    let world = World::new(HELLO);
    let ran = world.weft(&["exec", "--json", "Hi"]);
    let mut lines = ran.lines();
    let result = lines.pop().expect("a result");
    let id = lines[0]["id"].as_str().expect("an id").to_owned();
    let mut logged = world.weft(&["sessions", "export", &id]).lines();
    assert_eq!(lines, logged, "the header and each event");
    assert_eq!(
        result,
        json!({"type": "result", "data": {
            "session": id, "exitCode": 0, "reason": {"kind": "completed"}, "text": "Hello.", "denied": [],
            "usage": {"inputTokens": 7, "outputTokens": 2},
        }})
    );
    logged.retain(|line| line["type"] == "turn/end");
    assert_eq!(logged.len(), 1);
}

#[test]
fn partial_adds_each_piece_in_its_place() {
    let world = World::new("[[reply]]\nreasoning = \"Hm.\"\ntext = \"Hello.\"\n");
    let ran = world.weft(&["exec", "--json", "--partial", "Hi"]);
    let lines = ran.lines();
    let pieces = |kind: &str| -> String {
        let pieces = lines
            .iter()
            .filter(|line| line["type"] == "delta" && line["data"]["kind"] == kind);
        pieces.filter_map(|line| line["data"]["text"].as_str()).collect()
    };
    assert_eq!((pieces("reasoning"), pieces("text")), ("Hm.".into(), "Hello.".into()));
    let types = types(&lines);
    let last_piece = types.iter().rposition(|kind| *kind == "delta").expect("pieces");
    let message = types
        .iter()
        .position(|kind| *kind == "assistant/message")
        .expect("a message");
    assert!(last_piece < message, "{types:?}");
}

#[test]
fn what_would_need_a_question_is_denied_and_said() {
    let world = World::new(&shell("touch made"));
    let ran = world.weft(&["exec", "Make it"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{ran:?}");
    assert!(
        ran.err
            .starts_with("weft: denied, since nobody can be asked: bash: touch made\n"),
        "{ran:?}"
    );
    assert!(ran.err.contains("hint: --allow RULE"), "{ran:?}");
    assert!(!world.path("project/made").exists());
    let denied = world.weft(&["exec", "--json", "Make it"]).result();
    assert_eq!(
        denied["denied"],
        json!([{"callId": "c1", "tool": "bash", "title": "touch made"}])
    );
}

#[test]
fn rules_allow_and_deny() {
    let world = World::new(&shell("touch made"));
    let denied = world.weft(&["exec", "--mode", "full", "--deny", "bash(touch *)", "Make it"]);
    assert_eq!((denied.code, denied.out.as_str()), (0, "Done.\n"), "{denied:?}");
    assert!(!world.path("project/made").exists());
    let ran = world.weft(&["exec", "--allow", "bash(touch *)", "Make it"]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (0, "Done.\n", ""),
        "{ran:?}"
    );
    assert!(world.path("project/made").exists());
    let bad = world.weft(&["exec", "--allow", "bash(touch", "Make it"]);
    assert_eq!((bad.code, bad.out.as_str()), (1, ""), "{bad:?}");
    assert!(
        bad.err
            .starts_with("weft: --allow: found \"bash(touch\", expected a rule"),
        "{bad:?}"
    );
}

#[test]
fn mode_full_lets_it_work() {
    let world = World::new(&shell("touch made"));
    let ran = world.weft(&["exec", "--mode", "full", "Make it"]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (0, "Done.\n", ""),
        "{ran:?}"
    );
    assert!(world.path("project/made").exists());
}

#[test]
fn a_session_goes_on_by_its_id_and_as_the_last_of_its_folder() {
    let world = World::new(
        "[[reply]]\nturn = 1\ntext = \"One.\"\n[[reply]]\nturn = 2\ntext = \"Two.\"\n[[reply]]\nturn = 3\ntext = \"Three.\"\n",
    );
    let first = world.weft(&["exec", "--json", "a"]).result();
    let id = first["session"].as_str().expect("an id");
    let second = world.weft(&["exec", "--continue", "--json", "b"]).result();
    assert_eq!(
        (&second["session"], &second["text"]),
        (&first["session"], &json!("Two."))
    );
    let third = world.weft(&["exec", "--session", &id[..20], "c"]);
    assert_eq!((third.code, third.out.as_str()), (0, "Three.\n"), "{third:?}");
}

#[test]
fn without_a_session_to_go_on_with_it_says_what_to_do() {
    let world = World::new(HELLO);
    let none = world.weft(&["exec", "--continue", "x"]);
    assert_eq!(none.code, 1, "{none:?}");
    assert!(none.err.contains("hint: weft exec without --continue"), "{none:?}");
    let other = world.weft(&["exec", "--session", "nothing", "x"]);
    assert_eq!(other.code, 1, "{other:?}");
    assert!(other.err.contains("weft sessions list --all"), "{other:?}");
}

#[test]
fn another_folder_is_worked_in_where_one_is_named() {
    let world = World::new(&shell("touch made"));
    world.write("elsewhere/file", "");
    let ran = world.weft(&["exec", "--mode", "full", "--cd", "../elsewhere", "x"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(world.path("elsewhere/made").exists());
    let none = world.weft(&["exec", "--cd", "../nowhere", "x"]);
    assert_eq!(none.code, 1, "{none:?}");
    assert!(none.err.contains("failed to find the folder ../nowhere"), "{none:?}");
}

#[test]
fn a_further_folder_is_read_without_a_question() {
    let world = World::new(
        "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"read\"\narguments = { path = \"../elsewhere/file\" }\n\n\
         [[reply]]\nstep = 2\ntext = \"Done.\"\n",
    );
    world.write("elsewhere/file", "hidden\n");
    let denied = world.weft(&["exec", "x"]);
    assert!(
        denied.err.contains("denied, since nobody can be asked: read"),
        "{denied:?}"
    );
    let ran = world.weft(&["exec", "--add-dir", "../elsewhere", "x"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let none = world.weft(&["exec", "--add-dir", "../nowhere", "x"]);
    assert!(
        none.code == 1 && none.err.contains("failed to find the folder ../nowhere"),
        "{none:?}"
    );
}

#[test]
fn how_the_model_ended_is_told_by_the_exit_code() {
    let refusal = World::new("[[reply]]\ntext = \"No.\"\nstop = \"refusal\"\n").weft(&["exec", "x"]);
    assert_eq!(
        (refusal.code, refusal.err.as_str()),
        (3, "weft: the model refused\n"),
        "{refusal:?}"
    );
    let cut = World::new("[[reply]]\ntext = \"Half\"\nstop = \"max_tokens\"\n").weft(&["exec", "x"]);
    assert_eq!((cut.code, cut.out.as_str()), (3, "Half\n"), "{cut:?}");
    let endless = World::new(&shell("true")).weft(&["exec", "--max-steps", "1", "x"]);
    assert_eq!(endless.code, 3, "{endless:?}");
    assert!(endless.err.contains("--max-steps N"), "{endless:?}");
    let failed = World::new("[[reply]]\nerror = { kind = \"auth\", message = \"bad key\" }\n").weft(&["exec", "x"]);
    assert_eq!((failed.code, failed.out.as_str()), (1, ""), "{failed:?}");
    assert!(failed.err.contains("bad key"), "{failed:?}");
}

#[test]
fn without_a_model_it_fails_with_what_to_set() {
    let world = World::new(HELLO);
    world.write("home/config.toml", "");
    let ran = world.weft(&["exec", "x"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("no model is configured: set `model ="), "{ran:?}");
}

/// Starts a turn that runs a command which never ends by itself, and waits until it runs.
fn waiting(world: &World, args: &[&str]) -> (std::process::Child, BufReader<std::process::ChildStdout>) {
    let args = [&["exec", "--json", "--mode", "full"][..], args, &["x"]].concat();
    let mut child = world.spawn(&args, Stdio::null());
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("\"tool/call\"") {
        line.clear();
        assert!(out.read_line(&mut line).expect("read") > 0, "ended early");
    }
    (child, out)
}

fn rest(mut child: std::process::Child, mut out: impl std::io::Read) -> Ran {
    let mut text = String::new();
    out.read_to_string(&mut text).expect("read");
    let mut err = String::new();
    child
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut err)
        .expect("read");
    let status = child.wait().expect("ends");
    Ran {
        code: status.code().unwrap_or(-1),
        out: text,
        err,
    }
}

#[test]
fn an_interrupt_cancels_once_and_the_log_is_whole() {
    for (kind, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let world = World::new(&shell("while :; do sleep 1; done"));
        let (child, out) = waiting(&world, &[]);
        signal(&child, kind);
        let ran = rest(child, out);
        assert_eq!(ran.code, code, "{ran:?}");
        let lines = ran.lines();
        let kinds = types(&lines);
        assert!(
            kinds.ends_with(&["tool/result", "step/end", "turn/end", "result"]),
            "{kinds:?}"
        );
        let end = &lines[lines.len() - 2]["data"]["reason"];
        assert_eq!(end, &json!({"kind": "aborted", "by": "user"}));
        assert_eq!(ran.result()["reason"], json!({"kind": "signal", "signal": code - 128}));
        assert!(ran.err.starts_with("weft: cancelled; session "), "{ran:?}");
    }
}

#[test]
fn a_turn_that_takes_too_long_is_cancelled() {
    let world = World::new(&shell("while :; do sleep 1; done"));
    let (child, out) = waiting(&world, &["--timeout", "1s"]);
    let ran = rest(child, out);
    assert_eq!(ran.code, 124, "{ran:?}");
    assert_eq!(ran.result()["reason"], json!({"kind": "timed_out"}));
    assert!(ran.err.contains("not done within --timeout"), "{ran:?}");
}

#[test]
fn a_reader_that_goes_away_ends_the_turn_quietly() {
    let world = World::new(&shell("while :; do sleep 1; done"));
    let (child, out) = waiting(&world, &["--partial"]);
    drop(out);
    // The next event meets the closed pipe: the cancel's own.
    signal(&child, Signal::INT);
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(128 + 13));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr)
            .lines()
            .filter(|line| !line.contains("cancelled"))
            .count(),
        0
    );
}

const SCHEMA: &str = r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#;

/// A reply that answers in a schema.
fn structured(key: &str, arguments: &str) -> String {
    let id = key.replace(' ', "");
    format!(
        "[[reply]]\n{key}\n[[reply.tool_call]]\nid = \"{id}\"\nname = \"structured_output\"\narguments = {arguments}\n"
    )
}

#[test]
fn an_answer_in_a_schema_is_json_and_is_asked_for_until_it_fits() {
    let replies = structured("step = 1", "{ n = \"two\" }") + &structured("step = 2", "{ n = 2 }");
    let world = World::new(&replies);
    world.write("project/schema.json", SCHEMA);
    let ran = world.weft(&["exec", "--output-schema", "schema.json", "How many?"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"n\":2}\n"), "{ran:?}");
    let result = world
        .weft(&["exec", "--json", "--output-schema", "schema.json", "How many?"])
        .result();
    assert_eq!((&result["output"], &result["exitCode"]), (&json!({"n": 2}), &json!(0)));
}

#[test]
fn a_model_that_never_fits_the_schema_is_reminded_and_given_up() {
    let world = World::new("[[reply]]\ntimes = 3\ntext = \"Two.\"\n");
    world.write("project/schema.json", SCHEMA);
    let ran = world.weft(&["exec", "--output-schema", "schema.json", "How many?"]);
    assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{ran:?}");
    assert!(ran.err.contains("after 2 reminders"), "{ran:?}");
}

#[test]
fn a_schema_that_cannot_be_used_is_wrong_usage() {
    let world = World::new(HELLO);
    for (text, part) in [
        ("{", "is not JSON"),
        ("{\"type\": \"array\"}", "expected one of an object"),
        ("{\"type\": \"object\", \"properties\": 3}", "the schema cannot be used"),
    ] {
        world.write("project/schema.json", text);
        let ran = world.weft(&["exec", "--output-schema", "schema.json", "x"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(part), "{ran:?}");
    }
    let none = world.weft(&["exec", "--output-schema", "nothing.json", "x"]);
    assert_eq!(none.code, 2, "{none:?}");
}
