//! What goes on behind an agent's calls when its turn is over.

use std::sync::Arc;

use serde_json::json;
use weft_agent::AgentOptions;
use weft_model::AgentRole;
use weft_tools::{Memory, Ongoing, Overview};
use weft_types::TurnEnd;

use crate::support::{SpyModels, TestTool, World};

/// Goes on for as long as its caller remembers it.
#[derive(Default)]
struct Server;

impl Ongoing for Server {
    fn lines(&self) -> Vec<String> {
        vec!["1 (npm run dev), for 3 s".to_owned()]
    }
}

fn begin() -> TestTool {
    TestTool::new("begin", |execution| async move {
        let memory = execution.extension::<Memory>().expect("agents lend one");
        let server: Arc<dyn Ongoing> = memory.of::<Server>();
        memory.of::<Overview>().watch(&server);
        Ok(json!("begun"))
    })
}

const SCRIPT: &str = r#"
    [[reply]]
    turn = 1
    step = 1
    [[reply.tool_call]]
    id = "c1"
    name = "begin"
    [[reply]]
    text = "done"
    times = 9
"#;

const NOTICE: &str = "notice Still running in the background:\n- 1 (npm run dev), for 3 s\nThey end with the session; ask \
    for one to be stopped to end it now.";

async fn words_of(change: impl FnOnce(&mut AgentOptions)) -> Vec<String> {
    let world = World::with(SpyModels::script(SCRIPT), change).tool(begin());
    for prompt in ["go", "again", "/status"] {
        assert_eq!(world.prompt(prompt).await, TurnEnd::Completed);
    }
    let models_know = world
        .models
        .last_messages()
        .iter()
        .any(|message| message.contains("npm"));
    assert!(!models_know, "it is the user who is told");
    world.watch.take()
}

#[tokio::test]
async fn each_turn_ends_with_a_word_about_what_still_runs() {
    let words = words_of(|_| {}).await;
    let ends: Vec<_> = (words.iter().enumerate())
        .filter(|(_, word)| word.starts_with("turn/end"))
        .map(|(at, _)| words[at - 1].as_str())
        .collect();
    assert_eq!(ends, [NOTICE; 3], "{words:?}");
    let status = words.iter().find(|word| word.starts_with("notice Model: "));
    assert!(
        status.is_some_and(|status| status.ends_with("; In the background: 1 (npm run dev), for 3 s")),
        "{words:?}"
    );
}

#[tokio::test]
async fn a_subagent_tells_nobody_for_what_it_began_ends_with_it() {
    let words = words_of(|options| options.role = AgentRole::Subagent).await;
    assert!(!words.iter().any(|word| word.starts_with("notice ")), "{words:?}");
}
