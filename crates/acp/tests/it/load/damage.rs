//! Logs that are not what was written.

use std::fs::OpenOptions;
use std::io::Write as _;

use super::*;

#[tokio::test]
async fn log01_a_torn_end_is_cut_off_and_the_user_told_at_the_end_of_the_replay() {
    let (world, session, live) = talked().await;
    let mut log = OpenOptions::new().append(true).open(world.log(&session)).unwrap();
    log.write_all(b"{\"seq\":99,\"ti").unwrap();
    let (next, mut client) = beside(&world).await;
    let (response, replayed) = load(&mut client, &session).await;
    assert_eq!(response["result"], json!({}));
    let (note, history) = replayed.split_last().unwrap();
    assert_eq!(screen(history), screen(&live));
    assert_eq!(note["sessionUpdate"], "agent_message_chunk");
    assert!(text_of_update(note).contains("half-written"), "{note}");
    let response = client.prompt(&session, "question two").await;
    assert_eq!(response["result"]["stopReason"], "end_turn");
    client.end().await;

    let (_world, mut client) = beside(&next).await;
    let (_, replayed) = load(&mut client, &session).await;
    assert!(
        replayed
            .iter()
            .all(|update| !text_of_update(update).contains("half-written"))
    );
    assert_eq!(
        replayed
            .iter()
            .filter(|update| text_of_update(update) == "question two")
            .count(),
        2
    );
    client.end().await;
}

#[tokio::test]
async fn log01_a_resume_tells_of_the_torn_end_in_its_first_turn() {
    let (world, session, _) = talked().await;
    let mut log = OpenOptions::new().append(true).open(world.log(&session)).unwrap();
    log.write_all(b"{\"seq\":99,\"ti").unwrap();
    let (_world, mut client) = beside(&world).await;
    client.call("session/resume", params(&session, "/")).await;
    assert_eq!(client.take(), [] as [Value; 0]);
    for told in [true, false] {
        client.prompt(&session, "question two").await;
        let text: String = client.updates().iter().map(text_of_update).collect();
        assert_eq!(text.contains("half-written"), told, "{text}");
    }
    client.end().await;
}

#[tokio::test]
async fn damage_in_the_middle_leaves_a_session_to_read_that_refuses_prompts_and_says_why() {
    let (world, session, live) = talked().await;
    let log = std::fs::read_to_string(world.log(&session)).unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    let last_turn = lines.iter().rposition(|line| line.contains("turn/start")).unwrap();
    lines.remove(last_turn);
    let damaged = lines.join("\n") + "\n";
    std::fs::write(world.log(&session), &damaged).unwrap();

    let (world, mut client) = beside(&world).await;
    let (response, replayed) = load(&mut client, &session).await;
    assert_eq!(response["result"], json!({}));
    let (note, history) = replayed.split_last().unwrap();
    let live = screen(&live);
    assert_eq!(screen(history), live[..live.len() - 3], "the sound prefix");
    let note = text_of_update(note);
    assert!(
        note.contains("read-only") && note.contains(&format!("event {}", last_turn - 1)),
        "{note}"
    );

    for _ in 0..2 {
        let refused = client.prompt(&session, "question two").await;
        assert_eq!(code(&refused), -32603, "{refused}");
        assert!(error_text(&refused).contains("damaged"), "{refused}");
    }
    assert_eq!(
        std::fs::read_to_string(world.log(&session)).unwrap(),
        damaged,
        "never rewritten"
    );
    let response = client.call("session/close", json!({ "sessionId": session })).await;
    assert_eq!(response["result"], json!({}));
    client.end().await;
}

#[tokio::test]
async fn a_log_of_a_later_version_is_refused_and_left_alone() {
    let (world, session, _) = talked().await;
    let log = std::fs::read_to_string(world.log(&session)).unwrap();
    let (header, events) = log.split_once('\n').unwrap();
    let later = format!(
        "{}\n{events}",
        without_sum(header).replace("\"version\":3", "\"version\":99")
    );
    std::fs::write(world.log(&session), &later).unwrap();
    let (world, mut client) = beside(&world).await;
    let (response, shown) = load(&mut client, &session).await;
    assert_eq!((code(&response), shown.len()), (-32603, 0));
    assert!(error_text(&response).contains("99"), "{response}");
    assert_eq!(std::fs::read_to_string(world.log(&session)).unwrap(), later);
    client.end().await;
}
