//! What a run may use, and members that do nothing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, pending};
use serde_json::json;
use tokio::time::advance;
use weft_agent::{
    HEARTBEAT, Pulse, SubagentCapabilities, SubagentError, SubagentProvider, SubagentRequest, SubagentResult,
    SubagentRun, SubagentStop,
};
use weft_tool_workflow::WorkflowToolConfig;
use weft_tools::ToolLimits;
use weft_types::{ContentBlock, SessionId, Usage, text_of};
use weft_workflow::{Limit, Member, MemberRequest, MemberStop, Members, RunLimits, RunResult, StartRequest, TestRun};

use crate::support::{Bench, said};

const MINUTE: Duration = Duration::from_secs(60);

/// Members that answer at once and have used 100 tokens, unless they are to be silent.
#[derive(Clone, Default)]
struct Spender {
    started: Arc<Mutex<Vec<SubagentRequest>>>,
}

struct Spent {
    id: SessionId,
    silent: bool,
}

impl SubagentProvider for Spender {
    fn capabilities(&self) -> SubagentCapabilities {
        SubagentCapabilities::default()
    }

    fn start(&self, request: SubagentRequest) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, SubagentError>> {
        let silent = text_of(&request.prompt) == "silent";
        let usage = Usage {
            input_tokens: 90,
            output_tokens: 10,
            ..Usage::default()
        };
        request
            .spending
            .as_ref()
            .expect("members are counted")
            .add("p/m", &usage);
        let mut started = self.started.lock().expect("not poisoned");
        started.push(request);
        let id = SessionId::new(format!("child-{}", started.len()));
        futures::future::ready(Ok(Box::new(Spent { id, silent }) as Box<dyn SubagentRun>)).boxed()
    }
}

impl SubagentRun for Spent {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn result(&self) -> BoxFuture<'static, SubagentResult> {
        if self.silent {
            return pending().boxed();
        }
        let result = SubagentResult {
            output: vec![ContentBlock::text("an answer")],
            structured: None,
            stop: SubagentStop::Completed,
        };
        futures::future::ready(result).boxed()
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        futures::future::ready(()).boxed()
    }
}

/// What the engine is given with a run.
type Given = (RunLimits, Arc<dyn Members>);

/// A run that a test plays, with the members that it was given.
struct Stage {
    bench: Bench,
    spender: Spender,
    requests: Arc<Mutex<Vec<Given>>>,
}

impl Stage {
    fn new(config: WorkflowToolConfig) -> Self {
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let into = Arc::clone(&requests);
        let plan = move |run: &TestRun, request: &StartRequest| {
            let given = (request.limits, Arc::clone(&request.members));
            into.lock().expect("not poisoned").push(given);
            run.start();
            Ok(())
        };
        let bench = Bench::with(plan, config, ToolLimits::default());
        let spender = Spender::default();
        bench.context.subagents.register("spawn", Arc::new(spender.clone()));
        Self {
            bench,
            spender,
            requests,
        }
    }

    fn members(&self) -> Arc<dyn Members> {
        Arc::clone(&self.requests.lock().expect("not poisoned")[0].1)
    }

    async fn member(&self, seq: u64, prompt: &str) -> Arc<dyn Member> {
        let request = MemberRequest {
            run: "run-1".into(),
            seq,
            label: format!("m{seq}"),
            phase: None,
            prompt: prompt.into(),
            schema: None,
            provider: None,
            model: None,
            tools: None,
            cancel: tokio_util::sync::CancellationToken::new(),
        };
        self.members().start(request).await.expect("it starts")
    }

    /// The pulse of the member that started last.
    fn pulse(&self) -> Arc<Pulse> {
        let started = self.spender.started.lock().expect("not poisoned");
        let feed = started.last().and_then(|request| request.activity.clone());
        feed.expect("members are watched").pulse()
    }
}

