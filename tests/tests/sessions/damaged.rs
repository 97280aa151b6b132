//! A log that is damaged in the middle.

use serde_json::Value;
use weft_replay::{Exit, Item, conversations};

use crate::home::{Home, open, prompt};

const MODEL: &str = "[[reply]]\nrole = \"main\"\ntimes = \"any\"\ntext = \"All right.\"\n";

/// A session of two turns, and its log.
async fn two_turns(home: &Home) -> (String, std::path::PathBuf) {
    let mut client = home.agent().await.expect("an agent");
    let session = open(&mut client, home).await.expect("a session");
    for text in ["first words", "second words"] {
        let asked = prompt(&mut client, &session, text).await.expect("sent");
        client.response(asked).await.expect("answered").expect("a result");
    }
    client.finish().await.expect("ended");
    let log = home.path().join("sessions").join(&session).join("log.jsonl");
    (session, log)
}

#[tokio::test]
async fn damage_is_told_with_its_place_and_what_is_sound_opens_to_be_read_only() {
    let home = Home::new(MODEL, &[]);
    let (session, log) = two_turns(&home).await;
    let text = std::fs::read_to_string(&log).expect("a log");
    let damaged = text.replace("second words", "2econd words");
    std::fs::write(&log, &damaged).expect("written");
    let line = damaged
        .lines()
        .find(|line| line.contains("2econd"))
        .expect("it is there");
    let seq = serde_json::from_str::<Value>(line).expect("JSON")["seq"].clone();
    let offset = damaged.find(line).expect("it is there");

    let said = home.say(&["sessions", "verify", "--json"]).await.expect("it runs");
    let verified: Value = serde_json::from_str(&said.out).expect("one session");
    assert!(!said.status.success());
    assert_eq!(
        (&verified["sound"], &verified["damage"]["seq"]),
        (&Value::from(false), &seq)
    );
    assert_eq!(verified["damage"]["offset"], offset);

    let mut client = home.agent().await.expect("an agent");
    client
        .request("session/load", home.load(&session))
        .await
        .expect("what is sound is shown");
    let shown = conversations(client.rows()).remove(0).1;
    let texts = shown.items.iter().map(|item| match item {
        Item::Text(text) => text.text.as_str(),
        item => panic!("{item:?}"),
    });
    let texts: Vec<_> = texts.collect();
    assert_eq!(texts[..2], ["first words", "All right."]);
    let note = texts.last().expect("a note");
    assert!(
        note.contains(&seq.to_string()) && note.contains(&offset.to_string()),
        "{note}"
    );

    let asked = prompt(&mut client, &session, "third words").await.expect("sent");
    let error = client
        .response(asked)
        .await
        .expect("answered")
        .expect_err("nothing is added to it");
    assert!(error.message.contains("hint:"), "{error}");
    let finished = client.finish().await.expect("ended");
    assert_eq!((finished.exit, finished.stderr.as_str()), (Exit::Code(0), ""));
    assert_eq!(std::fs::read_to_string(&log).expect("a log"), damaged);
}
