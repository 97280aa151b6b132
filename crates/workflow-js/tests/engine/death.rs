//! Workers that die, and workers that break the rules.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use weft_types::RunStop;
use weft_workflow_js::EngineConfig;

use super::harness::{Harness, config, error_of, shell_worker, value_of};

fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    let length = u32::try_from(body.len()).expect("a small message");
    [&length.to_le_bytes()[..], body.as_bytes()].concat()
}

fn loaded() -> Value {
    json!({ "Loaded": { "level": "Full", "reasons": [] } })
}

fn call(seq: u64, prompt: &str) -> Value {
    json!({ "Call": {
        "seq": seq, "label": prompt, "phase": null, "prompt": prompt, "schema": null, "provider": null, "model": null,
    } })
}

fn finished(value: &Value) -> Value {
    json!({ "Finished": {
        "outcome": { "Returned": value }, "accepted": 0, "unsent": [], "unsent_total": 0, "notes": [],
    } })
}

/// A worker that says it has loaded its script, sends these messages, and goes on as a shell script. That may wait for
/// a gate.
struct Puppet {
    folder: tempfile::TempDir,
}

impl Puppet {
    fn new(messages: &[Value]) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let loaded = [loaded()];
        let frames: Vec<u8> = loaded.iter().chain(messages).flat_map(frame).collect();
        std::fs::write(folder.path().join("frames"), frames).expect("the frames are written");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("gate"), mode).expect("a pipe can be made");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn config(&self, then: &str) -> EngineConfig {
        let mut config = config();
        config.worker = shell_worker(&format!("cd \"$0\"; cat frames; {then}"));
        config.worker.args.push(self.folder.path().into());
        config
    }

    /// Lets a worker go on that does `read x < gate`.
    async fn open_gate(&self) {
        let path = self.path("gate");
        let open = move || {
            let mut gate = std::fs::OpenOptions::new()
                .write(true)
                .open(path)
                .expect("the gate opens");
            gate.write_all(b"\n").expect("the worker waits");
        };
        tokio::task::spawn_blocking(open).await.expect("no panic");
    }
}

#[tokio::test]
async fn a_worker_that_dies_fails_its_run_with_its_last_words() {
    for (then, expected) in [
        (
            "echo first >&2; echo last words >&2; exit 3",
            "the worker process died (exit status 3): last words",
        ),
        ("kill -SEGV $$", "the worker process died (signal 11 SIGSEGV)"),
        (
            "kill -SYS $$",
            "the worker process asked the system for something that no script has a way to, and was ended for it (signal \
             31 SIGSYS): something broke out of the JavaScript engine, or else this system and the sandbox do not go \
             together (workflow.sandbox)",
        ),
        ("kill -ABRT $$", "the worker process died (signal 6 SIGABRT)"),
        (
            "kill -KILL $$",
            "the worker process died (signal 9 SIGKILL), killed by somebody or by a system that is short of memory",
        ),
        (
            "kill -XCPU $$",
            "the script used 600s of CPU time in all, which is the limit (max_cpu)",
        ),
        ("exit 0", "the worker process died (exit status 0)"),
    ] {
        let puppet = Puppet::new(&[]);
        let harness = Harness::with(puppet.config(then));
        let result = harness.run("return 1").await;
        assert_eq!((result.stop, error_of(&result)), (RunStop::Error, expected));
        assert_eq!(harness.seen(), ["start", "end Error 0"]);
    }
}

#[tokio::test]
async fn a_worker_that_only_closes_its_output_is_killed() {
    let puppet = Puppet::new(&[]);
    let harness = Harness::with(puppet.config("exec >&-; exec sleep 1000"));
    let result = harness.run("return 1").await;
    let expected = "the worker process closed its output and went on, so it was killed";
    assert_eq!(error_of(&result), expected);
}

#[tokio::test]
async fn the_last_call_of_a_worker_that_dies_is_told_with_its_line() {
    let mut last = call(1, "text");
    last["Call"]["line"] = json!(7);
    let puppet = Puppet::new(&[last]);
    let harness = Harness::with(puppet.config("kill -SEGV $$"));
    let result = harness.run("return 1").await;
    let expected = "the worker process died (signal 11 SIGSEGV); the script's last call of agent() is at line 7";
    assert_eq!(error_of(&result), expected);
}

