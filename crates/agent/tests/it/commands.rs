//! Prompts that begin with a slash.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use weft_agent::{AgentOptions, Command, Library, LibraryHandle, Note};
use weft_model::AgentRole;
use weft_tools::Access;
use weft_types::TurnEnd;

use crate::support::{SpyModels, TestTool, World, end, restored};

/// Knows one skill and one folder with instructions.
#[derive(Default)]
struct Shelf {
    places: Mutex<Vec<PathBuf>>,
}

impl Library for Shelf {
    fn expand(&self, name: &str, _text: &str) -> BoxFuture<'static, Result<String, String>> {
        let text = match name {
            "review" => Ok("Look for bugs.".to_owned()),
            _ => Err("its file is gone".to_owned()),
        };
        async { text }.boxed()
    }

    fn notes(&self, places: Vec<PathBuf>) -> BoxFuture<'static, Vec<Note>> {
        self.places.lock().expect("not poisoned").extend(places);
        let note = Note {
            title: "Instructions of sub/AGENTS.md:".to_owned(),
            text: "Use tabs.".to_owned(),
        };
        async { vec![note] }.boxed()
    }

    fn status(&self) -> Vec<String> {
        vec!["Sandbox: off".to_owned()]
    }
}

fn lend(options: &mut AgentOptions) {
    options.lent = options
        .lent
        .clone()
        .with(Arc::new(LibraryHandle(Arc::<Shelf>::default())));
    options.commands = ["review", "gone"]
        .map(|name| Command {
            name: name.to_owned(),
            description: String::new(),
            hint: None,
        })
        .to_vec();
}

const ONE_ANSWER: &str = "[[reply]]\ntext = \"fine\"\n";

#[tokio::test]
async fn a_command_of_the_library_gives_the_model_its_text_after_what_the_user_typed() {
    let world = World::with(SpyModels::script(ONE_ANSWER), lend);
    assert_eq!(world.prompt("/review src/a.rs").await, TurnEnd::Completed);
    assert_eq!(
        world.models.last_messages(),
        [
            "user /review src/a.rs",
            "user The user started the command /review. Follow its text:\n\nLook for bugs.\n\nWhat the user wrote behind \
             it: src/a.rs",
        ]
    );
    assert!(world.watch.words().contains(&"user /review src/a.rs".to_owned()));
    let names: Vec<_> = world
        .agent
        .commands()
        .iter()
        .map(|command| command.name.as_str())
        .collect();
    assert_eq!(names, ["compact", "status", "review", "gone"]);
}

#[tokio::test]
async fn a_command_that_cannot_be_looked_up_ends_the_turn_and_asks_no_model() {
    let world = World::with(SpyModels::script(ONE_ANSWER), lend);
    let ended = world.prompt("/gone").await;
    assert_eq!(end(&ended), "error: failed to start /gone: its file is gone");
    assert!(world.models.requests().is_empty());
}

#[tokio::test]
async fn an_unknown_command_is_ordinary_text() {
    let world = World::with(SpyModels::script(ONE_ANSWER), lend);
    assert_eq!(world.prompt("/unknown thing").await, TurnEnd::Completed);
    assert_eq!(world.models.last_messages(), ["user /unknown thing"]);
}

#[tokio::test]
async fn status_is_told_without_a_model_and_no_model_is_told_of_it() {
    let script = "[[reply]]\ntext = \"fine\"\nusage = { input_tokens = 40, output_tokens = 2 }\n";
    let world = World::with(SpyModels::script(script).window(1_000), lend);
    assert_eq!(world.prompt("/status").await, TurnEnd::Completed);
    assert_eq!(world.prompt("hello").await, TurnEnd::Completed);
    assert_eq!(world.models.last_messages(), ["user hello"]);
    assert!(world.watch.take().contains(&"title hello".to_owned()));
    assert_eq!(world.prompt("/status").await, TurnEnd::Completed);
    assert_eq!(
        world.watch.take(),
        [
            "turn/start 3",
            "user /status",
            "notice Model: test/model; Mode: full; Context: 42 of 1000 tokens, 4 %; Used: 40 tokens in, 2 out; Sandbox: off",
            "turn/end completed",
        ]
    );
    // What is derived from the log is the same.
    let session = restored(&world.agent.session().events().expect("readable"));
    let again = World::with(SpyModels::script(ONE_ANSWER), |options| options.session = session);
    assert_eq!(again.prompt("more").await, TurnEnd::Completed);
    assert_eq!(
        again.models.last_messages(),
        ["user hello", "assistant fine", "user more"]
    );
}

#[tokio::test]
async fn a_subagent_takes_commands_for_text() {
    let world = World::with(SpyModels::script(ONE_ANSWER), |options| {
        lend(options);
        options.role = AgentRole::Subagent;
    });
    assert_eq!(world.prompt("/compact").await, TurnEnd::Completed);
    assert_eq!(world.models.last_messages(), ["user /compact"]);
}

#[tokio::test]
async fn what_is_known_of_a_place_is_given_once_after_it_was_touched() {
    let script = r#"
        [[reply]]
        step = 1
        [[reply.tool_call]]
        name = "echo"
        [[reply]]
        step = 2
        [[reply.tool_call]]
        name = "echo"
        [[reply]]
        step = 3
        text = "done"
    "#;
    let access = Access::Read(vec![weft_tools::AccessPath {
        path: "/srv/project/sub/a.rs".into(),
        shown: "sub/a.rs".to_owned(),
        is_inside: true,
        caution: None,
    }]);
    let world = World::with(SpyModels::script(script), lend).tool(TestTool::echo().accessing(access));
    assert_eq!(world.prompt("go").await, TurnEnd::Completed);
    let contexts: Vec<_> = (world.watch.take().into_iter())
        .filter(|word| word.starts_with("context"))
        .collect();
    assert_eq!(contexts, ["context Instructions of sub/AGENTS.md:\n\nUse tabs."]);
}
