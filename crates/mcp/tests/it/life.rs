//! The life and the death of servers.

use std::time::Duration;

use serde_json::json;
use weft_types::text_of;

use crate::support::{LONG, Session, gone, is_alive, reaped, server};

/// MCP-04
#[tokio::test]
async fn a_server_that_dies_fails_its_call_and_is_started_again_by_the_next() {
    let session = Session::good().await;
    let before = session.pid().await;
    let died = session.call("die", json!({})).await;
    assert!(died.is_error());
    assert_eq!(
        text_of(&died.content),
        "Error: MCP server \"test\" broke off during the call: its process ended (exit status 3); it printed: about to \
         die; the next call starts it again"
    );
    let after = session.pid().await;
    assert_ne!(before, after);
    assert_eq!(Session::text(&session.call("echo", json!({"text": "ok"})).await), "ok");
}

#[tokio::test]
async fn a_server_that_dies_between_calls_is_started_again() {
    let session = Session::good().await;
    let before = session.pid().await;
    let id = rustix::process::Pid::from_raw(before).expect("a process id");
    let status = || session.started.servers.status().remove(0);
    let up = status();
    assert!(
        up.starts_with("MCP server \"test\": ") && up.ends_with(" tools"),
        "{up}"
    );
    rustix::process::kill_process(id, rustix::process::Signal::KILL).expect("it is ours");
    reaped(before).await;
    let down = status();
    assert!(down.contains("not running; the next call of its"), "{down}");
    assert_ne!(session.pid().await, before);
    assert_eq!(status(), up);
}

/// MCP-04
#[tokio::test]
async fn a_server_that_hangs_after_a_cancel_is_started_anew_for_the_next_call() {
    let session = Session::good().await;
    let before = session.pid().await;
    let request = Session::request("stuck", &json!({}));
    let signal = request.signal.clone();
    let (_texts, mut counted, _subscription) = session.watch_progress();
    let cancel = async {
        counted
            .wait_for(|count| *count > 0)
            .await
            .expect("the observer is there");
        signal.cancel();
    };
    let (result, ()) = tokio::join!(session.execute(request), cancel);
    assert!(result.is_error());
    assert_ne!(session.pid().await, before);
    gone(before).await;
}

#[tokio::test]
async fn a_server_that_dies_again_and_again_is_given_up() {
    let session = Session::good().await;
    let mut last = String::new();
    for _ in 0..8 {
        last = text_of(&session.call("die", json!({})).await.content);
    }
    assert!(
        last.contains("it ended 6 times in a row and is not started again in this session"),
        "{last}"
    );
    assert!(
        last.ends_with("\nhint: mend the server and load the session anew"),
        "{last}"
    );
}

/// PRC-02
#[tokio::test]
async fn closing_ends_the_whole_group() {
    let session = Session::good().await;
    let leader = session.pid().await;
    let child: i32 = Session::text(&session.call("spawn", json!({})).await)
        .parse()
        .expect("a process id");
    assert!(is_alive(leader) && is_alive(child));
    session.started.servers.close().await;
    gone(leader).await;
    gone(child).await;
    let late = session.call("echo", json!({})).await;
    assert!(
        text_of(&late.content).contains("the session is being closed"),
        "{late:?}"
    );
}

#[tokio::test]
async fn a_server_that_does_not_leave_is_killed() {
    let session = Session::start(vec![server("test", "lingers")]).await;
    let leader = session.pid().await;
    tokio::time::timeout(LONG, session.started.servers.close())
        .await
        .expect("it has an end");
    assert!(!is_alive(leader));
}

#[tokio::test]
async fn dropping_everything_ends_the_whole_group() {
    let session = Session::good().await;
    let leader = session.pid().await;
    let child: i32 = Session::text(&session.call("spawn", json!({})).await)
        .parse()
        .expect("a process id");
    drop(session);
    gone(leader).await;
    gone(child).await;
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_no_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pid");
    let script = format!("echo $$ > {}; exec sleep 300", file.display());
    let config = crate::support::stdio("sleeper", "/bin/sh".into(), &["-c", &script]);
    let written = async {
        loop {
            if let Ok(pid) = std::fs::read_to_string(&file).unwrap_or_default().trim().parse::<i32>() {
                return pid;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let pid = tokio::select! {
        _ = Session::start(vec![config]) => panic!("it never answers"),
        pid = written => pid,
    };
    gone(pid).await;
}