#[tokio::test]
async fn members_of_a_worker_that_dies_end_before_its_run_does() {
    let puppet = Puppet::new(&[call(1, "hangs"), call(2, "deaf")]);
    let harness = Harness::with(puppet.config("read x < gate; kill -SEGV $$"));
    let run = harness.start("return 1");
    harness.wait_for("agent 1 \"hangs\"").await;
    harness.wait_for("agent 2 \"deaf\"").await;
    puppet.open_gate().await;
    let result = harness.finish(&*run).await;
    assert_eq!((result.stop, result.agents_started), (RunStop::Error, 2));
    let seen = harness.seen();
    assert_eq!(seen.last().map(String::as_str), Some("end Error 2"));
    assert!(
        seen.contains(&"agent 1 Cancelled".into()) && seen.contains(&"agent 2 Cancelled".into()),
        "{seen:?}"
    );
    assert_eq!(harness.members.counts().disposals_done, 2);
}

#[tokio::test]
async fn a_death_after_a_cancel_is_a_cancel() {
    let puppet = Puppet::new(&[call(1, "hangs")]);
    let harness = Harness::with(puppet.config("read x < gate; kill -SEGV $$"));
    let run = harness.start("return 1");
    harness.wait_for("agent 1 \"hangs\"").await;
    run.cancel(Some("enough"));
    let result = harness.finish(&*run).await;
    assert_eq!(error_of(&result), "workflow run cancelled: enough");
}

