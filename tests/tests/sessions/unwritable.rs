//! A folder of sessions that nothing can be written into.

use std::fs::{Permissions, create_dir, set_permissions};
use std::os::unix::fs::PermissionsExt as _;

use weft_replay::{Exit, t_check};

use crate::home::{Home, open, prompt};

const MODEL: &str = "[[reply]]\nrole = \"main\"\ntimes = \"any\"\ntext = \"All right.\"\n";

/// Takes from this thread's children what lets root write everywhere; nobody else has it to begin with.
#[cfg(target_os = "linux")]
fn obey_permissions() {
    use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};
    let _not_root = remove_capability_from_bounding_set(CapabilitySet::DAC_OVERRIDE);
}

#[cfg(not(target_os = "linux"))]
fn obey_permissions() {}

#[tokio::test]
async fn a_prompt_says_what_to_do_where_nothing_can_be_written_and_works_once_it_can() {
    obey_permissions();
    let home = Home::new(MODEL, &[]);
    let sessions = home.path().join("sessions");
    create_dir(&sessions).expect("a folder");
    set_permissions(&sessions, Permissions::from_mode(0o555)).expect("it is ours");

    let mut client = home.agent().await.expect("an agent starts all the same");
    let session = open(&mut client, &home)
        .await
        .expect("a session needs no disk before it holds anything");
    let asked = prompt(&mut client, &session, "hello").await.expect("sent");
    let error = client
        .response(asked)
        .await
        .expect("answered")
        .expect_err("nothing can be written");
    let text = error.to_string();
    assert!(
        text.contains(&*sessions.to_string_lossy()) && text.contains("hint:"),
        "{text}"
    );

    set_permissions(&sessions, Permissions::from_mode(0o755)).expect("it is ours");
    let asked = prompt(&mut client, &session, "hello").await.expect("sent");
    let answer = client.response(asked).await.expect("answered").expect("a result");
    assert_eq!(answer["stopReason"], "end_turn");
    let finished = client.finish().await.expect("ended");
    assert_eq!((finished.exit, finished.stderr.as_str()), (Exit::Code(0), ""));
    assert_eq!(t_check(client.rows()), []);
}
