//! Commands in the background.

use weft_tools::Overview;

use super::*;

async fn ask(stage: &Stage, tool: &str, arguments: Value) -> String {
    let mut request = ToolCallRequest::new(CallId::new("call"), tool, arguments.to_string());
    request.extensions = stage.lent.clone();
    let result = tokio::time::timeout(PATIENCE, stage.registry.execute(request)).await;
    text(&result.expect("the call returns in time"))
}

async fn begin(stage: &Stage, command: &str) -> String {
    let arguments = json!({ "command": command, "background": true });
    text(&stage.start(&arguments).result().await)
}

#[tokio::test]
async fn a_background_command_goes_on_and_its_output_is_given_once() {
    let stage = Stage::new(BashConfig::default());
    let said = begin(&stage, "mkfifo go; echo ready; read line < go; echo $line; exit 3").await;
    assert_eq!(
        said,
        "running in the background as 1; bash_output gives what it prints, bash_kill ends it"
    );
    let said = ask(&stage, "bash_output", json!({ "id": "1", "wait_ms": 15_000 })).await;
    assert_eq!(said, "ready\n1 is running");
    assert_eq!(ask(&stage, "bash_output", json!({ "id": "1" })).await, "1 is running");
    let go = stage.path().join("go");
    let write = tokio::task::spawn_blocking(move || std::fs::write(go, "now\n"));
    write.await.expect("no panic").expect("the command reads");
    let mut said = String::new();
    while !said.contains("has ended") {
        said += &ask(&stage, "bash_output", json!({ "id": "1", "wait_ms": 15_000 })).await;
    }
    assert!(
        said.starts_with("now\n") && said.ends_with("1 has ended: exit code 3"),
        "{said}"
    );
    let gone = ask(&stage, "bash_output", json!({ "id": "1" })).await;
    assert_eq!(gone, "Error: there is no background command \"1\"; there are: none");
}

#[tokio::test]
async fn a_background_command_that_ignores_being_asked_is_killed_with_its_group() {
    let stage = Stage::new(BashConfig::default());
    let held = stage.pipe("held");
    begin(
        &stage,
        "trap '' TERM; exec 3>held; sh -c 'while :; do sleep 1; done' & echo ready; wait",
    )
    .await;
    ask(&stage, "bash_output", json!({ "id": "1", "wait_ms": 15_000 })).await;
    let said = ask(&stage, "bash_kill", json!({ "id": "1" })).await;
    assert_eq!(said, "1 has ended: killed by SIGKILL");
    assert_eq!(released(held).await, "");
}

#[tokio::test]
async fn background_commands_end_with_the_memory_of_their_agent() {
    let mut stage = Stage::new(BashConfig::default());
    let held = stage.pipe("held");
    begin(
        &stage,
        "trap '' TERM; exec 3>held; echo ready; while :; do sleep 1; done",
    )
    .await;
    ask(&stage, "bash_output", json!({ "id": "1", "wait_ms": 15_000 })).await;
    stage.lent = Extensions::new();
    assert_eq!(released(held).await, "");
}

#[tokio::test]
async fn background_commands_are_bounded_in_number_and_time() {
    let config = BashConfig {
        max_background: 1,
        ..BashConfig::default()
    };
    let stage = Stage::new(config);
    begin(&stage, "sleep 300").await;
    let said = begin(&stage, "sleep 301").await;
    assert_eq!(
        said,
        "Error: the command was not run: 1 run in the background (bash.max_background), end one with bash_kill: 1 (sleep 300)"
    );
    assert_eq!(
        ask(&stage, "bash_kill", json!({ "id": "1" })).await,
        "1 has ended: killed by SIGTERM"
    );
    let arguments = json!({ "command": "sleep 300", "background": true, "timeout_ms": 50 });
    stage.start(&arguments).result().await;
    let said = ask(&stage, "bash_output", json!({ "id": "2", "wait_ms": 15_000 })).await;
    assert_eq!(said, "2 has ended: killed by SIGTERM");
}

#[tokio::test]
async fn what_goes_on_is_told_with_its_id_and_its_command_until_it_ends() {
    let stage = Stage::new(BashConfig::default());
    let memory = stage.lent.get::<Memory>().expect("the stage lends one");
    let told = || memory.of::<Overview>().lines();
    assert!(told().is_empty());
    begin(&stage, "sleep 300").await;
    begin(&stage, "sleep 301\n# and more").await;
    let lines = told();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, begin) in lines.iter().zip(["1 (sleep 300), for ", "2 (sleep 301), for "]) {
        assert!(line.starts_with(begin), "{line}");
    }
    ask(&stage, "bash_kill", json!({ "id": "1" })).await;
    assert_eq!(told().len(), 1);
}
