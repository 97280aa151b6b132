//! Starting servers, good ones and bad.

use std::time::{Duration, Instant};

use serde_json::json;
use weft_mcp::{Failure, McpLimits, ToolFilter, Transport, probe};

use crate::support::{LONG, Session, config, context, server, stdio};

#[tokio::test]
async fn tools_are_called_by_the_names_of_their_servers() {
    let session = Session::good().await;
    let names: Vec<String> = session.registry.specs().into_iter().map(|spec| spec.name).collect();
    let expected = [
        "ask",
        "cancelled",
        "count",
        "die",
        "echo",
        "env",
        "fail",
        "odd_name",
        "picture",
        "pid",
        "slow",
        "spawn",
        "stuck",
    ];
    assert_eq!(names, expected.map(|name| format!("mcp__test__{name}")));
    let spec = session.registry.specs().remove(4);
    assert_eq!(spec.description, "does echo");
    assert_eq!(spec.parameters, json!({"type": "object", "properties": {}}));
    assert_eq!(
        session.started.instructions,
        ["What the MCP server \"test\" says of its tools:\nUse echo for echoes."]
    );
    assert!(
        session.notices[0].starts_with("an MCP server's tool \"bad\" is left out: cannot register"),
        "{:?}",
        session.notices
    );
}

#[tokio::test]
async fn a_tool_whose_name_was_mended_is_called_by_the_servers_own() {
    let session = Session::good().await;
    let answer = session.call("odd_name", json!({"text": "hi"})).await;
    assert_eq!(Session::text(&answer), "hi");
}

/// MCP-01
#[tokio::test]
async fn a_server_that_never_answers_is_left_out_after_its_time_and_keeps_nobody_from_working() {
    let mut silent = server("silent", "silent");
    silent.startup_timeout = Duration::from_millis(300);
    let began = Instant::now();
    let session = Session::start(vec![silent, server("test", "")]).await;
    assert!(began.elapsed() < LONG / 2);
    assert!(
        session.notices[0].starts_with("MCP server \"silent\" is left out: it did not answer within 300ms\nhint: "),
        "{:?}",
        session.notices
    );
    assert_eq!(Session::text(&session.call("echo", json!({"text": "hi"})).await), "hi");
}

/// MCP-02
#[tokio::test]
async fn servers_that_do_not_start_are_told_of_with_their_words_but_not_with_their_secrets() {
    let servers = vec![
        stdio("nocommand", "/no/such/program".into(), &[]),
        server("quitter", "quit"),
        config(
            "old",
            Transport::Unusable {
                reason: "speaks an old transport".into(),
            },
        ),
    ];
    let session = Session::start(servers).await;
    assert!(session.registry.specs().is_empty());
    let [nocommand, quitter, old] = &session.notices[..] else {
        panic!("{:?}", session.notices)
    };
    assert!(
        nocommand.contains("\"nocommand\" is left out: failed to start /no/such/program: "),
        "{nocommand}"
    );
    assert!(
        quitter.contains("(exit status 1); it printed: cannot open frobnicator with ***\n"),
        "{quitter}"
    );
    assert!(
        old.contains("\"old\" is left out: it speaks an old transport\n"),
        "{old}"
    );
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_told_of() {
    let mut lost = server("lost", "");
    if let Transport::Stdio { cwd, .. } = &mut lost.transport {
        *cwd = Some("/no/such/folder".into());
    }
    let session = Session::start(vec![lost]).await;
    assert!(
        session.notices[0].contains("its folder /no/such/folder is not there"),
        "{:?}",
        session.notices
    );
}

#[tokio::test]
async fn what_is_no_message_is_passed_over() {
    let session = Session::start(vec![server("test", "chatty")]).await;
    assert_eq!(Session::text(&session.call("echo", json!({"text": "hi"})).await), "hi");
}

#[tokio::test]
async fn a_server_of_the_next_protocol_is_spoken_to_in_it() {
    let session = Session::start(vec![server("test", "modern")]).await;
    assert!(session.notices[0].contains("\"bad\""), "{:?}", session.notices);
    assert_eq!(Session::text(&session.call("echo", json!({"text": "hi"})).await), "hi");
}

#[tokio::test]
async fn only_tools_that_the_filter_takes_are_there() {
    let mut filtered = server("test", "");
    filtered.tools = ToolFilter {
        allow: Some(vec!["e*".into(), "p*".into()]),
        deny: vec!["env".into()],
    };
    let session = Session::start(vec![filtered]).await;
    let names: Vec<String> = session.registry.specs().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["mcp__test__echo", "mcp__test__picture", "mcp__test__pid"]);
    assert!(session.notices.is_empty(), "{:?}", session.notices);
}

#[tokio::test]
async fn more_tools_than_the_limit_are_left_out_and_told_of() {
    let mut context = context();
    context.limits = McpLimits::default().tools(3).expect("within its range");
    let servers = ["one", "two"].map(|name| {
        let mut server = server(name, "");
        server.tools.deny = vec!["bad".into()];
        server
    });
    let session = Session::start_in(servers.into(), context).await;
    assert_eq!(session.registry.specs().len(), 3);
    assert_eq!(
        session.notices,
        [
            "MCP server \"one\": 10 of its 13 tools are left out: mcp.max_tools is 3",
            "MCP server \"two\": 13 of its 13 tools are left out: mcp.max_tools is 3",
        ]
    );
}

#[tokio::test]
async fn a_probe_tells_tools_or_what_to_mend() {
    let good = probe(server("good", ""), context()).await;
    assert!(good.outcome.expect("it works").contains(&"mcp__good__echo".to_owned()));
    let bad = probe(server("bad", "quit"), context()).await;
    let failure = bad.outcome.expect_err("it does not");
    assert!(matches!(&failure, Failure::Exited { .. }), "{failure}");
    assert_eq!(failure.hint(), "run the command in a terminal and mend what it says");
}
