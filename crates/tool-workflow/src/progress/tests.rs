use std::sync::Arc;

use weft_types::{MemberOutcome, text_of};
use weft_workflow::{ObservationKind, RunInfo, WorkflowMeta};

use super::*;
use crate::doings::Rows;

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
    let (snapshot, now) = (snapshot(kinds), Now::default());
    let view = renderer().views(&snapshot, &now).next().expect("there is always one");
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
    let now = Now::default();
    let views: Vec<_> = (renderer().views(&snapshot, &now))
        .map(|view| (view.title.is_some(), text_of(&view.content)))
        .collect();
    let counts = "- Running (1)\n- Done: 0 completed, 0 failed, 0 cancelled";
    let texts = "- Phase: Scan\n- Latest: line\n";
    assert_eq!(views[2], (true, format!("{texts}{counts}{RUN_ID}")));
    assert_eq!(views[3], (false, counts.to_owned()));
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
    let now = Now { rows, ..Now::default() };
    let text = |detail| renderer().text(&snapshot, &now, detail);
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
    let shown = renderer.text(&snapshot([]), &Now::default(), Detail::CountsOnly);
    let text = "- Done: 0 completed (3 answered in an earlier run), 0 failed, 0 cancelled";
    assert_eq!(shown, text);
}

#[test]
fn stalled_members_are_named_wherever_they_stand() {
    let snapshot = snapshot((1..=5).map(|seq| start(seq, &format!("m{seq}"))));
    let now = Now {
        stalled: [(5, "no activity for 3 min, thinking after *read* (done)".to_owned())].into(),
        tokens: 12_345,
        ..Now::default()
    };
    let text = "- Running (5): m1, m2, m3, … and 2 more\n- Stalled (1)\n  \
                - m5: no activity for 3 min, thinking after \\*read\\* (done)\n\
                - Done: 0 completed, 0 failed, 0 cancelled\n- Used: 12.3k tokens\n- Run id: r";
    assert_eq!(renderer().text(&snapshot, &now, Detail::Full), text);
}

fn of(phase: Option<&str>, seq: u64, label: &str) -> ObservationKind {
    ObservationKind::AgentStart {
        seq,
        label: label.into(),
        phase: phase.map(str::to_owned),
        child_id: "c".into(),
    }
}

#[test]
fn phases_are_counted_once_there_are_two() {
    let now = Now::default();
    let one = snapshot([of(Some("Scan"), 1, "a")]);
    assert!(!renderer().text(&one, &now, Detail::Full).contains("  - Scan"));
    let kinds = [
        of(None, 3, "c"),
        end(3),
        of(Some("Scan"), 1, "a"),
        of(Some("Fix *it*"), 2, "b"),
    ];
    let text = renderer().text(&snapshot(kinds), &now, Detail::Full);
    let phases = "cancelled\n  - no phase: 1 failed\n  - Scan: 1 running\n  - Fix \\*it\\*: 1 running\n- Run id: r";
    assert!(text.ends_with(phases), "{text}");
}

#[test]
fn a_card_of_a_thousand_members_stays_small() {
    let long = |kind: &str, n: u64| format!("{kind} {n} {}", "*🚀é".repeat(200));
    let members = (1..=1_000).map(|seq| of(Some(&long("phase", seq / 7)), seq, &long("member", seq)));
    let snapshot = snapshot(
        [phase(&long("phase", 0)), log(&long("line", 0))]
            .into_iter()
            .chain(members),
    );
    let rows = |what: &str| (1..=1_000).map(|seq| (seq, long(what, seq))).collect::<Rows>();
    let now = Now {
        rows: rows("does"),
        stalled: rows("stalls"),
        tokens: u64::MAX,
    };
    let renderer = Renderer {
        shown_members: 20,
        ..renderer()
    };
    let views: Vec<_> = renderer
        .views(&snapshot, &now)
        .map(|view| text_of(&view.content))
        .collect();
    assert!(
        views.iter().all(|text| text.len() <= CARD_BYTES),
        "{:?}",
        views.iter().map(String::len)
    );
    assert!(
        views[0].contains("Running (1000)") && views[0].contains("earlier phases: 916 running"),
        "{}",
        views[0]
    );
    let short = snapshot_of_short_members();
    let text = text_of(&renderer.views(&short, &Now::default()).next().expect("one").content);
    assert!(
        text.contains("m20, … and 980 more") && text.len() < CARD_BYTES,
        "{text}"
    );
}

fn snapshot_of_short_members() -> Snapshot {
    snapshot((1..=1_000).map(|seq| start(seq, &format!("m{seq}"))))
}
