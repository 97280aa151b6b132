//! Scheduling of the calls of one step. What happens on a cancel or with a broken journal is in `trouble`,
//! what a bridge sees of it in `bridge`.

mod bridge;
mod trouble;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use super::{CallJournal, CallLimits, JournalError, ScheduleError, run_calls};
use crate::testing::{Log, TestTool, call, text_of};
use crate::{Decision, ProgressLimits, ToolCallRequest, ToolRegistry, ToolResult, Verdict};

/// A journal that writes its calls down; some of its methods can be made to fail.
#[derive(Default)]
struct Journal {
    lines: Log<String>,
    fails_at: Option<&'static str>,
    /// Closed: bodies wait for it.
    durable: Option<Arc<Semaphore>>,
}

impl Journal {
    fn write(&self, line: String) -> Result<(), JournalError> {
        if self.fails_at == Some(&line) {
            return Err("the disk is full".into());
        }
        self.lines.push(line);
        Ok(())
    }
}

impl CallJournal for Journal {
    fn called(&self, call: &ToolCallRequest) -> Result<(), JournalError> {
        self.write(format!("call {}", call.call_id))
    }

    fn finished(&self, call: &ToolCallRequest, result: &ToolResult) -> Result<(), JournalError> {
        let code = result.outcome.as_ref().err().and_then(crate::ToolError::code);
        let code = code.map(|code| format!(" {code}")).unwrap_or_default();
        self.write(format!("result {}{code}", call.call_id))
    }

    fn before_body<'a>(&'a self, call: &'a ToolCallRequest) -> BoxFuture<'a, Result<(), JournalError>> {
        async move {
            if self.fails_at == Some(&format!("body {}", call.call_id)) {
                return Err("the disk is full".into());
            }
            if let Some(durable) = &self.durable {
                let _permit = durable.acquire().await?;
            }
            Ok(())
        }
        .boxed()
    }
}

/// Bodies that return when the test says so, and tell when they have started.
#[derive(Clone, Default)]
struct Stage {
    waiting: Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>,
    started: Log<String>,
}

impl Stage {
    /// A tool whose bodies wait for the test.
    fn tool(&self, name: &'static str) -> TestTool {
        let stage = self.clone();
        TestTool::new(name, move |execution| {
            let (release, released) = oneshot::channel();
            let id = execution.call_id().to_string();
            stage.waiting.lock().expect("not poisoned").insert(id.clone(), release);
            stage.started.push(id.clone());
            async move {
                released.await.expect("the test releases it");
                Ok(json!(id))
            }
        })
    }

    /// Lets everything run until nothing moves any more.
    async fn settle(&self) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    async fn release(&self, id: &str) {
        self.settle().await;
        let release = self.waiting.lock().expect("not poisoned").remove(id);
        release
            .unwrap_or_else(|| panic!("{id} has not started"))
            .send(())
            .expect("the body waits");
        self.settle().await;
    }
}

fn calls(calls: &[(&str, &str)]) -> Vec<ToolCallRequest> {
    calls.iter().map(|(id, name)| call(id, name)).collect()
}

/// `read` may overlap, `write` may not.
fn staged() -> (Stage, ToolRegistry) {
    let (stage, registry) = (Stage::default(), ToolRegistry::new(ProgressLimits::default()));
    stage.tool("read").safe().join(&registry);
    stage.tool("write").join(&registry);
    (stage, registry)
}

async fn run(registry: &ToolRegistry, calls: Vec<ToolCallRequest>, journal: &Journal) -> Vec<ToolResult> {
    let signal = CancellationToken::new();
    let results = run_calls(registry, calls, CallLimits::default(), journal, &signal).await;
    results.expect("a sound journal")
}

