//! Members that are other agents, end to end: weft is the client of a second weft, whose model is scripted as well. In
//! between stands, where a test says so, a wrapper as `ssh` is one: a program with a pipe that stalls or breaks.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use weft_replay::{Exit, PermissionAnswer, WireClient, WireCommand, WireLimits, t_check};
use weft_tests::program;

const SCRIPTED: &str = "model = \"scripted/m\"\npermissions.allow = [\"workflow\"]\n[providers.scripted]\nkind = \"scripted\"\nscript = \"model.toml\"\n";

/// What the far agent does: it says something, runs a command that it asks about, and says what came of it.
const COUNTS: &str = "\
[[reply]]\nstep = 1\ntext = \"I count.\"\n[[reply.tool_call]]\nid = \"count\"\nname = \"bash\"\n\
arguments = { command = \"echo 3 files\" }\n[[reply]]\nstep = 2\ntext = \"There are {{fromRequest:(\\\\d) files}}.\"\n";

/// Two homes and a folder to work in.
struct Scene {
    folder: TempDir,
    client: WireClient,
    session: String,
}

impl Scene {
    /// Opens a session whose model runs `script` as a workflow; `acp:far` is an agent that answers by `far_model`,
    /// reached by `wrapper`, a shell script in which `"$@"` starts it.
    async fn open(script: &str, far_model: &str, wrapper: &str) -> Self {
        Self::open_for(json!({}), script, far_model, wrapper).await
    }

    /// The same for a client that can do this.
    async fn open_for(client_can: Value, script: &str, far_model: &str, wrapper: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["near", "far", "work"] {
            std::fs::create_dir(path(name)).expect("a folder");
        }
        let far = path("far");
        let wrapped = format!("export WEFT_HOME={0}\ncd {0}\n{wrapper}", far.display());
        let command = json!(["/bin/sh", "-c", wrapped, "wrapper", program(), "acp"]);
        let near = format!("{SCRIPTED}[agents.far]\ncommand = {command}\nstartup_timeout = \"20s\"\n");
        let model = "[[reply]]\nrole = \"main\"\nstep = 1\n[[reply.tool_call]]\nid = \"call-1\"\nname = \"workflow\"\n\
                     arguments = { script = { file = \"run.js\" } }\n[[reply]]\nrole = \"main\"\nstep = 2\ntext = \"done\"\n";
        let script = format!("export const meta = {{ name: 'far', description: 'test' }};\n{script}\n");
        for (name, text) in [
            ("near/config.toml", near.as_str()),
            ("near/model.toml", model),
            ("near/run.js", &script),
            ("far/config.toml", SCRIPTED),
            ("far/model.toml", far_model),
        ] {
            std::fs::write(path(name), text).expect("written");
        }
        let command = WireCommand {
            limits: WireLimits {
                total: Duration::from_secs(60),
                ..WireLimits::default()
            },
            ..WireCommand::new(program()).arg("acp").env("WEFT_HOME", path("near"))
        };
        let mut client = WireClient::spawn(&command).expect("the agent starts");
        let hello = json!({"protocolVersion": 1, "clientCapabilities": client_can});
        client.request("initialize", hello).await.expect("initialized");
        let wish = json!({"cwd": path("work"), "mcpServers": []});
        let opened = client.request("session/new", wish).await.expect("opened");
        Self {
            session: opened["sessionId"].as_str().expect("an id").to_owned(),
            folder,
            client,
        }
    }

    /// One turn to its end: how it stopped, and what the workflow gave.
    async fn run(&mut self) -> (String, String) {
        let prompt = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": "go"}]});
        let answer = self.client.request("session/prompt", prompt).await.expect("answered");
        let stop = answer["stopReason"].as_str().expect("a reason").to_owned();
        (stop, self.card())
    }

    /// The text of the workflow's card as it is now.
    fn card(&self) -> String {
        let updates = self.updates().into_iter().rev();
        let mut cards = updates.filter(|update| update["toolCallId"] == "call-1");
        let card = cards.find_map(|update| Some(update["content"][0]["content"]["text"].as_str()?.to_owned()));
        card.expect("the card of the workflow")
    }

    fn updates(&self) -> Vec<Value> {
        let rows = self
            .client
            .rows()
            .iter()
            .filter_map(|row| serde_json::to_value(row).ok());
        rows.map(|row| row["line"]["params"]["update"].clone()).collect()
    }

