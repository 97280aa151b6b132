//! Whether the step or turn around a run's start is over.
//!
//! Where a start stands is told by the first boundary that follows it, whatever came before, so that a window that
//! begins in the middle of a turn says the same as the whole log:
//!
//! | first boundary after the start | the start stands | closed |
//! |---|---|---|
//! | end of a step | in this step | at once |
//! | end of a turn | in this turn | at once |
//! | start of a step | in a turn, between its steps | at the end of the turn |
//! | start of a turn | outside of turns | never |

use crate::RunId;

/// An event that begins or ends a step or a turn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Boundary {
    StepStart,
    StepEnd,
    TurnStart,
    TurnEnd,
}

/// What is known of a window's boundaries, and which starts wait for one to be appended.
#[derive(Debug, Default)]
pub(super) struct Enclosure {
    first: Option<Boundary>,
    /// The first one that begins or ends a turn.
    first_of_turn: Option<Boundary>,
    /// No boundary has followed them.
    undecided: Vec<RunId>,
    /// They stand between the steps of a turn.
    between_steps: Vec<RunId>,
}

impl Enclosure {
    /// A run's start follows the window; says whether its enclosure is closed.
    pub(super) fn start_after(&mut self, run: &RunId) -> bool {
        self.undecided.push(run.clone());
        false
    }

    /// A run's start stands before the window; says whether its enclosure is closed.
    pub(super) fn start_before(&mut self, run: &RunId) -> bool {
        match (self.first, self.first_of_turn) {
            (None, _) => self.undecided.push(run.clone()),
            (Some(Boundary::StepStart), None) => self.between_steps.push(run.clone()),
            (Some(Boundary::StepEnd | Boundary::TurnEnd), _) => return true,
            (Some(Boundary::StepStart), Some(boundary)) => return matches!(boundary, Boundary::TurnEnd),
            (Some(Boundary::TurnStart), _) => {}
        }
        false
    }

    /// A boundary follows the window; gives the runs whose enclosure it closes. Each run is looked at twice at most.
    pub(super) fn boundary_after(&mut self, boundary: Boundary) -> Vec<RunId> {
        self.first.get_or_insert(boundary);
        if boundary.is_of_turn() {
            self.first_of_turn.get_or_insert(boundary);
        }
        let mut closed = Vec::new();
        match boundary {
            Boundary::StepStart => self.between_steps.append(&mut self.undecided),
            Boundary::StepEnd => closed.append(&mut self.undecided),
            Boundary::TurnEnd => {
                closed.append(&mut self.undecided);
                closed.append(&mut self.between_steps);
            }
            Boundary::TurnStart => self.undecided.clear(),
        }
        closed
    }

    /// A boundary stands before the window.
    pub(super) fn boundary_before(&mut self, boundary: Boundary) {
        self.first = Some(boundary);
        if boundary.is_of_turn() {
            self.first_of_turn = Some(boundary);
        }
    }
}

impl Boundary {
    fn is_of_turn(self) -> bool {
        matches!(self, Self::TurnStart | Self::TurnEnd)
    }
}