#[tokio::test]
async fn rule25_safe_calls_overlap_and_an_exclusive_one_waits_for_all_before_it_and_holds_up_all_after_it() {
    let (stage, registry) = staged();
    let journal = Journal::default();
    let steps = async {
        stage.settle().await;
        assert_eq!(stage.started.all(), ["a", "b"]);
        stage.release("b").await;
        assert_eq!(stage.started.all(), ["a", "b"]);
        stage.release("a").await;
        assert_eq!(stage.started.all(), ["a", "b", "w"]);
        stage.release("w").await;
        assert_eq!(stage.started.all(), ["a", "b", "w", "c"]);
        stage.release("c").await;
    };
    let calls = calls(&[("a", "read"), ("b", "read"), ("w", "write"), ("c", "read")]);
    let (results, ()) = tokio::join!(run(&registry, calls, &journal), steps);
    let texts: Vec<String> = results.iter().map(text_of).collect();
    assert_eq!(texts, ["\"a\"", "\"b\"", "\"w\"", "\"c\""]);
    let expected = [
        "call a", "call b", "result a", "result b", "call w", "result w", "call c", "result c",
    ];
    assert_eq!(journal.lines.all(), expected);
}

#[tokio::test]
async fn rule25_a_pool_rolls_within_its_limit() {
    let (stage, registry) = staged();
    let journal = Journal::default();
    let limits = CallLimits::default().max_parallel(2).expect("within its range");
    let steps = async {
        stage.settle().await;
        assert_eq!(stage.started.all(), ["a", "b"]);
        // The slot of a body that is done is free although its result still waits for its turn.
        stage.release("b").await;
        assert_eq!(stage.started.all(), ["a", "b", "c"]);
        assert_eq!(journal.lines.all(), ["call a", "call b", "call c"]);
        stage.release("c").await;
        stage.release("d").await;
        stage.release("a").await;
    };
    let calls = calls(&[("a", "read"), ("b", "read"), ("c", "read"), ("d", "read")]);
    let signal = CancellationToken::new();
    let (results, ()) = tokio::join!(run_calls(&registry, calls, limits, &journal, &signal), steps);
    assert_eq!(results.expect("a sound journal").len(), 4);
    assert_eq!(
        journal.lines.all()[4..],
        ["result a", "result b", "result c", "result d"]
    );
}

#[test]
fn the_limit_of_a_pool_is_validated() {
    for max_parallel in [0, 257] {
        let refused = CallLimits::default()
            .max_parallel(max_parallel)
            .expect_err("out of range");
        assert_eq!(refused.setting(), "max_parallel_tool_calls");
    }
}

#[tokio::test]
async fn rule25_the_class_is_asked_just_before_each_start() {
    let (stage, registry) = staged();
    let writes = Arc::new(AtomicUsize::new(0));
    let mut tool = stage.tool("maybe");
    let seen = Arc::clone(&writes);
    tool.is_safe = Box::new(move |_| seen.load(Ordering::SeqCst) > 0);
    tool.join(&registry);
    let journal = Journal::default();
    let steps = async {
        stage.settle().await;
        assert_eq!(stage.started.all(), ["a"]);
        writes.store(1, Ordering::SeqCst);
        stage.release("a").await;
        assert_eq!(stage.started.all(), ["a", "b", "c"]);
        stage.release("b").await;
        stage.release("c").await;
    };
    let calls = calls(&[("a", "maybe"), ("b", "maybe"), ("c", "maybe")]);
    tokio::join!(run(&registry, calls, &journal), steps);
}