    /// The events of the members' logs, without those of the user's session.
    fn member_events(&self) -> Vec<Value> {
        let sessions = std::fs::read_dir(self.path("near/sessions")).expect("sessions");
        let folders = sessions
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_dir());
        let members = folders.filter(|path| !path.ends_with(&self.session));
        let logs = members.map(|path| std::fs::read_to_string(path.join("log.jsonl")).expect("a log"));
        let lines: Vec<String> = logs
            .flat_map(|log| log.lines().skip(1).map(str::to_owned).collect::<Vec<_>>())
            .collect();
        lines
            .iter()
            .map(|line| serde_json::from_str(line).expect("an event"))
            .collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The client takes its leave: all is over then, and nothing of it was out of order.
    async fn finish(mut self) -> TempDir {
        let finished = self.client.finish().await.expect("ended");
        assert_eq!((finished.exit, finished.survivors), (Exit::Code(0), false));
        assert_eq!(t_check(self.client.rows()), []);
        self.folder
    }
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

#[tokio::test]
async fn a_member_on_another_agent_asks_the_user_and_has_a_log_of_its_own() {
    let script = "return await agent('Count the files.', { provider: 'acp:far', label: 'counter' });";
    let mut scene = Scene::open(script, COUNTS, "exec \"$@\"").await;
    scene.client.answer_permissions([PermissionAnswer::AllowOnce]);
    let (stop, card) = scene.run().await;
    assert_eq!(stop, "end_turn");
    assert!(card.contains("There are 3."), "{card}");
    let asked = scene
        .updates()
        .into_iter()
        .find(|update| update["_meta"]["weft/asker"].is_object());
    let asked = asked.expect("the question has a card");
    assert_eq!(asked["title"], "member `counter` of workflow `far`: echo 3 files");
    assert_eq!(asked["kind"], "execute");
    let events = scene.member_events();
    assert_eq!(
        kinds(&events),
        [
            "turn/start",
            "user/message",
            "step/start",
            "request/header",
            "assistant/message",
            "tool/call",
            "tool/result",
            "step/end",
            "step/start",
            "assistant/message",
            "step/end",
            "turn/end"
        ]
    );
    assert_eq!(events[4]["data"]["content"][0]["text"], "I count.");
    assert_eq!(events[5]["data"]["name"], "acp__far");
    assert!(
        events[6]["data"]["content"][0]["text"]
            .as_str()
            .expect("text")
            .contains("3 files")
    );
    scene.finish().await;
}

#[tokio::test]
async fn a_refusal_of_the_user_reaches_the_other_agent() {
    let script = "return await agent('Count.', { provider: 'acp:far', label: 'counter' });";
    let far = COUNTS.replace("There are {{fromRequest:(\\\\d) files}}.", "I may not count.");
    let mut scene = Scene::open(script, &far, "exec \"$@\"").await;
    scene.client.answer_permissions([PermissionAnswer::RejectOnce]);
    let (_, card) = scene.run().await;
    assert!(card.contains("I may not count."), "{card}");
    let events = scene.member_events();
    assert!(events[6]["data"]["error"].is_object(), "{}", events[6]);
    scene.finish().await;
}

#[tokio::test]
async fn an_answer_in_a_schema_is_asked_for_until_it_fits() {
    let script = "return await agent('Count.', { provider: 'acp:far', label: 'counter', \
                  schema: { type: 'object', properties: { files: { type: 'integer' } }, required: ['files'] } });";
    let far = "[[reply]]\nturn = 1\ntext = \"Three!\"\n[[reply]]\nturn = 2\nprompt = \"could not be taken\"\n\
               text = \"Here:\\n```json\\n{\\\"files\\\": \\\"three\\\"}\\n```\"\n[[reply]]\nturn = 3\n\
               text = \"```json\\n{\\\"files\\\": 3}\\n```\"\n";
    let mut scene = Scene::open(script, far, "exec \"$@\"").await;
    let (_, card) = scene.run().await;
    assert!(
        card.contains("\"files\": 3") || card.contains("{\"files\":3}"),
        "{card}"
    );
    scene.finish().await;
}

#[tokio::test]
async fn what_another_agent_cannot_do_is_refused() {
    let script =
        "try { return await agent('x', { provider: 'acp:far', model: 'a/b' }); } catch (e) { return String(e); }";
    let mut scene = Scene::open(script, COUNTS, "exec \"$@\"").await;
    let (_, card) = scene.run().await;
    assert!(card.contains("cannot be told their model"), "{card}");
    scene.finish().await;
}

#[tokio::test]
async fn a_cancel_ends_the_other_agents_turn_and_its_process() {
    let script = "return await agent('Count.', { provider: 'acp:far', label: 'counter' });";
    let wrapper = "\"$@\"\necho \"ended with $?\" >ended";
    let mut scene = Scene::open(script, COUNTS, wrapper).await;
    scene.client.answer_permissions([PermissionAnswer::Hold]);
    let prompt = json!({"sessionId": scene.session, "prompt": [{"type": "text", "text": "go"}]});
    let turn = scene.client.send("session/prompt", prompt).await.expect("sent");
    let session = scene.session.clone();
    scene.client.wait_permission(&session).await.expect("the member asks");
    scene.client.cancel(&session).await.expect("sent");
    let answer = scene.client.response(turn).await.expect("answered").expect("a result");
    assert_eq!(answer["stopReason"], "cancelled");
    let events = scene.member_events();
    assert_eq!(events.last().expect("an end")["data"]["reason"]["kind"], "aborted");
    let folder = scene.finish().await;
    // It had the time to take its leave: it was told of the cancel and its input was closed.
    let ended = std::fs::read_to_string(folder.path().join("far/ended")).expect("the wrapper saw its end");
    assert_eq!(ended, "ended with 0\n");
    assert!(
        far_log(folder.path()).contains("\"aborted\""),
        "{}",
        far_log(folder.path())
    );
}

/// The one log in the far agent's home.
fn far_log(folder: &Path) -> String {
    let sessions = std::fs::read_dir(folder.join("far/sessions")).expect("sessions");
    let mut folders = sessions
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir());
    let session = folders.next().expect("a session");
    std::fs::read_to_string(session.join("log.jsonl")).expect("a log")
}