#[tokio::test]
async fn a_worker_deaf_to_a_cancel_is_killed_after_the_grace() {
    let puppet = Puppet::new(&[json!({ "Log": { "message": "here", "left_out": 0 } })]);
    let harness = Harness::with(puppet.config("exec sleep 1000"));
    let run = harness.start("return 1");
    harness.wait_for("log here").await;
    let began = Instant::now();
    run.cancel(None);
    let result = harness.finish(&*run).await;
    assert_eq!(result.stop, RunStop::Cancelled);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_late_result_loses_against_a_cancel() {
    let puppet = Puppet::new(&[call(1, "gate:never")]);
    let late = [
        frame(&json!({ "Log": { "message": "late", "left_out": 0 } })),
        frame(&finished(&json!("late"))),
    ];
    std::fs::write(puppet.path("late"), late.concat()).expect("written");
    let harness = Harness::with(puppet.config("read x < gate; cat late"));
    let run = harness.start("return 1");
    harness.wait_for("agent 1 \"gate:never\"").await;
    run.cancel(Some("enough"));
    puppet.open_gate().await;
    let result = harness.finish(&*run).await;
    assert_eq!(error_of(&result), "workflow run cancelled: enough");
    assert!(!harness.seen().contains(&"log late".into()));
}

#[tokio::test]
async fn what_follows_the_last_message_is_ignored() {
    let log = json!({ "Log": { "message": "late", "left_out": 0 } });
    let puppet = Puppet::new(&[
        finished(&json!("first")),
        log,
        call(1, "late"),
        finished(&json!("second")),
    ]);
    let harness = Harness::with(puppet.config("exec sleep 1000"));
    let result = harness.run("return 1").await;
    assert_eq!(value_of(&result), json!("first"));
    assert_eq!(harness.seen(), ["start", "end Completed 0"]);
}

#[tokio::test]
async fn a_worker_that_breaks_the_protocol_is_killed() {
    for (messages, part) in [
        (vec![call(1, "x"), call(1, "x")], "a call has the number 1, after 1"),
        (vec![call(1_001, "x")], "a call has the number 1001"),
        (vec![call(0, "x")], "a call has the number 0"),
        (vec![loaded()], "loaded its script twice"),
        (vec![call(1, &"x".repeat(2 << 20))], "a call is larger than allowed"),
        (
            vec![finished(&json!("x".repeat(2 << 20)))],
            "the value of its script is larger than allowed",
        ),
        (vec![json!({ "Nonsense": 1 })], "malformed"),
        (vec![json!(7)], "malformed"),
    ] {
        let puppet = Puppet::new(&messages);
        let harness = Harness::with(puppet.config("exec sleep 1000"));
        let result = harness.run("return 1").await;
        let error = error_of(&result);
        assert!(
            error.starts_with("the worker process broke the protocol: ") && error.contains(part),
            "{error}"
        );
    }
    let too_many: Vec<_> = (1..=65).map(|seq| call(seq, "hangs")).collect();
    let puppet = Puppet::new(&too_many);
    let harness = Harness::with(puppet.config("exec sleep 1000"));
    assert!(error_of(&*harness.run("return 1").await).contains("more than 64 calls are in flight"));
    let puppet = Puppet::new(&[]);
    let harness = Harness::with(puppet.config("printf '\\377\\377\\377\\377'; exec sleep 1000"));
    assert!(error_of(&*harness.run("return 1").await).contains("(max_frame_bytes)"));
}

#[tokio::test]
async fn a_worker_that_floods_its_stderr_costs_nothing() {
    let puppet = Puppet::new(&[]);
    let then = "i=0; while [ $i -lt 20000 ]; do echo 'some line of output that nobody reads' >&2; i=$((i+1)); done; echo end >&2; exit 1";
    let harness = Harness::with(puppet.config(then));
    assert_eq!(
        error_of(&*harness.run("return 1").await),
        "the worker process died (exit status 1): end"
    );
}

#[tokio::test]
async fn texts_of_a_worker_are_cut_by_the_host_as_well() {
    let log = json!({ "Log": { "message": "x".repeat(100_000), "left_out": 3 } });
    let phase = json!({ "Phase": { "title": "p".repeat(100_000) } });
    let puppet = Puppet::new(&[log, phase, call(1, &"l".repeat(1_000)), finished(&json!(1))]);
    let harness = Harness::with(puppet.config("exec sleep 1000"));
    harness.run("return 1").await;
    let seen = harness.seen();
    assert!(
        seen[1].len() < 9_000 && seen[1].ends_with("… (3 lines before this one left out)"),
        "{}",
        seen[1].len()
    );
    assert_eq!(seen[2], format!("phase {}…", "p".repeat(255)));
}

fn go() -> Value {
    json!({ "Go": { "args": "Absent", "max_total_agents": 1, "origin": { "startedAt": 0, "seed": 0 } } })
}

/// The test worker, told to run a script in frames.
fn worker_with(body: &str) -> (tokio::process::Child, Vec<u8>) {
    let setup = json!({ "Setup": {
        "sandbox": "Auto", "max_address_space_bytes": 0, "max_cpu_seconds": 60, "niceness": 0, "max_heap_bytes": 1 << 24,
        "max_stack_bytes": 1 << 20, "max_slice_ms": 600_000, "max_frame_bytes": 1 << 20, "max_calls_in_flight": 1,
        "max_items_per_call": 1, "max_log_bytes": 64, "max_phase_chars": 8, "max_narration_per_second": 1,
        "max_prompt_bytes": 64, "max_options_bytes": 64, "max_result_bytes": 64, "max_args_bytes": 64,
    } });
    let load = json!({ "Load": { "file": "workflow:x", "body": body } });
    let frames = [setup, load, go()].iter().flat_map(frame).collect();
    let child = Command::new(env!("CARGO_BIN_EXE_weft-worker-test"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    (child.expect("the worker starts"), frames)
}

#[tokio::test]
async fn a_worker_exits_at_once_when_its_parent_is_gone_whatever_it_does() {
    for body in ["while (true) {}", "await agent('x')", "new Array(2 ** 32 - 1).join('')"] {
        let (mut worker, frames) = worker_with(body);
        let mut stdin = worker.stdin.take().expect("piped");
        stdin.write_all(&frames).await.expect("the worker reads");
        let began = Instant::now();
        drop(stdin);
        let status = worker.wait().await.expect("it exits");
        assert!(
            status.success() && began.elapsed() < Duration::from_secs(2),
            "{body}: {status}"
        );
    }
}

#[tokio::test]
async fn a_worker_that_is_told_nonsense_exits_with_an_error() {
    let (mut worker, _) = worker_with("");
    let mut stdin = worker.stdin.take().expect("piped");
    stdin
        .write_all(&frame(&json!("Cancel")))
        .await
        .expect("the worker reads");
    assert_eq!(worker.wait().await.expect("it exits").code(), Some(1));
}

#[tokio::test]
async fn a_worker_ignores_replies_to_nothing_and_messages_out_of_turn() {
    let (mut worker, mut frames) = worker_with("return await agent('x')");
    for message in [
        json!({ "Reply": { "seq": 99, "reply": { "Text": "nobody asked" } } }),
        go(),
        json!({ "Reply": { "seq": 1, "reply": { "Text": "answer" } } }),
        json!({ "Reply": { "seq": 1, "reply": { "Text": "again" } } }),
    ] {
        frames.extend(frame(&message));
    }
    let mut stdin = worker.stdin.take().expect("piped");
    stdin.write_all(&frames).await.expect("the worker reads");
    let output = worker.wait_with_output().await.expect("it exits");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(r#"{"Returned":"answer"}"#), "{said}");
    drop(stdin);
}