#[tokio::test]
async fn unknown_tools_bad_arguments_and_panicking_classes_are_exclusive() {
    let registry = TestTool::idle("read").safe().alone();
    let mut tool = TestTool::idle("bad");
    tool.is_safe = Box::new(|_| panic!("on purpose"));
    tool.join(&registry);
    let mut strict = TestTool::idle("strict").safe();
    strict.parameters = json!({ "type": "object", "required": ["path"] });
    strict.join(&registry);
    assert!(registry.is_concurrency_safe("read", ""));
    assert!(registry.is_concurrency_safe("strict", r#"{"path": 1}"#));
    for (name, arguments) in [("none", ""), ("bad", ""), ("strict", ""), ("read", "{"), ("read", "[]")] {
        assert!(!registry.is_concurrency_safe(name, arguments), "{name} {arguments}");
    }
}

#[tokio::test]
async fn rule26_policies_before_and_after_run_in_model_order_whichever_body_is_done_first() {
    let (stage, registry) = staged();
    let order = Log::default();
    let to = order.clone();
    let _before = registry.guard(move |execution| {
        to.push(format!("guard {}", execution.call_id()));
        Ok(())
    });
    let to = order.clone();
    let _after = registry.after_execute(move |execution, _| {
        let to = to.clone();
        async move {
            to.push(format!("after {}", execution.call_id()));
            // Others may go on meanwhile, but not into this phase.
            tokio::task::yield_now().await;
            to.push(format!("after {}, done", execution.call_id()));
            Verdict::accept()
        }
        .boxed()
    });
    let journal = Journal::default();
    let steps = async {
        stage.release("c").await;
        stage.release("b").await;
        stage.release("a").await;
    };
    let calls = calls(&[("a", "read"), ("b", "read"), ("c", "read")]);
    tokio::join!(run(&registry, calls, &journal), steps);
    let expected = ["guard a", "guard b", "guard c"].map(str::to_owned).into_iter();
    let after = ["a", "b", "c"]
        .into_iter()
        .flat_map(|id| [format!("after {id}"), format!("after {id}, done")]);
    assert_eq!(order.all(), expected.chain(after).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_slow_policy_after_does_not_hold_up_the_pool() {
    let (stage, registry) = staged();
    let gate = Arc::new(Semaphore::new(0));
    let opens = Arc::clone(&gate);
    let _after = registry.after_execute(move |_, _| {
        let gate = Arc::clone(&opens);
        async move {
            gate.acquire().await.expect("open").forget();
            Verdict::accept()
        }
        .boxed()
    });
    let journal = Journal::default();
    let limits = CallLimits::default().max_parallel(1).expect("within its range");
    let steps = async {
        stage.release("a").await;
        assert_eq!(stage.started.all(), ["a", "b"]);
        stage.release("b").await;
        assert_eq!(stage.started.all(), ["a", "b", "c"]);
        assert_eq!(journal.lines.all(), ["call a", "call b", "call c"]);
        stage.release("c").await;
        gate.add_permits(3);
    };
    let signal = CancellationToken::new();
    let calls = calls(&[("a", "read"), ("b", "read"), ("c", "read")]);
    let (results, ()) = tokio::join!(run_calls(&registry, calls, limits, &journal, &signal), steps);
    assert_eq!(results.expect("a sound journal").len(), 3);
}

#[tokio::test]
async fn questions_to_the_user_about_several_calls_may_be_pending_at_once() {
    let (stage, registry) = staged();
    let _asks = registry.before_execute(|_| Decision::Ask);
    let pending = Log::default();
    let gate = Arc::new(Semaphore::new(0));
    registry.set_approver(Arc::new(Slow {
        asked: pending.clone(),
        gate: Arc::clone(&gate),
    }));
    let journal = Journal::default();
    let steps = async {
        stage.settle().await;
        assert_eq!(pending.all(), ["a", "b"]);
        gate.add_permits(2);
        stage.release("b").await;
        stage.release("a").await;
    };
    let calls = calls(&[("a", "read"), ("b", "read")]);
    let (results, ()) = tokio::join!(run(&registry, calls, &journal), steps);
    assert!(results.iter().all(|result| !result.is_error()));
}

/// An approver that allows everything once the test opens its gate.
struct Slow {
    asked: Log<String>,
    gate: Arc<Semaphore>,
}

impl crate::Approver for Slow {
    fn ask(&self, request: crate::ApprovalRequest, _: CancellationToken) -> BoxFuture<'static, crate::Approval> {
        self.asked.push(request.call_id.to_string());
        let gate = Arc::clone(&self.gate);
        async move {
            gate.acquire().await.expect("open").forget();
            crate::Approval::AllowedOnce
        }
        .boxed()
    }
}