/// Fails to connect, then breaks off at the first call, then works.
const UNSTEADY: &str = "\
echo start >>starts
case $(wc -l <starts | tr -d ' ') in
1) echo 'far: connect to host: no route' >&2; exit 255 ;;
2)
  \"$@\" | while IFS= read -r line; do
    printf '%s\\n' \"$line\"
    case $line in *'\"tool_call\"'*) break ;; esac
  done
  echo 'far: the connection was reset' >&2; exit 254 ;;
*) exec \"$@\" ;;
esac";

#[tokio::test]
async fn a_pipe_that_breaks_costs_its_own_member_and_the_next_one_gets_through() {
    let script = "const told = [];\nfor (const label of ['one', 'two', 'three']) {\n\
                  told.push(await agent('Count.', { provider: 'acp:far', label }));\n}\nreturn told;";
    let mut scene = Scene::open(script, COUNTS, UNSTEADY).await;
    scene
        .client
        .answer_permissions([PermissionAnswer::AllowOnce, PermissionAnswer::AllowOnce]);
    let (stop, card) = scene.run().await;
    assert_eq!(stop, "end_turn");
    assert!(card.contains("There are 3."), "{card}");
    let events = scene.member_events();
    let ends = events.iter().filter(|event| event["type"] == "turn/end");
    let mut reasons: Vec<String> = ends
        .filter_map(|end| Some(end["data"]["reason"]["message"].as_str()?.to_owned()))
        .collect();
    reasons.sort_by_key(|reason| reason.contains("255"));
    let [broken, unreachable] = &reasons[..] else {
        panic!("{reasons:?}")
    };
    assert!(
        unreachable.contains("exit status 255") && unreachable.contains("no route"),
        "{unreachable}"
    );
    assert!(
        broken.contains("exit status 254") && broken.contains("the connection was reset"),
        "{broken}"
    );
    // The call that was open is over, too.
    let lost = events
        .iter()
        .find(|event| event["type"] == "tool/result" && event["data"]["error"].is_object());
    let reason = lost.expect("the open call failed")["data"]["error"]["message"]
        .as_str()
        .expect("a reason")
        .to_owned();
    assert!(reason.contains("exit status 254"), "{reason}");
    scene.finish().await;
}

/// Holds everything back from the first call on until somebody writes to the pipe `go`.
const STALLING: &str = "\
mkfifo go
\"$@\" | while IFS= read -r line; do
  case $line in *'\"tool_call\"'*) test -e gone || { read -r _ <go; : >gone; } ;; esac
  printf '%s\\n' \"$line\"
done";

