//! What comes up in a run while a thread delivers what came before.

use std::collections::VecDeque;

use crate::{DisplayLimits, ObservationKind, cut_for_display};

/// Observations in order, with texts cut already.
///
/// A script may narrate faster than a sink takes it; then only the newest phase and log line are kept, so that the
/// backlog is bounded by the members.
#[derive(Default)]
pub(super) struct Backlog {
    queue: VecDeque<ObservationKind>,
    /// The length that was left when superseded narration was last thrown out.
    floor: usize,
}

impl Backlog {
    /// Below this length nothing is thrown out.
    const PATIENCE: usize = 1_024;

    pub(super) fn push(&mut self, kind: &ObservationKind, limits: DisplayLimits) {
        let Some(kind) = compact(kind, limits) else { return };
        self.queue.push_back(kind);
        // Doubling keeps the work for each observation constant.
        if self.queue.len() >= Self::PATIENCE.max(2 * self.floor) {
            self.drop_superseded();
            self.floor = self.queue.len();
        }
    }

    pub(super) fn pop(&mut self) -> Option<ObservationKind> {
        self.queue.pop_front()
    }

    fn drop_superseded(&mut self) {
        let (phase, log) = (
            self.queue.iter().rposition(is_phase),
            self.queue.iter().rposition(is_log),
        );
        let mut index = 0;
        self.queue.retain(|kind| {
            let here = Some(index);
            index += 1;
            !(is_phase(kind) && here != phase || is_log(kind) && here != log)
        });
    }
}

fn is_phase(kind: &ObservationKind) -> bool {
    matches!(kind, ObservationKind::Phase { .. })
}

fn is_log(kind: &ObservationKind) -> bool {
    matches!(kind, ObservationKind::Log { .. })
}

/// What is worth keeping of an observation: all of a member's, since the log wants them exact; of others what is shown.
fn compact(kind: &ObservationKind, limits: DisplayLimits) -> Option<ObservationKind> {
    Some(match kind {
        ObservationKind::Start => return None,
        ObservationKind::Phase { title } => ObservationKind::Phase {
            title: cut_for_display(title, limits.text_chars()),
        },
        ObservationKind::Log { message } => ObservationKind::Log {
            message: cut_for_display(message, limits.text_chars()),
        },
        ObservationKind::AgentStart { .. } | ObservationKind::AgentEnd { .. } => kind.clone(),
        ObservationKind::End {
            stop, agents_started, ..
        } => ObservationKind::End {
            stop: *stop,
            error: None,
            agents_started: *agents_started,
        },
    })
}

#[cfg(test)]
mod tests;
