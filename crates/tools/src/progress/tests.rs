//! The requirements of the progress channel, by their numbers; those of its boundary are in `boundary`,
//! those of a single view in `views`.

mod boundary;
mod views;

use std::sync::Arc;

use serde_json::{Value, json};
use weft_types::{AgentId, CallId, ContentBlock};

use crate::testing::{Log, TestTool, call, text_of};
use crate::{
    CallView, FileDiff, ProgressLimits, ProgressObservation, ProgressView, ResultForView, ResultView, ToolCallRequest,
    ToolKind, ToolRegistry,
};

/// A tool that reports some views and returns whether each was dispatched.
fn reporting(views: Vec<ProgressView>) -> TestTool {
    TestTool::new("scan", move |execution| {
        let views = views.clone();
        async move {
            let answers: Result<Vec<_>, _> = views.into_iter().map(|view| execution.report_progress(view)).collect();
            Ok(json!(answers?))
        }
    })
}

fn titled(title: &str) -> ProgressView {
    ProgressView {
        title: Some(title.into()),
        content: Vec::new(),
    }
}

#[tokio::test]
async fn p01_g01_the_registry_owns_the_channel_and_the_tool_needs_no_bridge() {
    let view = ProgressView {
        title: Some("scanning".into()),
        content: vec![ContentBlock::text("one file")],
    };
    let registry = reporting(vec![view.clone()]).alone();
    let (seen, _subscription) = Log::of(&registry);
    let call = call("c1", "scan");
    let agent = call.agent;
    let result = registry.execute(call).await;
    assert_eq!(result.outcome, Ok(json!([true])));
    let [report] = &seen.all()[..] else {
        panic!("one observation, not {}", seen.len())
    };
    assert_eq!((report.agent, &report.call_id), (agent, &CallId::new("c1")));
    assert_eq!((report.tool.as_str(), report.nested), ("scan", false));
    assert_eq!(*report.view, view);
}

#[tokio::test]
async fn p01_without_any_observer_a_report_is_dispatched_all_the_same() {
    let result = reporting(vec![titled("a")]).alone().execute(call("c1", "scan")).await;
    assert_eq!(result.outcome, Ok(json!([true])));
}

#[tokio::test]
async fn p04_reports_act_within_the_card_that_the_arguments_chose() {
    let terminal = CallView::Terminal {
        title: "cargo test".into(),
        description: Some("runs the tests".into()),
        cwd: Some("/w".into()),
    };
    let diff = CallView::Diff {
        title: "edit a".into(),
        diffs: vec![FileDiff {
            path: "a".into(),
            old_text: None,
            new_text: "x".into(),
        }],
        locations: Vec::new(),
    };
    for card in [terminal, diff] {
        let mut tool = reporting(vec![titled("other")]);
        let view = card.clone();
        tool.call_view = Box::new(move |_| Some(view.clone()));
        let registry = tool.alone();
        let (seen, _subscription) = Log::of(&registry);
        assert_eq!(registry.present_call("scan", "{}"), card);
        assert_eq!(registry.execute(call("c1", "scan")).await.outcome, Ok(json!([true])));
        assert_eq!(seen.len(), 1);
        assert_eq!(registry.present_call("scan", "{}"), card);
    }
}

#[tokio::test]
async fn p05_g03_what_the_caller_does_to_its_view_later_is_not_seen() {
    let tool = TestTool::new("scan", |execution| async move {
        let mut view = ProgressView::text("first");
        execution.report_progress(view.clone())?;
        view.content.push(ContentBlock::text("more"));
        view.content[0] = ContentBlock::text("second");
        execution.report_progress(view)?;
        Ok(json!(null))
    });
    let registry = tool.alone();
    // An observer that edits its own copy of what it was shown.
    let _edits = registry.progress().subscribe(None, |report| {
        let mut own = (*report.view).clone();
        own.content.clear();
    });
    let (seen, _subscription) = Log::of(&registry);
    registry.execute(call("c1", "scan")).await;
    let views: Vec<usize> = seen.all().iter().map(|report| report.view.content.len()).collect();
    assert_eq!(views, [1, 2]);
    assert_eq!(seen.texts(), ["first", "second"]);
}