#[tokio::test]
async fn a_pipe_that_stalls_only_takes_time() {
    let script = "return await agent('Count.', { provider: 'acp:far', label: 'counter' });";
    let mut scene = Scene::open(script, COUNTS, STALLING).await;
    scene.client.answer_permissions([PermissionAnswer::AllowOnce]);
    let prompt = json!({"sessionId": scene.session, "prompt": [{"type": "text", "text": "go"}]});
    let turn = scene.client.send("session/prompt", prompt).await.expect("sent");
    let running = |update: &Value| update.to_string().contains("Running (1): counter");
    let session = scene.session.clone();
    scene
        .client
        .wait_update(&session, "the member at work", running)
        .await
        .expect("shown");
    // Opening it for writing waits until the wrapper reads from it: the pipe has stalled by then.
    let go = scene.path("far/go");
    tokio::task::spawn_blocking(move || std::fs::write(go, "go\n").expect("written"))
        .await
        .expect("it ends");
    let answer = scene.client.response(turn).await.expect("answered").expect("a result");
    assert_eq!(answer["stopReason"], "end_turn");
    assert!(scene.card().contains("There are 3."), "{}", scene.card());
    scene.finish().await;
}

#[tokio::test]
async fn a_client_that_knows_subagents_is_shown_the_other_agent_as_a_session_and_asked_there() {
    let script = "return await agent('Count.', { provider: 'acp:far', label: 'counter' });";
    let mut scene = Scene::open_for(json!({"subagents": {}}), script, COUNTS, "exec \"$@\"").await;
    scene.client.answer_permissions([PermissionAnswer::AllowOnce]);
    let (_, card) = scene.run().await;
    assert!(card.contains("There are 3."), "{card}");
    let updates = scene.updates();
    let announced = updates
        .iter()
        .find(|update| update["sessionUpdate"] == "subagent_update");
    assert_eq!(announced.expect("it is announced")["title"], "counter");
    let call = updates
        .iter()
        .find(|update| update["sessionUpdate"] == "tool_call" && update["toolCallId"] == "count");
    let call = call.expect("its call has a card");
    assert_eq!(
        (&call["title"], &call["kind"]),
        (&json!("echo 3 files"), &json!("execute"))
    );
    let is_said = updates
        .iter()
        .any(|update| update["sessionUpdate"] == "agent_message_chunk" && update["content"]["text"] == "I count.");
    assert!(is_said, "what it says is shown as it comes");
    scene.finish().await;
}

#[tokio::test]
async fn the_doctor_tells_who_is_there_and_what_to_mend() {
    let folder = tempfile::tempdir().expect("a folder");
    let (home, far) = (folder.path().join("home"), folder.path().join("far"));
    for (path, agents) in [
        (
            &home,
            format!(
                "[agents.well]\ncommand = [\"/usr/bin/env\", \"WEFT_HOME={}\", \"{}\", \"acp\"]\n\
             [agents.ill]\ncommand = [\"/bin/sh\", \"-c\", \"echo no key >&2; exit 4\"]\n\
             [agents.off]\ncommand = [\"/nowhere\"]\nenabled = false\n",
                far.display(),
                program().display()
            ),
        ),
        (&far, String::new()),
    ] {
        std::fs::create_dir(path).expect("a folder");
        std::fs::write(path.join("config.toml"), format!("{SCRIPTED}{agents}")).expect("written");
        std::fs::write(path.join("model.toml"), COUNTS).expect("written");
    }
    let mut doctor = tokio::process::Command::new(program());
    doctor
        .args(["doctor", "--json"])
        .env("WEFT_HOME", &home)
        .current_dir(folder.path());
    let told = doctor.output().await.expect("it runs").stdout;
    let told: Value = serde_json::from_slice(&told).expect("JSON");
    let checks = told["checks"].as_array().expect("checks").iter();
    let mut agents: Vec<&Value> = checks.filter(|check| check["check"] == "agents").collect();
    agents.sort_by_key(|check| check["status"].to_string());
    let [ill, well] = agents[..] else { panic!("{agents:#?}") };
    assert_eq!((&ill["status"], &well["status"]), (&json!("fail"), &json!("ok")));
    let found = |check: &Value| check["found"].as_str().expect("text").to_owned();
    assert!(
        found(ill).contains("ended (exit status 4); it printed: no key"),
        "{ill}"
    );
    assert!(
        ill["mend"]
            .as_str()
            .expect("a mend")
            .contains("run the command in a terminal"),
        "{ill}"
    );
    assert!(found(well).starts_with("acp:well is weft "), "{well}");
}
