//! Members as subagents of the caller.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use weft_agent::{
    SubagentCapabilities, SubagentError, SubagentErrorCode, SubagentProvider, SubagentRequest, SubagentResult,
    SubagentRun, SubagentStop,
};
use weft_types::{ContentBlock, SessionId, text_of};
use weft_workflow::{Member, MemberError, MemberRequest, MemberStop, Members, Spent, StartRequest, TestRun};

use crate::support::Bench;

/// For requests that start no members.
pub(crate) struct NoMembers;

impl Members for NoMembers {
    fn has_provider(&self, _name: &str) -> bool {
        false
    }

    fn start(&self, _request: MemberRequest) -> BoxFuture<'static, Result<Arc<dyn Member>, MemberError>> {
        futures::future::ready(Err(MemberError::new("none"))).boxed()
    }

    fn spent(&self) -> Spent {
        Spent::default()
    }
}

/// A provider that keeps its requests and answers with a fixed result.
#[derive(Clone)]
struct Fixed {
    requests: Arc<Mutex<Vec<SubagentRequest>>>,
    disposals: Arc<Mutex<u32>>,
    stop: SubagentStop,
}

impl SubagentProvider for Fixed {
    fn capabilities(&self) -> SubagentCapabilities {
        SubagentCapabilities {
            output_schema: true,
            model: true,
            tools: true,
        }
    }

    fn start(&self, request: SubagentRequest) -> BoxFuture<'static, Result<Box<dyn SubagentRun>, SubagentError>> {
        let run = FixedRun {
            id: "child".into(),
            provider: self.clone(),
        };
        if text_of(&request.prompt) == "refuse" {
            let refusal = SubagentError::new(SubagentErrorCode::DepthLimit, "too deep");
            return futures::future::ready(Err(refusal)).boxed();
        }
        self.requests.lock().expect("not poisoned").push(request);
        futures::future::ready(Ok(Box::new(run) as Box<dyn SubagentRun>)).boxed()
    }
}

struct FixedRun {
    id: SessionId,
    provider: Fixed,
}

impl SubagentRun for FixedRun {
    fn id(&self) -> &SessionId {
        &self.id
    }

    fn result(&self) -> BoxFuture<'static, SubagentResult> {
        let result = SubagentResult {
            output: vec![ContentBlock::text("a"), ContentBlock::text("b")],
            structured: Some(json!({ "k": 1 })),
            stop: self.provider.stop.clone(),
        };
        futures::future::ready(result).boxed()
    }

    fn dispose(&self) -> BoxFuture<'static, ()> {
        *self.provider.disposals.lock().expect("not poisoned") += 1;
        futures::future::ready(()).boxed()
    }
}

/// The members that a run is given, and the provider behind them.
async fn members(stop: SubagentStop) -> (Bench, Arc<dyn Members>, Fixed) {
    let slot = Arc::new(Mutex::new(None));
    let into = Arc::clone(&slot);
    let bench = Bench::new(move |run: &TestRun, request: &StartRequest| {
        *into.lock().expect("not poisoned") = Some(Arc::clone(&request.members));
        run.complete("null", 0);
        Ok(())
    });
    let fixed = Fixed {
        requests: Arc::default(),
        disposals: Arc::default(),
        stop,
    };
    bench.context.subagents.register("spawn", Arc::new(fixed.clone()));
    bench.registry.execute(bench.call()).await;
    let members = slot.lock().expect("not poisoned").take().expect("a run was started");
    (bench, members, fixed)
}

fn request(prompt: &str, provider: Option<&str>) -> MemberRequest {
    MemberRequest {
        run: "run-1".into(),
        seq: 4,
        label: "label".into(),
        phase: None,
        prompt: prompt.into(),
        schema: Some(json!({ "type": "object" })),
        provider: provider.map(str::to_owned),
        model: Some("p/m".into()),
        tools: None,
        cancel: tokio_util::sync::CancellationToken::new(),
    }
}

#[tokio::test]
async fn a_member_is_a_subagent_of_the_caller_that_knows_its_run() {
    let (bench, members, fixed) = members(SubagentStop::Completed).await;
    assert!(members.has_provider("spawn") && !members.has_provider("other"));
    let wish = request("do it", None);
    let cancel = wish.cancel.clone();
    let member = members.start(wish).await.expect("it starts");
    assert_eq!(member.id(), &"child".into());
    let requests = fixed.requests.lock().expect("not poisoned").clone();
    let [asked] = &requests[..] else { panic!("one request") };
    assert!(Arc::ptr_eq(&asked.parent, &bench.context));
    assert_eq!(asked.prompt, [ContentBlock::text("do it")]);
    assert_eq!(
        (asked.label.as_deref(), asked.model.as_deref()),
        (Some("label"), Some("p/m"))
    );
    assert_eq!(
        (&asked.run, &asked.schema),
        (&Some(("run-1".into(), 4)), &Some(json!({ "type": "object" })))
    );
    cancel.cancel();
    assert!(asked.cancel.is_cancelled());
    let result = member.result().await.expect("a result");
    assert_eq!(
        (result.text.as_str(), result.structured),
        ("ab", Some(json!({ "k": 1 })))
    );
    member.dispose().await;
    assert_eq!(*fixed.disposals.lock().expect("not poisoned"), 1);
}

#[tokio::test]
async fn every_way_to_stop_is_passed_on() {
    let ways = [
        (SubagentStop::Completed, MemberStop::Completed),
        (SubagentStop::Aborted, MemberStop::Aborted),
        (SubagentStop::Error("e".into()), MemberStop::Error("e".into())),
        (SubagentStop::MaxTokens, MemberStop::MaxTokens),
        (SubagentStop::Refusal, MemberStop::Refusal),
    ];
    for (stop, expected) in ways {
        let (_bench, members, _fixed) = members(stop).await;
        let member = members.start(request("p", None)).await.expect("it starts");
        assert_eq!(member.result().await.expect("a result").stop, expected);
    }
}

#[tokio::test]
async fn a_refused_start_says_why() {
    let (_bench, members, _fixed) = members(SubagentStop::Completed).await;
    let why = |error: Result<Arc<dyn Member>, MemberError>| error.err().expect("refused").to_string();
    assert_eq!(
        why(members.start(request("refuse", None)).await),
        "failed to start a subagent: too deep"
    );
    let unknown = why(members.start(request("p", Some("other"))).await);
    assert!(
        unknown.contains("no provider \"other\"") && unknown.contains("spawn"),
        "{unknown}"
    );
}
