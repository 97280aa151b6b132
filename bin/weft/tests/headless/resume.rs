//! `weft workflow resume`.

use serde_json::{Value, json};

use crate::support::{Ran, World};

const MODEL: &str = "[[reply]]\nprompt = \"^first\"\ntext = \"one\"\n";

/// Whoever is asked later gets other answers.
const LATER: &str =
    "[[reply]]\nprompt = \"^first\"\ntext = \"another\"\n\n[[reply]]\nprompt = \"^second\"\ntext = \"two\"\n";

/// Fails after its first agent, unless it is mended.
fn script(middle: &str) -> String {
    let meta = "export const meta = { name: 'brittle', description: 'Breaks.' };\n";
    format!("{meta}const one = await agent('first');\n{middle}\nreturn [one, await agent('second'), args];\n")
}

/// The id of the run that ended like this.
fn run_of(ran: &Ran) -> String {
    let (_, after) = ran
        .err
        .split_once("weft workflow resume ")
        .expect("it says how to resume it");
    after.split_whitespace().next().expect("an id").to_owned()
}

fn world() -> (World, String) {
    let world = World::new(MODEL);
    world.write("project/run.js", &script("throw new Error('too bad');"));
    let failed = world.weft(&["workflow", "run", "./run.js", "--args", "[7]"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    let run = run_of(&failed);
    world.write("home/model.toml", LATER);
    (world, run)
}

#[test]
fn wfr01_an_edited_script_goes_on_with_what_was_answered() {
    let (world, run) = world();
    let again = world.weft(&["workflow", "resume", &run]);
    assert_eq!(
        (again.code, again.out.as_str()),
        (1, ""),
        "its own script fails again: {again:?}"
    );
    world.write("project/mended.js", &script(""));
    let mended = world.weft(&["workflow", "resume", &run, "--script", "mended.js", "--json"]);
    assert_eq!(mended.code, 0, "{mended:?}");
    let result = mended.result();
    assert_eq!(result["output"], json!(["one", "two", [7]]));
    let kinds: Vec<Value> = mended.lines().iter().map(|line| line["type"].clone()).collect();
    assert!(kinds.contains(&json!("tool-workflow/run-start")), "{kinds:?}");
    let other = world.weft(&["workflow", "resume", &run, "--script", "mended.js", "--args", "null"]);
    let value: Value = serde_json::from_str(&other.out).expect("JSON");
    assert_eq!(value, json!(["one", "two", null]), "all attempts count");
}

#[test]
fn what_is_made_again_is_asked_of_the_model_again() {
    let (world, run) = world();
    world.write("project/mended.js", &script(""));
    let rerun = ["workflow", "resume", &run, "--script", "mended.js", "--rerun", "first"];
    let ran = world.weft(&rerun);
    let value: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(value, json!(["another", "two", [7]]), "{ran:?}");
}

#[test]
fn wfr05_wfr08_what_cannot_be_resumed_is_refused() {
    let (world, run) = world();
    let ran = world.weft(&["workflow", "resume", "nope"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    assert!(ran.err.contains("no journal of a workflow run \"nope\""), "{ran:?}");
    let ran = world.weft(&["workflow", "resume", &run, "--args", "{oops"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("--args is no JSON"), "{ran:?}");
    let sessions = world.path("home/sessions");
    let session = std::fs::read_dir(&sessions)
        .expect("sessions")
        .flatten()
        .map(|entry| entry.path());
    let session = session
        .into_iter()
        .find(|path| path.join("runs").is_dir())
        .expect("a session with a run");
    let lock = std::fs::File::open(session.join("lock")).expect("a lock");
    lock.lock().expect("nobody has it");
    let ran = world.weft(&["workflow", "resume", &run]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("in use"), "{ran:?}");
}
