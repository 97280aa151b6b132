//! What a bridge that only observes learns of a step, and in which order.

use super::*;
use crate::ProgressView;

/// What a bridge would draw: everything that happens, in the order in which it learns of it.
fn bridge(registry: &ToolRegistry, lines: &Log<String>) -> [weft_observe::Subscription; 2] {
    let to = lines.clone();
    let started = registry
        .started()
        .subscribe(None, move |started| to.push(format!("in progress {}", started.call_id)));
    let to = lines.clone();
    let progress = registry.progress().subscribe(None, move |report| {
        let text = report.view.content[0].as_text().expect("text");
        to.push(format!("in progress {}: {text}", report.call_id));
    });
    [started, progress]
}

#[tokio::test]
async fn p10_g08_the_call_is_written_down_and_durable_before_the_first_report() {
    let tool = TestTool::new("scan", |execution| async move {
        execution.report_progress(ProgressView::text("first action"))?;
        Ok(json!(null))
    });
    let registry = tool.alone();
    let gate = Arc::new(Semaphore::new(0));
    let journal = Journal {
        durable: Some(Arc::clone(&gate)),
        ..Journal::default()
    };
    let _bridge = bridge(&registry, &journal.lines);
    let steps = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(journal.lines.all(), ["call c1"]);
        gate.add_permits(1);
    };
    tokio::join!(run(&registry, calls(&[("c1", "scan")]), &journal), steps);
    let expected = ["call c1", "in progress c1", "in progress c1: first action", "result c1"];
    assert_eq!(journal.lines.all(), expected);
}

#[tokio::test]
async fn p17_g11_a_bridge_sees_two_calls_of_one_step_each_in_order_under_its_own_id() {
    let barrier = Arc::new(tokio::sync::Barrier::new(2));
    let tool = TestTool::new("scan", move |execution| {
        let barrier = Arc::clone(&barrier);
        async move {
            for step in ["one", "two"] {
                barrier.wait().await;
                execution.report_progress(ProgressView::text(step))?;
            }
            Ok(json!(null))
        }
    });
    let registry = tool.safe().alone();
    let journal = Journal::default();
    let _bridge = bridge(&registry, &journal.lines);
    run(&registry, calls(&[("a", "scan"), ("b", "scan")]), &journal).await;
    for id in ["a", "b"] {
        let is_own = |line: &String| line.split([' ', ':']).any(|word| word == id);
        let own: Vec<String> = journal.lines.all().into_iter().filter(is_own).collect();
        let expected = [
            format!("call {id}"),
            format!("in progress {id}"),
            format!("in progress {id}: one"),
            format!("in progress {id}: two"),
            format!("result {id}"),
        ];
        assert_eq!(own, expected);
    }
}

#[tokio::test]
async fn a_call_whose_result_waits_for_its_turn_cannot_report_meanwhile() {
    let (stage, registry) = staged();
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let quick = TestTool::new("quick", move |execution| {
        *keep.lock().expect("not poisoned") = Some(execution);
        async { Ok(json!(null)) }
    });
    quick.safe().join(&registry);
    let journal = Journal::default();
    let steps = async {
        stage.settle().await;
        assert_eq!(journal.lines.all(), ["call a", "call b"]);
        let execution = kept.lock().expect("not poisoned").take().expect("the body kept it");
        assert_eq!(execution.report_progress(ProgressView::text("late")), Ok(false));
        stage.release("a").await;
    };
    tokio::join!(run(&registry, calls(&[("a", "read"), ("b", "quick")]), &journal), steps);
}
