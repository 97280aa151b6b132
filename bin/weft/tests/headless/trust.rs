//! `weft trust`, and what a project's own settings may do before it.

use serde_json::Value;

use crate::editor::Editor;
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

/// Who asks for trust is known by its ancestors, of which only Linux tells.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_s_command_cannot_say_yes_for_the_user() {
    let weft = env!("CARGO_BIN_EXE_weft");
    for command in [
        format!("{weft} trust --yes"),
        format!("env -u WEFT_AGENT {weft} trust --yes"),
        // Under another name, with another parent, which is gone by then, and outside of the command's group.
        format!(
            "cp {weft} other && (setsid env -u WEFT_AGENT sh -c './other trust --yes; touch done' >told 2>&1 &) ; \
                 until test -e done; do sleep 0.05; done; cat told"
        ),
    ] {
        let world = World::new(&format!(
            "[[reply]]\nstep = 1\n[[reply.tool_call]]\nid = \"c1\"\nname = \"bash\"\narguments = {{ command = {} }}\n\n\
             [[reply]]\nstep = 2\ntext = \"Done.\"\n",
            Value::from(command.as_str())
        ));
        let config = world.read("home/config.toml");
        world.write("home/config.toml", &format!("{config}[sandbox]\nmode = \"off\"\n"));
        allowing(&world, "bash(touch *)");
        let ran = world.weft(&["exec", "--json", "--mode", "full", "x"]);
        let lines = ran.lines();
        let result = lines
            .iter()
            .find(|line| line["type"] == "tool/result")
            .expect("a result");
        let told = result["data"].to_string();
        assert!(told.contains("this runs for an agent"), "{command}: {told}");
        assert!(!world.path("home/trust.json").exists(), "{command}: {told}");
    }
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
    let mut editor = Editor::open(&world, "reject_once");
    assert_eq!(editor.prompt("x")["stopReason"], "end_turn");
    let said = editor.said();
    editor.close();
    let notice = said.find("permissions.allow = [\"bash(touch *)\"]").expect("a notice");
    assert!(notice < said.find("Hello.").expect("an answer"), "{said}");
}

/// The states of the one card that a question has, in order; it is pending where nothing is said.
fn card_of(editor: &Editor, question: &Value) -> Vec<String> {
    let id = &question["toolCall"]["toolCallId"];
    let updates = editor.updates.iter().filter(|update| update["toolCallId"] == *id);
    let status = |update: &Value| update["status"].as_str().unwrap_or("pending").to_owned();
    updates.map(status).collect()
}

#[test]
fn in_a_conversation_trust_asks_and_only_yes_counts() {
    for (answer, status, counts) in [("reject_once", "failed", false), ("allow_once", "completed", true)] {
        // A model that is asked would answer in error: no reply is left for it.
        let world = World::new("[[reply]]\nprompt = \"nobody says this\"\ntext = \"Hello.\"\n");
        world.write(
            "project/.weft/config.toml",
            "[mcp.db]\ncommand = \"touch\"\nargs = [\"ran\"]\n",
        );
        let mut editor = Editor::open(&world, answer);
        assert_eq!(editor.prompt("/trust")["stopReason"], "end_turn");
        let [question] = &editor.questions[..] else {
            panic!("{:?}", editor.questions)
        };
        assert_eq!(card_of(&editor, question), ["pending", status]);
        let shown = question["toolCall"]["content"].to_string();
        assert!(shown.contains("mcp.db.command = \\\"touch\\\""), "{shown}");
        let names: Vec<_> = (question["options"].as_array().into_iter().flatten())
            .map(|option| option["name"].clone())
            .collect();
        assert_eq!(names, ["Trust exactly these settings", "Do not trust"]);
        let told = match counts {
            true => "is trusted with exactly these settings, from the next session in its folder on",
            false => "Nothing of this project's own settings is trusted now",
        };
        assert!(editor.said().contains(told), "{}", editor.said());
        assert!(!world.path("project/ran").exists(), "nothing runs in this session");
        assert_eq!(world.path("home/trust.json").exists(), counts);
        if counts {
            editor.prompt("/trust");
            assert_eq!(editor.questions.len(), 1, "it is trusted already");
            assert!(editor.said().contains("is trusted already"), "{}", editor.said());
        }
        editor.close();
    }
}

#[test]
fn where_nobody_can_be_asked_trust_says_so() {
    let world = World::new("[[reply]]\ntext = \"Hello.\"\n");
    allowing(&world, "bash(touch *)");
    let ran = world.weft(&["exec", "/trust"]);
    assert!(ran.err.contains("Nobody can be asked here."), "{ran:?}");
    assert!(!world.path("home/trust.json").exists());
}
