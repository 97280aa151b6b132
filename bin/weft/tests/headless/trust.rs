//! `weft trust`, and what a project's own settings may do before it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::World;

#[test]
fn a_project_without_powers_needs_no_trust() {
    let world = World::new("[[reply]]\ntext = \"Hello.\"\n");
    world.write("project/.weft/config.toml", "[agent]\nmax_steps = 3\n");
    let ran = world.weft(&["trust"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert!(
        ran.out.starts_with("Nothing in ") && ran.out.ends_with(" needs trust.\n"),
        "{ran:?}"
    );
    assert!(!world.path("home/trust.json").exists());
}

#[test]
fn what_is_left_aside_is_said_before_the_turn() {
    let world = World::new("[[reply]]\ntext = \"Hello.\"\n");
    world.write(
        "project/.weft/config.toml",
        "[mcp.db]\ncommand = \"touch\"\nargs = [\"ran\"]\n",
    );
    let ran = world.weft(&["exec", "x"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hello.\n"), "{ran:?}");
    assert!(ran.err.contains("\n  mcp.db.command = \"touch\"\n"), "{ran:?}");
    let hint = format!("hint: weft trust {} ", world.project().display());
    assert!(ran.err.contains(&hint), "{ran:?}");
    assert!(!world.path("project/ran").exists());
}

/// A project that allows its own command.
fn allowing(world: &World, rule: &str) {
    world.write(
        "project/.weft/config.toml",
        &format!("permissions.allow = [\"{rule}\"]\n"),
    );
}

#[test]
fn a_project_allows_nothing_before_the_user_said_yes_to_exactly_that() {
    let world = World::new(
        "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"bash\"\narguments = { command = \"touch ran\" }\n\n\
         [[reply]]\nstep = 2\ntext = \"Done.\"\n",
    );
    let ran = |world: &World| {
        let _gone = std::fs::remove_file(world.path("project/ran"));
        world.weft(&["exec", "x"]);
        world.path("project/ran").exists()
    };
    allowing(&world, "bash(touch *)");
    assert!(!ran(&world), "before any word");

    let asked = world.weft(&["trust"]);
    assert_eq!(asked.code, 1, "{asked:?}");
    assert!(
        asked.out.contains("\n  permissions.allow = [\"bash(touch *)\"]\n"),
        "{asked:?}"
    );
    assert!(
        asked.err.contains("nobody can be asked here, so nothing is trusted"),
        "{asked:?}"
    );
    assert!(!ran(&world), "nobody answered");

    assert_eq!(world.weft(&["trust", "--yes"]).code, 0);
    assert!(ran(&world), "trusted");
    let list = world.weft(&["trust", "--list"]);
    let expected = format!(
        "{}\n  permissions.allow = [\"bash(touch *)\"]\n",
        world.project().display()
    );
    assert_eq!(list.out, expected);

    allowing(&world, "bash(touch ran)");
    assert!(!ran(&world), "it is another rule");
    assert!(world.weft(&["exec", "x"]).err.contains("it is not what you trusted"));
    allowing(&world, "bash(touch *)");
    assert!(ran(&world), "what was trusted is back");

    assert_eq!(world.weft(&["trust", "--revoke"]).code, 0);
    assert!(!ran(&world), "revoked");
}

#[test]
fn a_file_that_cannot_be_used_is_not_trusted() {
    let world = World::new("[[reply]]\ntext = \"Hello.\"\n");
    allowing(&world, "bash(touch");
    let ran = world.weft(&["trust", "--yes"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("config.toml:1:"), "{ran:?}");
    assert!(!world.path("home/trust.json").exists());
}

#[test]
fn an_editor_shows_what_is_left_aside_at_the_start_of_the_first_turn() {
    let world = World::new("[[reply]]\ntext = \"Hello.\"\n");
    allowing(&world, "bash(touch *)");
    let mut agent = world.spawn(&["acp"], Stdio::piped());
    let mut stdin = agent.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(agent.stdout.take().expect("a pipe"));
    let mut said = String::new();
    // Answers come in order, each behind the updates that belong before it.
    let mut ask = |method: &str, params: Value| -> Value {
        let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        writeln!(stdin, "{request}").expect("written");
        loop {
            let mut line = String::new();
            assert!(stdout.read_line(&mut line).expect("read") > 0, "the agent ended");
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if line["id"] == method {
                return line["result"].clone();
            }
            if let Some(text) = line["params"]["update"]["content"]["text"].as_str() {
                said.push_str(text);
            }
        }
    };
    ask("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
    let session = ask("session/new", json!({"cwd": world.project(), "mcpServers": []}));
    let prompt = json!({"sessionId": session["sessionId"], "prompt": [{"type": "text", "text": "x"}]});
    let ended = ask("session/prompt", prompt);
    assert_eq!(ended["stopReason"], "end_turn");
    drop(stdin);
    assert!(agent.wait().expect("ends").success());
    let notice = said.find("permissions.allow = [\"bash(touch *)\"]").expect("a notice");
    assert!(notice < said.find("Hello.").expect("an answer"), "{said}");
}
