//! Tries to get out of a worker, for real: each attempt is a system call that a script makes in a worker which has shut
//! itself in as every worker does.
#![cfg(target_os = "linux")]

#[path = "escape/attempts.rs"]
mod attempts;

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weft_workflow::{
    Member, MemberError, MemberRequest, Members, RunLimits, RunResult, Spent, StartRequest, WorkflowEngine,
};
use weft_workflow_js::{EngineConfig, JsEngine, SandboxLevel, SandboxMode, WorkerCommand};

use attempts::{Attempt, Fate, Ground, all};

struct Nobody;

impl Members for Nobody {
    fn has_provider(&self, _name: &str) -> bool {
        true
    }

    fn start(&self, _request: MemberRequest) -> BoxFuture<'static, Result<Arc<dyn Member>, MemberError>> {
        async { Err(MemberError::new("nobody is here")) }.boxed()
    }

    fn spent(&self) -> Spent {
        Spent::default()
    }
}

/// An engine whose workers have one descriptor too many: 9, open on a file.
fn engine(sandbox: SandboxMode) -> JsEngine {
    let script = "exec 9</etc/passwd; exec \"$0\"";
    JsEngine::new(EngineConfig {
        worker: WorkerCommand {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into(), env!("CARGO_BIN_EXE_weft-escape").into()],
        },
        sandbox,
        niceness: 0,
        ..EngineConfig::default()
    })
    .expect("the settings are valid")
}

async fn run(engine: &JsEngine, script: &str) -> Arc<RunResult> {
    let request = StartRequest {
        script: script.to_owned(),
        meta: Some(json!({ "name": "escape", "description": "tries to get out" })),
        args: None,
        provider: None,
        limits: RunLimits::default(),
        depth: 0,
        origin: None,
        saved: None,
        members: Arc::new(Nobody),
        cancel: CancellationToken::new(),
    };
    let run = engine.start(request).expect("the script is accepted");
    let result = run.result().await;
    run.dispose().await;
    result
}

fn value(result: &RunResult) -> Option<Value> {
    let value = result.value.as_ref()?;
    Some(serde_json::from_str(value.get()).expect("a value is JSON"))
}

/// What is wrong with how an attempt came out.
fn complaint(attempt: &Attempt, result: &RunResult) -> Option<String> {
    let killed = result
        .error
        .as_deref()
        .is_some_and(|error| error.contains("(signal 31 SIGSYS)"));
    let right = match attempt.fate {
        Fate::Killed => killed,
        Fate::Refused => value(result) == Some(json!(-libc::EPERM)),
    };
    let found = result
        .error
        .clone()
        .or_else(|| value(result).map(|value| value.to_string()));
    (!right).then(|| format!("{}: {:?} expected, found {found:?}", attempt.name, attempt.fate))
}

#[tokio::test]
async fn every_attempt_to_get_out_of_a_worker_fails() {
    let engine = engine(SandboxMode::Required);
    let level = engine.try_sandbox().expect("a worker starts").level;
    assert_eq!(level, SandboxLevel::Full);
    let ground = Ground::new();
    let mut complaints = Vec::new();
    for attempt in all(&ground) {
        let result = run(&engine, &attempt.script).await;
        complaints.extend(complaint(&attempt, &result));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    ground.check();
}

/// Without this the attempts might fail for reasons of their own.
#[tokio::test]
async fn without_the_sandbox_the_same_attempts_get_to_the_kernel() {
    let engine = engine(SandboxMode::Off);
    let ground = Ground::new();
    let mut complaints = Vec::new();
    for attempt in all(&ground).into_iter().filter(|attempt| attempt.harmless) {
        let result = run(&engine, &attempt.script).await;
        let answer = value(&result).and_then(|value| value.as_i64());
        if answer.is_none_or(|answer| answer == i64::from(-libc::ENOSYS)) {
            complaints.push(format!("{}: {answer:?} {:?}", attempt.name, result.error));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[tokio::test]
async fn what_the_parent_left_open_is_closed_before_anything_is_read() {
    let script = format!("return syscall({}, 9, {}, 0)", libc::SYS_fcntl, libc::F_GETFD);
    let result = run(&engine(SandboxMode::Off), &script).await;
    assert_eq!(value(&result), Some(json!(-libc::EBADF)));
}

#[tokio::test]
async fn what_a_worker_needs_it_can_do() {
    let engine = engine(SandboxMode::Required);
    let getpid = libc::SYS_getpid;
    let (write, mmap) = (libc::SYS_write, libc::SYS_mmap);
    let script = format!(
        "return [syscall({getpid}) > 0, syscall({write}, 2, 'x', 0), syscall({mmap}, 0, 4096, 3, 0x22, -1, 0) > 0]"
    );
    assert_eq!(value(&*run(&engine, &script).await), Some(json!([true, 0, true])));
}
