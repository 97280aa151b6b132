use std::sync::Arc;

use weft_types::{MemberOutcome, text_of};
use weft_workflow::{ObservationKind, RunInfo, WorkflowMeta};

use super::*;

fn renderer() -> Renderer {
    Renderer {
        call_title: "workflow: demo".to_owned(),
        shown_members: 3,
        answered: Arc::default(),
    }
}

fn snapshot(kinds: impl IntoIterator<Item = ObservationKind>) -> Snapshot {
    let meta = Arc::new(WorkflowMeta {
        name: "demo".into(),
        description: "d".into(),
        ..WorkflowMeta::default()
    });
    let mut snapshot = Snapshot::new(&RunInfo { id: "r".into(), meta }, DisplayLimits::default());
    for kind in kinds {
        snapshot.apply(&kind);
    }
    snapshot
}

fn phase(title: &str) -> ObservationKind {
    ObservationKind::Phase { title: title.into() }
}

fn log(message: &str) -> ObservationKind {
    ObservationKind::Log {
        message: message.into(),
    }
}

fn start(seq: u64, label: &str) -> ObservationKind {
    ObservationKind::AgentStart {
        seq,
        label: label.into(),
        phase: None,
        child_id: "c".into(),
    }
}

fn end(seq: u64) -> ObservationKind {
    ObservationKind::AgentEnd {
        seq,
        label: String::new(),
        phase: None,
        child_id: "c".into(),
        outcome: MemberOutcome::Failed,
    }
}

#[track_caller]
fn check(kinds: impl IntoIterator<Item = ObservationKind>, title: Option<&str>, text: &str) {
    let view = renderer().view(&snapshot(kinds), &Rows::new(), Detail::Full);
    let text = format!("{text}{RUN_ID}");
    assert_eq!((view.title.as_deref(), text_of(&view.content)), (title, text));
}

/// What each card ends in that has room for more than counts.
const RUN_ID: &str = "\n- Run id: r";

#[test]
fn a_run_that_has_just_started_shows_its_counts() {
    check([], None, "- Done: 0 completed, 0 failed, 0 cancelled");
}

#[test]
fn lines_stand_in_one_order_and_the_title_names_the_phase() {
    let all = [
        phase("Scan"),
        start(1, "a"),
        start(2, "b"),
        log("two files"),
        start(3, "c"),
        end(3),
    ];
    let text = "- Phase: Scan\n- Latest: two files\n- Running (2): a, b\n- Done: 0 completed, 1 failed, 0 cancelled";
    check(all, Some("workflow: demo – Scan"), text);
}

#[test]
fn empty_texts_have_no_line_and_empty_labels_a_number() {
    let text = "- Running (2): #1, #7\n- Done: 0 completed, 0 failed, 0 cancelled";
    check([phase(""), log(""), start(1, ""), start(7, "")], None, text);
}

#[test]
fn more_members_than_are_named_are_counted() {
    let text = "- Running (5): m, m, m, … and 2 more\n- Done: 0 completed, 0 failed, 0 cancelled";
    check((1..=5).map(|seq| start(seq, "m")), None, text);
}

#[test]
fn foreign_texts_stay_one_line_and_mark_nothing_up() {
    let kinds = [phase("a\n# b"), log("*x* <i>"), start(1, "[l](u)\n- Done: 9")];
    let text = "- Phase: a\\n# b\n- Latest: \\*x\\* \\<i>\n- Running (1): [l\\](u)\\n- Done: 9\n\
                - Done: 0 completed, 0 failed, 0 cancelled";
    check(kinds, Some("workflow: demo – a\\n# b"), text);
}

#[test]
fn less_detail_leaves_out_labels_first_and_then_all_texts() {
    let snapshot = snapshot([phase("Scan"), log("line"), start(1, "a")]);
    let shown = |detail| {
        let view = renderer().view(&snapshot, &Rows::new(), detail);
        (view.title.is_some(), text_of(&view.content))
    };
    let counts = "- Running (1)\n- Done: 0 completed, 0 failed, 0 cancelled";
    let texts = "- Phase: Scan\n- Latest: line\n";
    assert_eq!(shown(Detail::WithoutLabels), (true, format!("{texts}{counts}{RUN_ID}")));
    assert_eq!(shown(Detail::CountsOnly), (false, counts.to_owned()));
}

#[test]
fn the_title_is_cut_like_the_snapshot() {
    let long = "n".repeat(300);
    assert_eq!(
        title_of(Some(&long), DisplayLimits::default()).chars().count(),
        "workflow: ".len() + 200
    );
    assert_eq!(title_of(None, DisplayLimits::default()), "workflow");
}

#[test]
fn what_the_named_members_do_stands_below_their_names() {
    let snapshot = snapshot([start(1, "a"), start(2, ""), start(3, "a"), start(4, "d")]);
    let doing = |seq: u64| (seq, format!("reads *it* and `that` ({seq} calls)"));
    let rows: Rows = [doing(1), doing(2), doing(4), doing(9)].into();
    let text = |detail| text_of(&renderer().view(&snapshot, &rows, detail).content);
    let running = "- Running (4): a, #2, a, … and 1 more\n";
    let done = "- Done: 0 completed, 0 failed, 0 cancelled";
    let shown = r"reads \*it\* and \`that\`";
    let shown = format!("  - a: {shown} (1 calls)\n  - #2: {shown} (2 calls)\n");
    assert_eq!(text(Detail::Full), format!("{running}{shown}{done}{RUN_ID}"));
    assert_eq!(text(Detail::WithoutRows), format!("{running}{done}{RUN_ID}"));
}

#[test]
fn calls_that_an_earlier_run_had_answered_are_shown_as_such() {
    let renderer = renderer();
    renderer.answered.store(3, Ordering::Release);
    let view = renderer.view(&snapshot([]), &Rows::new(), Detail::CountsOnly);
    let text = "- Done: 0 completed (3 answered in an earlier run), 0 failed, 0 cancelled";
    assert_eq!(text_of(&view.content), text);
}
