//! Which calls wait for a slot, and which members are at work.

use std::collections::{BTreeMap, VecDeque};

use weft_types::SessionId;
use weft_workflow::ObservationKind;

use crate::protocol::Call;

/// The calls of one run that have no outcome yet.
#[derive(Debug)]
pub(super) struct Board {
    slots: usize,
    queue: VecDeque<Call>,
    active: BTreeMap<u64, Active>,
    /// How many starts were begun.
    begun: u64,
}

/// A call that has a slot.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) label: String,
    pub(super) phase: Option<String>,
    pub(super) has_schema: bool,
    /// The member's session, once it was announced.
    pub(super) child_id: Option<SessionId>,
}

impl Board {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            queue: VecDeque::new(),
            active: BTreeMap::new(),
            begun: 0,
        }
    }

    /// Puts a call at the end of the line.
    pub(super) fn push(&mut self, call: Call) {
        self.queue.push_back(call);
    }

    /// How many calls have no outcome yet.
    pub(super) fn len(&self) -> usize {
        self.queue.len() + self.active.len()
    }

    /// How many starts were begun so far.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// Gives the call at the head of the line a slot, if there is one.
    pub(super) fn next(&mut self) -> Option<Call> {
        if self.active.len() >= self.slots {
            return None;
        }
        let call = self.queue.pop_front()?;
        self.begun += 1;
        let active = Active {
            label: call.label.clone(),
            phase: call.phase.clone(),
            has_schema: call.schema.is_some(),
            child_id: None,
        };
        self.active.insert(call.seq, active);
        Some(call)
    }

    /// Notes that a member exists, and gives the observation of it.
    pub(super) fn announce(&mut self, seq: u64, child_id: SessionId) -> Option<ObservationKind> {
        let active = self.active.get_mut(&seq)?;
        active.child_id = Some(child_id.clone());
        Some(ObservationKind::AgentStart {
            seq,
            label: active.label.clone(),
            phase: active.phase.clone(),
            child_id,
        })
    }

    /// Frees a call's slot.
    pub(super) fn release(&mut self, seq: u64) -> Option<Active> {
        self.active.remove(&seq)
    }

    /// Whether no call has a slot.
    pub(super) fn is_idle(&self) -> bool {
        self.active.is_empty()
    }

    /// Empties the line and gives the numbers of the calls in it.
    pub(super) fn refuse_queue(&mut self) -> Vec<u64> {
        self.queue.drain(..).map(|call| call.seq).collect()
    }

    /// Empties the line and gives the labels of the calls in it.
    pub(super) fn clear_queue(&mut self) -> Vec<String> {
        self.queue.drain(..).map(|call| call.label).collect()
    }

    /// Frees all slots, and gives the calls that had them, in order of their numbers.
    pub(super) fn release_all(&mut self) -> Vec<(u64, Active)> {
        std::mem::take(&mut self.active).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(seq: u64) -> Call {
        Call {
            seq,
            line: None,
            label: format!("call {seq}"),
            phase: None,
            prompt: "p".into(),
            schema: None,
            provider: None,
            model: None,
            tools: None,
        }
    }

    #[test]
    fn calls_get_slots_first_in_first_out() {
        let mut board = Board::new(2);
        (1..=4).for_each(|seq| board.push(call(seq)));
        let next = |board: &mut Board| board.next().map(|call| call.seq);
        assert_eq!(
            [next(&mut board), next(&mut board), next(&mut board)],
            [Some(1), Some(2), None]
        );
        assert!(board.release(2).is_some());
        assert_eq!([next(&mut board), next(&mut board)], [Some(3), None]);
        assert_eq!((board.len(), board.begun()), (3, 3));
        assert_eq!(board.clear_queue(), ["call 4"]);
    }

    #[test]
    fn only_calls_with_a_slot_are_announced_and_released_once() {
        let mut board = Board::new(1);
        board.push(call(1));
        assert!(board.announce(1, "child".into()).is_none());
        assert!(board.next().is_some());
        assert!(board.announce(1, "child".into()).is_some());
        assert_eq!(board.release_all().len(), 1);
        assert!(board.release(1).is_none() && board.is_idle());
    }
}
