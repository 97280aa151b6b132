//! Random logs that a session would hold.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{agent_end, agent_start, log, run_end, run_start};
use crate::{Event, EventBody, MemberOutcome, RunStop, TurnEnd};

/// Legal logs of at most `max` events: turns and steps, several runs across them, members that start out of order and
/// end or do not. What cannot come next is left out.
pub(crate) fn logs(max: usize) -> impl Strategy<Value = Vec<Event>> {
    vec((0_u8..14, any::<u8>()), 0..max).prop_map(|choices| {
        let mut writer = Writer::default();
        let bodies = choices
            .into_iter()
            .filter_map(|(kind, pick)| writer.next(kind, pick.into()));
        log(bodies)
    })
}

#[derive(Default)]
struct Writer {
    last_turn: u32,
    /// The last step of the open turn, and whether it is open.
    turn: Option<(u32, bool)>,
    runs: Vec<Run>,
}

struct Run {
    id: String,
    started: u64,
    open: Vec<u64>,
    ended: bool,
}

const PHASES: [Option<&str>; 6] = [None, Some(""), Some("a"), Some("A"), Some("a "), Some("none")];
const OUTCOMES: [MemberOutcome; 3] = [
    MemberOutcome::Completed,
    MemberOutcome::Failed,
    MemberOutcome::Cancelled,
];
const STOPS: [RunStop; 3] = [RunStop::Completed, RunStop::Error, RunStop::Cancelled];

impl Writer {
    fn next(&mut self, kind: u8, pick: usize) -> Option<EventBody> {
        match kind {
            0 | 1 => self.turn_boundary(),
            2..=4 => self.step_boundary(),
            5 | 6 => {
                let id = format!("run-{}", self.runs.len());
                let body = run_start(&id);
                self.runs.push(Run {
                    id,
                    started: 0,
                    open: Vec::new(),
                    ended: false,
                });
                Some(body)
            }
            7..=9 => Some(self.open_run(pick)?.member_start(pick)),
            10 | 11 => {
                let run = self.open_run(pick)?;
                let index = (pick / 7).checked_rem(run.open.len())?;
                let seq = run.open.swap_remove(index);
                Some(agent_end(&run.id, seq, OUTCOMES[pick % 3]))
            }
            12 => {
                let run = self.open_run(pick)?;
                run.ended = run.open.is_empty();
                run.ended.then(|| run_end(&run.id, STOPS[pick % 3]))
            }
            _ => Some(EventBody::SessionTitle { title: "t".into() }),
        }
    }

    fn turn_boundary(&mut self) -> Option<EventBody> {
        match self.turn {
            None => {
                self.last_turn += 1;
                self.turn = Some((0, false));
                Some(EventBody::TurnStart { turn: self.last_turn })
            }
            Some((_, true)) => None,
            Some((_, false)) => {
                self.turn = None;
                Some(EventBody::TurnEnd {
                    turn: self.last_turn,
                    reason: TurnEnd::Completed,
                })
            }
        }
    }

    fn step_boundary(&mut self) -> Option<EventBody> {
        let turn = self.last_turn;
        let (step, is_open) = self.turn.as_mut()?;
        *is_open = !*is_open;
        if *is_open {
            *step += 1;
            return Some(EventBody::StepStart { turn, step: *step });
        }
        Some(EventBody::StepEnd { turn, step: *step })
    }

    fn open_run(&mut self, pick: usize) -> Option<&mut Run> {
        let mut open: Vec<_> = self.runs.iter_mut().filter(|run| !run.ended).collect();
        let index = pick.checked_rem(open.len())?;
        Some(open.swap_remove(index))
    }
}

impl Run {
    fn member_start(&mut self, pick: usize) -> EventBody {
        self.started += 1;
        // Numbers have gaps and do not ascend.
        let seq = if pick.is_multiple_of(3) {
            1_000 - self.started
        } else {
            self.started
        };
        self.open.push(seq);
        agent_start(&self.id, seq, PHASES[pick % PHASES.len()])
    }
}
