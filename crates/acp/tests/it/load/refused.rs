//! Loads that are refused, and what they leave behind: nothing.

use weft_session::Sessions as _;
use weft_types::{Origin, SessionHeader};

use super::*;
use crate::support::header;

#[tokio::test]
async fn lod07_an_unknown_id_is_told_as_such_and_leaves_nothing() {
    let (world, session, _) = talked().await;
    let (_world, mut client) = beside(&world).await;
    for id in [
        "0f0e0d0c-0000-4000-8000-00000000abcd",
        "",
        "..",
        "../x",
        "a/b",
        "nul\u{0}",
        "é",
    ] {
        for method in ["session/load", "session/resume"] {
            let response = client.call(method, params(id, "/")).await;
            assert_eq!(code(&response), -32002, "{method} {id:?}: {response}");
            assert_eq!(response["error"]["data"], json!({ "sessionId": id }));
            assert!(error_text(&response).contains(id), "{response}");
        }
    }
    let long = "x".repeat(100_000);
    let response = client.call("session/load", params(&long, "/")).await;
    assert_eq!((code(&response), error_text(&response).len() < 400), (-32002, true));
    let stored: Vec<_> = std::fs::read_dir(world.store.root()).unwrap().flatten().collect();
    let folders = stored.iter().filter(|entry| entry.path().is_dir()).count();
    assert_eq!(folders, 1, "{stored:?}");
    assert_eq!(load(&mut client, &session).await.0["result"], json!({}));
    client.end().await;
}

#[tokio::test]
async fn lod07_an_empty_log_is_no_session() {
    let (world, session, _) = talked().await;
    std::fs::write(world.log(&session), "").unwrap();
    let (_world, mut client) = beside(&world).await;
    assert_eq!(code(&load(&mut client, &session).await.0), -32002);
    client.end().await;
}

#[tokio::test]
async fn lod08_the_folder_must_be_the_sessions_own_and_be_there() {
    let world = world(TALK).stored();
    let folder = world.work_folder("own");
    let other = world.work_folder("other");
    let mut client = Client::start(world.options()).await;
    let new = client
        .call("session/new", json!({ "cwd": folder, "mcpServers": [] }))
        .await;
    let session = new["result"]["sessionId"].as_str().unwrap().to_owned();
    client.prompt(&session, "question two").await;
    client.end().await;

    let (_world, mut client) = beside(&world).await;
    for (cwd, named) in [
        ("", ""),
        ("own", "own"),
        (other.to_str().unwrap(), "own"),
        ("/no/such", "/no/such"),
    ] {
        let response = client.call("session/load", params(&session, cwd)).await;
        assert_eq!(code(&response), -32602, "{cwd}: {response}");
        assert!(error_text(&response).contains(named), "{response}");
        assert_eq!(client.take(), [] as [Value; 0]);
    }
    let link = folder.with_file_name("link");
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    let response = client
        .call("session/load", params(&session, link.to_str().unwrap()))
        .await;
    assert_eq!(response["result"], json!({}), "a link to it is the same folder");
    client.end().await;

    std::fs::remove_dir(&folder).unwrap();
    let (_world, mut client) = beside(&world).await;
    let response = client
        .call("session/load", params(&session, folder.to_str().unwrap()))
        .await;
    assert_eq!(code(&response), -32602);
    assert!(error_text(&response).contains(folder.to_str().unwrap()), "{response}");
    client.end().await;
}

#[tokio::test]
async fn of_two_loads_at_once_exactly_one_succeeds() {
    let (world, session, _) = talked().await;
    let (_world, mut client) = beside(&world).await;
    let asked = [
        client.request("session/load", params(&session, "/")),
        client.request("session/load", params(&session, "/")),
    ];
    let second = client.response(asked[1].clone()).await;
    assert_eq!(code(&second), -32602, "{second}");
    let first = client.response(asked[0].clone()).await;
    assert_eq!(first["result"], json!({}));
    client.end().await;
}

#[tokio::test]
async fn a_session_that_is_open_here_is_not_loaded_over_and_its_turn_stays_attached() {
    let world = world("[[reply]]\nprompt = \"hang\"\nhang = true\n[[reply]]\ntext = \"fine\"\n").stored();
    let mut client = Client::start(world.options()).await;
    let session = client.session().await;
    let prompt = client.start_prompt(&session, "hang");
    for method in ["session/load", "session/resume"] {
        let response = client.call(method, params(&session, "/")).await;
        assert_eq!(code(&response), -32602, "{response}");
        assert!(error_text(&response).contains(&session), "{response}");
    }
    client.cancel(&session);
    assert_eq!(client.response(prompt).await["result"]["stopReason"], "cancelled");
    client.end().await;
}

#[tokio::test]
async fn log04_a_session_that_runs_elsewhere_names_its_holder_until_it_is_closed_there() {
    let world = world(TALK).stored();
    let mut owner = Client::start(world.options()).await;
    let session = owner.session().await;
    owner.prompt(&session, "question one").await;

    let (_world, mut client) = beside(&world).await;
    for method in ["session/load", "session/resume", "session/delete"] {
        let response = client.call(method, params(&session, "/")).await;
        assert_eq!(code(&response), -32603, "{response}");
        let text = error_text(&response);
        assert!(
            text.contains("the tests") && text.contains(&std::process::id().to_string()),
            "{text}"
        );
    }
    assert_eq!(
        owner.prompt(&session, "question two").await["result"]["stopReason"],
        "end_turn"
    );
    owner.call("session/close", json!({ "sessionId": session })).await;
    assert_eq!(load(&mut client, &session).await.0["result"], json!({}), "free at once");
    owner.end().await;
    client.end().await;
}

#[tokio::test]
async fn a_subagents_session_is_not_loaded() {
    let (world, parent, _) = talked().await;
    let header = SessionHeader {
        origin: Origin::Subagent,
        parent: Some(parent.as_str().into()),
        depth: 1,
        ..header("child", "/")
    };
    let child = world.store.create(header).unwrap();
    child.append(weft_types::EventBody::TurnStart { turn: 1 }).unwrap();
    drop(child);
    let (_world, mut client) = beside(&world).await;
    let (response, shown) = load(&mut client, "child").await;
    assert_eq!(code(&response), -32602, "{response}");
    assert!(error_text(&response).contains(&parent), "{response}");
    assert_eq!(shown, [] as [Value; 0]);
    client.end().await;
}

#[tokio::test]
async fn further_folders_must_be_there() {
    let (world, session, _) = talked().await;
    let (_world, mut client) = beside(&world).await;
    let params =
        |folder: &str| json!({ "sessionId": session, "cwd": "/", "mcpServers": [], "additionalDirectories": [folder] });
    for method in ["session/load", "session/resume"] {
        for folder in ["relative", "/no/such/folder"] {
            assert_eq!(code(&client.call(method, params(folder)).await), -32602);
        }
    }
    assert_eq!(client.call("session/resume", params("/tmp")).await["result"], json!({}));
    client.end().await;
}

#[tokio::test]
async fn an_agent_that_cannot_be_made_refuses_the_load_and_leaves_the_session_free() {
    let (world, session, _) = talked().await;
    let (world, mut client) = beside(&world).await;
    world.set_opening(crate::support::Opening::Fails(weft_acp::OpenError::Refused(
        "no such model".into(),
    )));
    let (response, shown) = load(&mut client, &session).await;
    assert_eq!((code(&response), shown), (-32602, Vec::new()));
    world.set_opening(crate::support::Opening::Opens);
    assert_eq!(load(&mut client, &session).await.0["result"], json!({}));
    client.end().await;
}
