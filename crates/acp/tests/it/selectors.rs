//! Modes, options and commands: what a client is told of them, and what it changes.

use serde_json::{Value, json};
use weft_agent::Command;

use crate::support::{Client, World};

const HELLO: &str = "[[reply]]\ntext = \"hello\"\n";

fn current(options: &Value, id: &str) -> Value {
    let options = options.as_array().expect("a list");
    let option = options.iter().find(|option| option["id"] == id).expect("an option");
    option["currentValue"].clone()
}

impl Client {
    async fn set_mode(&mut self, session: &str, mode: &str) -> Value {
        let params = json!({ "sessionId": session, "modeId": mode });
        self.call("session/set_mode", params).await
    }

    async fn set_option(&mut self, session: &str, option: &str, value: &str) -> Value {
        let params = json!({ "sessionId": session, "configId": option, "value": value });
        self.call("session/set_config_option", params).await
    }

    /// What the last session came with.
    fn setup(&self) -> &Value {
        self.setups.last().expect("a session was set up")
    }
}

#[tokio::test]
async fn a_new_session_comes_with_its_modes_and_options() {
    let mut client = Client::start(World::new(HELLO).options()).await;
    client.session().await;
    let setup = client.setup();
    assert_eq!(setup["modes"]["currentModeId"], "ask");
    assert_eq!(current(&setup["configOptions"], "mode"), "ask");
    assert_eq!(current(&setup["configOptions"], "model"), "test/model");
    client.end().await;
}

#[tokio::test]
async fn ord01_the_commands_follow_the_answer_that_gives_the_session() {
    let commands = [("mine", Some("what to do")), ("yours", None)].map(|(name, hint)| Command {
        name: name.into(),
        description: format!("Does {name}."),
        hint: hint.map(str::to_owned),
    });
    let world = World::new(HELLO).stored().with_commands(&commands);
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    client.prompt(&session, "hi").await;
    assert_eq!(
        client.commands.len(),
        1,
        "once, and before anything else of the session"
    );
    assert_eq!(client.commands[0]["sessionId"], json!(session));
    let announced = client.commands[0]["update"]["availableCommands"]
        .as_array()
        .expect("a list");
    assert_eq!(
        announced[announced.len() - 2..],
        [
            json!({ "name": "mine", "description": "Does mine.", "input": { "hint": "what to do" } }),
            json!({ "name": "yours", "description": "Does yours." }),
        ]
    );
    // What a load shows ends with its answer; a resume shows nothing before it.
    for (method, before) in [("session/load", 1), ("session/resume", 0)] {
        client.call("session/close", json!({ "sessionId": session })).await;
        client.commands.clear();
        let params = json!({ "sessionId": session, "cwd": "/", "mcpServers": [] });
        assert_eq!(client.call(method, params).await["result"], json!({}));
        assert_eq!(client.commands.len(), before, "{method}");
        client.prompt(&session, "hi").await;
        assert_eq!(client.commands.len(), 1, "{method}");
    }
    client.end().await;
}

#[tokio::test]
async fn a_mode_and_its_option_are_kept_in_step() {
    let world = World::new(HELLO);
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;

    assert_eq!(client.set_mode(&session, "plan").await["result"], json!({}));
    let told = client.updates();
    assert_eq!(told.len(), 1);
    assert_eq!(current(&told[0]["configOptions"], "mode"), "plan");
    assert_eq!(world.agents()[0].mode().as_str(), "plan");

    let answer = client.set_option(&session, "mode", "full").await;
    assert_eq!(current(&answer["result"]["configOptions"], "mode"), "full");
    assert_eq!(current(&answer["result"]["configOptions"], "model"), "test/model");
    assert_eq!(
        client.updates(),
        [json!({ "sessionUpdate": "current_mode_update", "currentModeId": "full" })]
    );
    assert_eq!(world.agents()[0].mode().as_str(), "full");

    assert_eq!(client.set_mode(&session, "full").await["result"], json!({}));
    assert_eq!(
        client.updates(),
        [] as [Value; 0],
        "what stands already changes nothing"
    );
    client.end().await;
}