#[tokio::test]
async fn p06_g02_an_observer_of_one_agent_sees_only_its_reports() {
    let registry = reporting(vec![titled("a"), titled("b")]).alone();
    let (one, other) = (call("same", "scan"), call("same", "scan"));
    let logs = [&one, &other].map(|call| {
        let log = Log::default();
        let to = log.clone();
        let subscription = registry
            .progress()
            .subscribe(call.agent, move |report: &ProgressObservation| {
                to.push(report.agent);
            });
        (log, subscription)
    });
    let agents = [one.agent, other.agent];
    tokio::join!(registry.execute(one), registry.execute(other));
    for ((log, _subscription), agent) in logs.into_iter().zip(agents) {
        assert_eq!(log.all(), [agent, agent]);
    }
}

#[tokio::test]
async fn p07_true_means_that_observers_have_been_shown_the_report() {
    let (seen, answers) = (Log::default(), Log::default());
    let (shown, told) = (seen.clone(), answers.clone());
    let tool = TestTool::new("scan", move |execution| {
        let (shown, told) = (shown.clone(), told.clone());
        async move {
            for n in 0..3 {
                told.push((execution.report_progress(titled(&n.to_string()))?, shown.len()));
            }
            Ok(json!(null))
        }
    });
    let registry = tool.alone();
    let _subscription = registry.progress().subscribe(None, move |_| seen.push(()));
    registry.execute(call("c1", "scan")).await;
    assert_eq!(answers.all(), [(true, 1), (true, 2), (true, 3)]);
}

