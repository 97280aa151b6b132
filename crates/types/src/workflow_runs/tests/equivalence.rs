//! However a log is read, it shows the same.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::test_support::legal;

/// What the windows of a log show, read from its whole and told by the numbers of turns and steps.
fn expected(log: &[Event]) -> Vec<(RunId, RunStatus)> {
    let (mut turn, mut step) = (None, None);
    let mut runs = Vec::new();
    for (event, index) in log.iter().zip(0..) {
        match &event.body {
            EventBody::TurnStart { turn: number } => turn = Some(*number),
            EventBody::StepStart { step: number, .. } => step = Some(*number),
            EventBody::StepEnd { .. } => step = None,
            EventBody::TurnEnd { .. } => turn = None,
            EventBody::WorkflowRunStart { run_id, .. } => {
                let status = expected_status(run_id, (turn, step), &log[index..]);
                runs.push((run_id.clone(), status));
            }
            _ => {}
        }
    }
    runs
}

fn expected_status(run: &RunId, place: (Option<u32>, Option<u32>), rest: &[Event]) -> RunStatus {
    let stop = rest.iter().find_map(|event| match &event.body {
        EventBody::WorkflowRunEnd { run_id, stop_reason } if run_id == run => Some(*stop_reason),
        _ => None,
    });
    let is_closed = rest.iter().any(|event| match &event.body {
        EventBody::StepEnd { turn, step } => place == (Some(*turn), Some(*step)),
        EventBody::TurnEnd { turn, .. } => place.0 == Some(*turn),
        _ => false,
    });
    match stop {
        Some(RunStop::Completed) => Completed,
        Some(RunStop::Error) => Failed,
        Some(RunStop::Cancelled) => Cancelled,
        None if is_closed => Interrupted,
        None => Running,
    }
}

fn shown(runs: &WorkflowRuns) -> Vec<RunView> {
    runs.runs().collect()
}

proptest! {
    #[test]
    fn g52_the_fold_shows_what_turns_and_steps_say(log in legal::logs(80)) {
        let shown: Vec<_> = fold(&log).into_iter().map(|run| (run.run_id, run.status)).collect();
        prop_assert_eq!(shown, expected(&log));
    }

    #[test]
    fn g52_a_tail_and_its_prepended_head_equal_the_whole_at_every_cut(log in legal::logs(60)) {
        let whole = fold(&log);
        for cut in 0..=log.len() {
            let mut runs = WorkflowRuns::new();
            runs.replace(&log[cut..]).expect("contiguous");
            let tail: Vec<_> = whole.iter().filter(|run| run.anchor >= cut as u64).cloned().collect();
            prop_assert_eq!(shown(&runs), tail, "a window shows the runs that start in it");
            runs.prepend(&log[..cut]).expect("contiguous");
            prop_assert_eq!(shown(&runs), &whole[..], "cut at {}", cut);
        }
    }

    #[test]
    fn g52_g60_live_appends_equal_every_prefix_read_from_text(log in legal::logs(60)) {
        let read = reloaded(&log);
        let mut live = WorkflowRuns::new();
        for (event, end) in log.iter().zip(1..) {
            live.append(event).expect("contiguous");
            prop_assert_eq!(shown(&live), fold(&read[..end]));
        }
    }

    /// Pages of any size at the front and live events at the end, in any order of the two.
    #[test]
    fn g52_a_window_that_grows_at_both_ends_equals_the_log_it_covers(
        log in legal::logs(80),
        start in any::<Index>(),
        growth in proptest::collection::vec((any::<bool>(), 1_usize..9), 0..24),
    ) {
        let (mut first, mut end) = (start.index(log.len() + 1), start.index(log.len() + 1));
        let mut runs = WorkflowRuns::new();
        for (at_front, count) in growth {
            if at_front {
                let page = first.saturating_sub(count)..first;
                first = page.start;
                runs.prepend(&log[page]).expect("contiguous");
            } else {
                let live = end..(end + count).min(log.len());
                end = live.end;
                log[live].iter().for_each(|event| runs.append(event).expect("contiguous"));
            }
            prop_assert_eq!(shown(&runs), fold(&log[first..end]));
        }
    }
}