#[tokio::test]
async fn a_model_is_asked_from_the_next_request_on_also_within_a_turn() {
    let world = World::new(
        "[[reply]]\nstep = 1\ngate = \"g\"\n[[reply.tool_call]]\nid = \"c\"\nname = \"echo\"\n\
         [[reply]]\nstep = 2\ntext = \"hello\"\n",
    );
    let world = world.tool(crate::support::TestTool::echo());
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "hi");
    world.script.wait_gate("g").await.unwrap();
    let answer = client.set_option(&session, "model", "test/large").await;
    assert_eq!(current(&answer["result"]["configOptions"], "model"), "test/large");
    world.script.open_gate("g").unwrap();
    assert_eq!(client.response(prompt).await["result"]["stopReason"], "end_turn");
    assert_eq!(world.models_asked(), ["model", "large"]);
    assert_eq!(client.take_kind("config_option_update"), [] as [Value; 0], "it knew");
    client.end().await;
}

#[tokio::test]
async fn a_choice_is_taken_up_again_with_its_session() {
    let world = World::new(HELLO).stored();
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    client.prompt(&session, "one").await;
    client.set_option(&session, "model", "other/model").await;
    client.prompt(&session, "two").await;
    client.call("session/close", json!({ "sessionId": session })).await;
    for method in ["session/load", "session/resume"] {
        let params = json!({ "sessionId": session, "cwd": "/", "mcpServers": [] });
        client.call(method, params).await;
        assert_eq!(
            current(&client.setup()["configOptions"], "model"),
            "other/model",
            "{method}"
        );
        client.call("session/close", json!({ "sessionId": session })).await;
    }
    client.end().await;
}

#[tokio::test]
async fn what_is_not_offered_is_refused_and_changes_nothing() {
    let world = World::new(HELLO);
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let refused = [
        client.set_mode(&session, "yolo").await,
        client.set_option(&session, "mode", "yolo").await,
        client.set_option(&session, "model", "test/unlisted").await,
        client.set_option(&session, "colour", "red").await,
        client
            .call(
                "session/set_config_option",
                json!({ "sessionId": session, "configId": "mode", "type": "boolean", "value": true }),
            )
            .await,
    ];
    for answer in refused {
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(
        client.set_mode("no-such-session", "plan").await["error"]["code"],
        -32002
    );
    assert_eq!(client.updates(), [] as [Value; 0]);
    assert_eq!(world.agents()[0].mode().as_str(), "ask");
    assert_eq!(world.agents()[0].model(), None);
    client.end().await;
}

#[tokio::test]
async fn each_counted_answer_tells_how_full_the_context_is() {
    let world =
        World::new("[[reply]]\ntext = \"hello\"\nusage = { input_tokens = 120, output_tokens = 30 }\n").stored();
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    client.prompt(&session, "one").await;
    let usage = json!({ "sessionUpdate": "usage_update", "used": 150, "size": 1000 });
    assert_eq!(client.take_kind("usage_update"), std::slice::from_ref(&usage));
    client.call("session/close", json!({ "sessionId": session })).await;
    let params = json!({ "sessionId": session, "cwd": "/", "mcpServers": [] });
    client.call("session/load", params).await;
    assert_eq!(client.take_kind("usage_update"), [usage], "a load tells it as well");
    client.end().await;
}

#[tokio::test]
async fn a_picture_is_a_prompt_and_is_shown_again_by_a_load() {
    let world = World::new(HELLO).stored();
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let picture = json!({ "type": "image", "mimeType": "image/png", "data": "AAAA" });
    let params = json!({ "sessionId": session, "prompt": [picture] });
    let answer = client.call("session/prompt", params).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert!(world.last_request().contains("image/png"), "the model is shown it");
    client.call("session/close", json!({ "sessionId": session })).await;
    client.take();
    let params = json!({ "sessionId": session, "cwd": "/", "mcpServers": [] });
    client.call("session/load", params).await;
    let shown = client.take_kind("user_message_chunk");
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0]["content"], picture);
    client.end().await;
}