#[tokio::test]
async fn limits_of_a_call_reach_the_engine_and_unknown_ones_are_refused() {
    let stage = Stage::new(WorkflowToolConfig::default());
    let call = |limits| json!({ "script": "1", "meta": { "name": "n", "description": "d" }, "limits": limits });
    let result = stage
        .bench
        .spawn(stage.bench.call_with(&call(json!({ "tokens": 500, "agents": 3 }))));
    stage.bench.engine.run(0).await.complete("1", 0);
    result.await.expect("no panic");
    let limits = stage.requests.lock().expect("not poisoned")[0].0;
    assert_eq!(
        (limits.tokens, limits.agents, limits.seconds),
        (Some(500), Some(3), None)
    );
    let refused = stage
        .bench
        .registry
        .execute(stage.bench.call_with(&call(json!({ "dollars": 1 }))))
        .await;
    assert!(refused.is_error());
    assert!(said(&refused).contains("dollars"), "{}", said(&refused));
}

#[tokio::test]
async fn what_members_use_is_counted_and_shown() {
    let stage = Stage::new(WorkflowToolConfig::default());
    let (run, result) = stage.bench.begin().await;
    let member = stage.member(1, "answer").await;
    run.member_start(1, "m1");
    assert_eq!(stage.members().spent().tokens, 100);
    assert_eq!(
        stage.bench.texts().last().expect("a report").lines().last(),
        Some("- Used: 100 tokens")
    );
    drop(member);
    assert_eq!(
        stage.members().spent().tokens,
        100,
        "what has ended was used all the same"
    );
    run.complete("1", 1);
    result.await.expect("no panic");
}

#[tokio::test]
async fn a_run_that_fails_tells_what_its_finished_members_returned() {
    let stage = Stage::new(WorkflowToolConfig::default());
    let (run, result) = stage.bench.begin().await;
    let member = stage.member(1, "answer").await;
    member.result().await.expect("a result");
    let mut failed = RunResult::failed("all spent", 2);
    failed.exhausted = Some(Limit::Tokens);
    run.finish(failed);
    let text = said(&result.await.expect("no panic"));
    assert!(
        text.contains("workflow run ended by its limit on tokens: all spent\nrun id: run-1\n"),
        "{text}"
    );
    assert!(text.ends_with("- #1 \"m1\" (session child-1): an answer"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn wfs23_a_member_that_does_nothing_has_failed_after_its_limit() {
    let config = WorkflowToolConfig::default().max_stall(10 * MINUTE).expect("in range");
    let stage = Stage::new(config);
    let (run, result) = stage.bench.begin().await;
    let member = stage.member(1, "silent").await;
    let pulse = stage.pulse();
    let ended = tokio::spawn(member.result());
    for _ in 0..3 {
        advance(9 * MINUTE).await;
        pulse.beat();
    }
    assert!(!ended.is_finished(), "something went on");
    let last = tokio::time::Instant::now();
    let stopped = ended.await.expect("no panic").expect("a result");
    assert_eq!(last.elapsed(), 10 * MINUTE);
    let MemberStop::Error(why) = stopped.stop else {
        panic!("{:?}", stopped.stop)
    };
    assert_eq!(
        why,
        "nothing happened in it for 10 min, which is the limit (workflow.max_stall); when it fell silent it was thinking"
    );
    run.complete("1", 1);
    result.await.expect("no panic");
}

#[tokio::test(start_paused = true)]
async fn wfs23_a_silent_member_is_shown_with_its_age_and_not_after_it_spoke_again() {
    let stage = Stage::new(WorkflowToolConfig::default());
    let (run, result) = stage.bench.begin().await;
    let _member = stage.member(1, "silent").await;
    let pulse = stage.pulse();
    run.member_start(1, "m1");
    let shown = |part: &'static str| {
        let texts = stage.bench.texts();
        texts.last().expect("a report").contains(part)
    };
    tokio::time::sleep(3 * MINUTE + HEARTBEAT).await;
    assert!(
        shown("- Stalled (1)\n  - m1: no activity for 3 min, thinking"),
        "{:?}",
        stage.bench.texts().last()
    );
    pulse.beat();
    tokio::time::sleep(HEARTBEAT).await;
    assert!(!shown("Stalled"), "{:?}", stage.bench.texts().last());
    run.complete("1", 1);
    result.await.expect("no panic");
}