#[tokio::test]
async fn p09_g04_a_panicking_and_a_failing_observer_harm_neither_the_tool_nor_others() {
    let registry = reporting(vec![titled("a"), titled("b")]).alone();
    let _panics = registry.progress().subscribe(None, |_| panic!("on purpose"));
    let _fails = registry
        .progress()
        .subscribe_fallible(None, |_| Err("on purpose".into()));
    let (seen, _subscription) = Log::of(&registry);
    let result = registry.execute(call("c1", "scan")).await;
    assert_eq!(result.outcome, Ok(json!([true, true])));
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn p12_reports_leave_no_trace_in_the_result() {
    let quiet = TestTool::new("scan", |_| async { Ok(json!("done")) }).alone();
    let loud = TestTool::new("scan", |execution| async move {
        execution.report_progress(ProgressView::text("secret"))?;
        Ok(json!("done"))
    });
    let loud = loud.alone();
    let (seen, _subscription) = Log::of(&loud);
    let (expected, result) = tokio::join!(quiet.execute(call("c1", "scan")), loud.execute(call("c1", "scan")));
    assert_eq!(seen.len(), 1);
    assert_eq!(result, expected);
}

#[tokio::test]
async fn p13_what_a_replay_shows_is_a_function_of_arguments_and_result_alone() {
    let mut tool = reporting(vec![titled("live"), ProgressView::text("live")]);
    tool.call_view = Box::new(|arguments| {
        Some(CallView::Generic {
            title: format!("scan {}", arguments["path"]),
            kind: ToolKind::Search,
            raw_input: None,
            content: Vec::new(),
            locations: Vec::new(),
        })
    });
    tool.result_view = Box::new(|_| {
        Some(ResultView::Generic {
            title: Some("scanned".into()),
            content: None,
        })
    });
    let registry = tool.alone();
    let views = |result: ResultForView<'_>| {
        let arguments = r#"{"path": "a"}"#;
        (
            registry.present_call("scan", arguments),
            registry.present_result("scan", arguments, result),
        )
    };
    let result = registry.execute(call("c1", "scan")).await;
    let result = ResultForView {
        content: &result.content,
        is_error: false,
        meta: None,
    };
    let live = views(result);
    assert_eq!(views(result), live);
    assert_eq!(live.0.title(), r#"scan "a""#);
}

#[tokio::test]
async fn p15_nothing_is_merged_ten_thousand_reports_are_ten_thousand_observations() {
    let tool = TestTool::new("scan", |execution| async move {
        for n in 0..10_000 {
            assert_eq!(execution.report_progress(ProgressView::text(n.to_string())), Ok(true));
        }
        Ok(json!(null))
    });
    let registry = tool.alone();
    let (seen, _subscription) = Log::of(&registry);
    assert!(!registry.execute(call("c1", "scan")).await.is_error());
    let expected: Vec<String> = (0..10_000).map(|n| n.to_string()).collect();
    assert_eq!(seen.texts(), expected);
}

#[tokio::test]
async fn p20_an_invalid_view_of_an_active_execution_fails_the_tool() {
    let registry = reporting(vec![titled("fine"), titled(&"x".repeat(5000)), titled("never")]).alone();
    let (seen, _subscription) = Log::of(&registry);
    let result = registry.execute(call("c1", "scan")).await;
    let expected = "Error: invalid progress view: its title has 5000 bytes, the limit progress.title_bytes is 4096";
    assert_eq!(text_of(&result), expected);
    assert_eq!(seen.len(), 1);
}

#[tokio::test]
async fn p21_without_an_agent_a_report_goes_to_observers_of_all_scopes_only() {
    let registry = reporting(vec![titled("a")]).alone();
    let (seen, _all) = Log::of(&registry);
    let scoped = Log::default();
    let to = scoped.clone();
    let _scoped = registry
        .progress()
        .subscribe(Some(AgentId::mint()), move |_| to.push(()));
    let result = registry.execute(ToolCallRequest::new("c1".into(), "scan", "")).await;
    assert_eq!(result.outcome, Ok(json!([true])));
    assert_eq!(seen.all()[0].agent, None);
    assert_eq!((seen.len(), scoped.len()), (1, 0));
}

#[tokio::test]
async fn p22_g13_a_nested_execution_reports_under_its_own_identity() {
    let registry = reporting(vec![titled("inner")]).alone();
    let inner = registry.clone();
    let outer = TestTool::new("outer", move |execution| {
        let inner = inner.clone();
        async move {
            let nested = execution.nested("c1:1".into(), "scan", "");
            inner.execute(nested).await.outcome
        }
    });
    outer.join(&registry);
    let (seen, _subscription) = Log::of(&registry);
    let call = call("c1", "outer");
    let agent = call.agent;
    assert_eq!(registry.execute(call).await.outcome, Ok(json!([true])));
    let [report] = &seen.all()[..] else {
        panic!("one observation, not {}", seen.len())
    };
    assert_eq!((&report.call_id, &report.root_call_id), (&"c1:1".into(), &"c1".into()));
    assert_eq!((report.agent, report.nested), (agent, true));
}

#[tokio::test]
async fn p23_observers_are_handed_one_and_the_same_value() {
    let registry = reporting(vec![titled("a")]).alone();
    let (first, _first) = Log::of(&registry);
    let (second, _second) = Log::of(&registry);
    registry.execute(call("c1", "scan")).await;
    assert!(Arc::ptr_eq(&first.all()[0].view, &second.all()[0].view));
}

#[tokio::test]
async fn p25_the_limits_of_a_registry_bind_its_layers() {
    let limits = ProgressLimits::default().title_bytes(3).expect("within its range");
    let registry = ToolRegistry::new(limits);
    reporting(vec![titled("four")]).join(&registry);
    let result = registry.layer().execute(call("c1", "scan")).await;
    assert!(text_of(&result).ends_with("the limit progress.title_bytes is 3"));
}

#[tokio::test]
async fn p26_an_empty_view_is_legal_and_dispatched() {
    let registry = reporting(vec![titled("a"), ProgressView::default()]).alone();
    let (seen, _subscription) = Log::of(&registry);
    let result = registry.execute(call("c1", "scan")).await;
    assert_eq!(result.outcome, Ok::<Value, _>(json!([true, true])));
    assert_eq!(*seen.all()[1].view, ProgressView::default());
}
