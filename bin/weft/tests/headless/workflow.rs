//! `weft workflow`.

use std::io::Read as _;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Ran, World, signal};

const ANSWER: &str =
    "[[reply]]\nprompt = \"about x\"\ntext = \"an answer\"\n\n[[reply]]\ntimes = \"any\"\ntext = \"another\"\n";

fn meta(name: &str) -> String {
    format!("export const meta = {{ name: '{name}', description: 'Does {name}.', phases: [{{ title: 'One' }}] }};\n")
}

fn world() -> World {
    let world = World::new(ANSWER);
    let add = |name: &str, body: &str| world.write(name, &format!("{}{body}", meta("demo")));
    add(
        "home/workflows/ask.js",
        "phase('One'); return [await agent(`about ${args.what}`), await workflow('inner', 5)]",
    );
    add("home/workflows/inner.js", "return args + 1");
    add("home/workflows/text.js", "return 'as it is'");
    add(
        "home/workflows/fails.js",
        "await agent('done'); throw new Error('too bad')",
    );
    add("home/workflows/hang.js", "log('hangs'); return await agent('HANG')");
    add("project/.weft/workflows/brought.js", "return 1");
    world
}

#[test]
fn workflows_are_listed_with_what_keeps_them_from_running() {
    let world = world();
    world.write("home/workflows/broken.js", "return 1");
    let ran = world.weft(&["workflow", "list"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let line = |name: &str| {
        let found = ran.out.lines().find(|line| line.starts_with(name));
        found.unwrap_or_else(|| panic!("no {name}: {ran:?}")).to_owned()
    };
    assert!(line("ask").ends_with("user     Does demo."), "{ran:?}");
    assert!(line("brought").contains("project  untrusted"), "{ran:?}");
    assert!(line("broken").contains("broken: it does not begin"), "{ran:?}");
    let listed = world.weft(&["workflow", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.out).expect("JSON");
    let all = listed["workflows"].as_array().expect("a list");
    let brought = all.iter().find(|found| found["name"] == "brought").expect("listed");
    assert_eq!(
        (&brought["owner"], &brought["state"]),
        (&json!("project"), &json!("untrusted"))
    );
}

#[test]
fn what_is_no_file_is_not_read_as_a_script() {
    let world = world();
    std::os::unix::fs::symlink("/dev/zero", world.project().join("zero.js")).expect("a link");
    std::fs::create_dir(world.project().join("folder.js")).expect("a folder");
    for (name, problem) in [
        ("./zero.js", "it is not a file"),
        ("./folder.js", "it is not a file"),
        ("./none.js", "there is no such file"),
    ] {
        let ran = world.weft(&["workflow", "run", name]);
        let told = ran.err.contains(&format!("failed to read {name}: {problem}"));
        assert!(ran.code == 2 && told, "{ran:?}");
    }
}

#[test]
fn a_workflow_runs_without_a_model_of_its_own_and_prints_what_it_returns() {
    let world = world();
    std::fs::remove_dir_all(world.path("project/.weft")).expect("removed");
    let ran = world.weft(&["workflow", "run", "ask", "--args", "{\"what\": \"x\"}"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let value: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(value, json!(["an answer", 6]));
    let text = world.weft(&["workflow", "run", "text"]);
    assert_eq!(text.out, "as it is\n");
    world.write("project/draft.js", &format!("{}return args", meta("draft")));
    let file = world.weft(&["workflow", "run", "./draft.js", "--args", "\"7\""]);
    assert_eq!((file.code, file.out.as_str()), (0, "7\n"), "{file:?}");
}

#[test]
fn json_is_the_log_and_a_result() {
    let world = world();
    let ran = world.weft(&["workflow", "run", "text", "--json"]);
    let lines = ran.lines();
    let kinds: Vec<_> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    assert!(kinds.contains(&"tool-workflow/run-start"), "{kinds:?}");
    let result = ran.result();
    assert_eq!(
        (&result["output"], &result["exitCode"]),
        (&json!("as it is"), &json!(0))
    );
    assert!(result["run"].is_string(), "{result}");
}

#[test]
fn a_run_that_fails_says_why_and_how_to_resume_it() {
    let ran = world().weft(&["workflow", "run", "fails"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    for part in ["too bad", "run id:", "weft workflow resume"] {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
}

#[test]
fn what_cannot_be_run_is_wrong_usage_and_makes_no_session() {
    let world = world();
    for (args, part) in [
        (
            &["workflow", "run", "nope"][..],
            "there is no saved workflow \"nope\"; there are ask",
        ),
        (&["workflow", "run", "brought"], "weft trust"),
        (&["workflow", "run", "ask", "--args", "{oops"], "--args is no JSON"),
        (&["workflow", "show", "nope"], "there is no saved workflow"),
    ] {
        let ran = world.weft(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
    assert!(crate::support::is_empty(&world.path("home/sessions")));
}

#[test]
fn trust_lets_a_projects_workflow_run_until_it_changes() {
    let world = world();
    let trusted = world.weft(&["trust", "--yes"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    assert!(
        trusted
            .out
            .contains("workflows.\".weft/workflows/brought.js\" = \"sha256:"),
        "{trusted:?}"
    );
    assert_eq!(world.weft(&["workflow", "run", "brought"]).out, "1\n");
    world.write(
        "project/.weft/workflows/brought.js",
        &format!("{}return 2", meta("demo")),
    );
    let changed = world.weft(&["workflow", "run", "brought"]);
    assert_eq!(changed.code, 2, "{changed:?}");
}

#[test]
fn a_check_parses_and_runs_nothing() {
    let world = world();
    world.write(
        "home/workflows/broken.js",
        &format!("{}const x: string = 'a';", meta("broken")),
    );
    std::fs::create_dir(world.path("home/workflows/folder.js")).expect("made");
    let ran = world.weft(&["workflow", "check"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("ok      ask"), "{ran:?}");
    let unreadable = "failed  folder  it is not a file";
    for part in ["failed  broken", "line 2", "TypeScript", "failed  brought", unreadable] {
        assert!(ran.out.contains(part), "{part}: {ran:?}");
    }
    assert_eq!(world.weft(&["workflow", "check", "ask", "inner"]).code, 0);
    assert!(crate::support::is_empty(&world.path("home/sessions")));
}

#[test]
fn ctrl_c_ends_a_run_in_good_order_and_says_how_to_resume_it() {
    let world = world();
    world.write("home/model.toml", "[[reply]]\nhang = true\n");
    let mut child = world.spawn(&["workflow", "run", "hang", "--json"], Stdio::null());
    let mut out = child.stdout.take().expect("a pipe");
    let mut seen = String::new();
    let mut chunk = [0; 4096];
    while !seen.contains("tool-workflow/agent-start") {
        let n = out.read(&mut chunk).expect("readable");
        assert!(n > 0, "it ended early: {seen}");
        seen.push_str(&String::from_utf8_lossy(&chunk[..n]));
    }
    signal(&child, Signal::INT);
    out.read_to_string(&mut seen).expect("readable");
    let ran = Ran::of(child.wait_with_output().expect("weft ends"));
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(ran.err.contains("weft workflow resume"), "{ran:?}");
    let result: Value = serde_json::from_str(seen.lines().last().expect("a line")).expect("JSON");
    assert_eq!(result["data"]["reason"], json!({ "kind": "signal", "signal": 2 }));
}

#[test]
fn runs_are_listed_with_how_they_stand() {
    let world = world();
    assert!(world.weft(&["workflow", "runs"]).out.is_empty());
    assert_eq!(world.weft(&["workflow", "run", "fails"]).code, 1);
    assert_eq!(world.weft(&["workflow", "run", "text"]).code, 0);
    let listed = world.weft(&["workflow", "runs", "--json"]);
    let listed: Value = serde_json::from_str(&listed.out).expect("JSON");
    let told = |at: usize| {
        let run = &listed["runs"][at];
        (
            run["status"].clone(),
            run["agentsCompleted"].clone(),
            run["agentsStarted"].clone(),
        )
    };
    let mut all = [told(0), told(1)];
    // They may have ended in the same millisecond.
    all.sort_by_key(|run| run.0.to_string());
    assert_eq!(all[0], (json!("completed"), json!(0), json!(0)), "{listed}");
    assert_eq!(all[1], (json!("failed"), json!(1), json!(1)), "{listed}");
    let run = listed["runs"][0]["run"].as_str().expect("an id");
    assert!(world.weft(&["workflow", "runs"]).out.contains(run));
    assert_eq!(world.weft(&["workflow", "runs", "--limit", "1"]).out.lines().count(), 1);
}

#[test]
fn a_slash_command_tells_the_model_the_exact_call_and_the_call_needs_a_yes() {
    let world = world();
    let model = "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"workflow\"\narguments = { name = \"text\" }\n\n\
                 [[reply]]\nstep = 2\ntext = \"Done.\"\n";
    world.write("home/model.toml", model);
    let denied = world.weft(&["exec", "/text [1]"]);
    assert!(
        denied.err.contains("denied, since nobody can be asked: workflow"),
        "{denied:?}"
    );
    let ran = world.weft(&["exec", "--json", "--allow", "workflow", "/text [1]"]);
    let lines = ran.lines();
    let told = lines
        .iter()
        .find(|line| line["type"] == "tool/context")
        .expect("the command's text");
    let text = told["data"]["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("{\"name\":\"text\",\"args\":[1]}"), "{text}");
    let result = lines
        .iter()
        .find(|line| line["type"] == "tool/result")
        .expect("a result");
    assert!(result.to_string().contains("as it is"), "{result}");
}
