//! What happens to processes that left their group: a test program of its own, since it ends every child
//! of its process.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::Mutex;
use weft_tools::{Extensions, ToolCallRequest, ToolLimits, ToolRegistry, WorkingDirectory};
use weft_toolset::{Bash, BashConfig, Orphans};
use weft_types::{CallId, text_of};

/// Longer than any wait of a test that passes.
const PATIENCE: Duration = Duration::from_secs(20);

/// There is one adoption for a whole process, so that the tests take turns.
static TURN: Mutex<()> = Mutex::const_new(());

async fn run(folder: &Path, command: &str) -> String {
    let registry = ToolRegistry::new(ToolLimits::default());
    let tool = Bash::new(BashConfig::default()).expect("the defaults are within their bounds");
    let _registration = registry.register(Arc::new(tool)).expect("the tool is sound");
    let mut request = ToolCallRequest::new(CallId::new("call"), "bash", json!({ "command": command }).to_string());
    request.extensions = Extensions::new().with(Arc::new(WorkingDirectory(folder.to_owned())));
    text_of(&registry.execute(request).await.content)
}

fn named_pipe(path: &Path) -> pipe::Receiver {
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).expect("a pipe can be made");
    pipe::OpenOptions::new()
        .open_receiver(path)
        .expect("the pipe can be opened")
}

async fn released(mut held: pipe::Receiver) {
    let mut rest = Vec::new();
    let end = tokio::time::timeout(PATIENCE, held.read_to_end(&mut rest)).await;
    end.expect("every process that holds the pipe ends")
        .expect("a pipe can be read");
}

#[tokio::test]
async fn at_the_end_of_the_program_nothing_survives_not_even_what_left_its_group() {
    let _turn = TURN.lock().await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut held = named_pipe(&folder.path().join("held"));
    let orphans = Orphans::adopt().expect("the system allows it");
    // A process in a session of its own with a child in yet another one, both deaf to polite signals.
    let inner = "trap \"\" TERM HUP; exec 3>held; setsid sh -c \"echo ready >&3; sleep 300\" & sleep 300; true";
    let result = run(folder.path(), &format!("setsid sh -c '{inner}' & echo started")).await;
    assert_eq!(result, "started\nexit code 0");
    let mut ready = [0; 6];
    let read = tokio::time::timeout(PATIENCE, held.read_exact(&mut ready)).await;
    read.expect("it starts").expect("it says so");
    orphans.end(PATIENCE).await.expect("all can be killed");
    released(held).await;
}

#[tokio::test]
async fn an_orphan_that_ends_is_waited_for_and_no_exit_of_our_own_is_taken() {
    let _turn = TURN.lock().await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let orphans = Orphans::adopt().expect("the system allows it");
    let mut calls = tokio::task::JoinSet::new();
    for code in 0..40 {
        let path = folder.path().to_owned();
        calls.spawn(async move {
            let result = run(&path, &format!("setsid true & sleep 300 & exit {code}")).await;
            assert!(result.ends_with(&format!("exit code {code}")), "{result}");
        });
    }
    let all = tokio::time::timeout(PATIENCE, calls.join_all()).await;
    all.expect("no exit code was taken by the reaper");
    let gone = tokio::time::timeout(PATIENCE, async {
        while !children().is_empty() {
            tokio::task::yield_now().await;
        }
    });
    gone.await
        .unwrap_or_else(|_| panic!("children are left: {:?}", children()));
    orphans.end(PATIENCE).await.expect("nothing is left to end");
}

fn children() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task")
        .expect("a process has threads")
        .flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists.filter(|list| !list.is_empty()).collect()
}
